# Moves the sessions of programs while they run, and compares the programs with their native runs. To be sourced from a
# script in a folder of tests/:
#
#     moved_way here|apart|pool    called once: the session moves between two workers of this host, to another host (a
#                                  network namespace, $delay microseconds away), or among the three nodes of a pool
#     moved COMMAND...             runs it natively and moved; prints differences and processes left behind, and adds
#                                  them to $scratch/bad. Matches of $without, an extended regular expression, do not
#                                  count
#
# A session moves every $every milliseconds. Each of the program's OpenCL calls waits for $slow microseconds first, so
# that short programs are moved, too.
way=here every=1000 delay= slow=0 without= method=both
mark=VOCL_TEST_MARK=$$

moved_way()
{
    way=$1
    case $way in
    pool)
        started=$PWD
        . "$(dirname "$0")/../pool/pool-lib.sh"
        cd "$started" || exit 99
        cp "$top_builddir/vocl-pool" "$scratch/libexec/" 2> /dev/null
        for host in n1 n2 n3; do
            write_config $host 'devices = ( { match = "*"; sessions = 4; } );' 'network = "tls";' 'least-uid = 0;'
            sed -i '/^environment/d' "$scratch/$host.conf"
            start_daemon $host
        done
        await nodes=3 || fail "the daemons do not find each other: $(cat "$scratch"/n?.log)" ;;
    *)
        . "$(dirname "$0")/../lib.sh"
        [ $way != apart ] || [ "$(status_of "$top_srcdir/tests/net/two-hosts" -- true 2> /dev/null)" != 77 ] ||
            skip "no network namespaces" ;;
    esac
    : > "$scratch/bad"
    [ $slow = 0 ] || ${CC:-cc} -D_GNU_SOURCE= -O2 -shared -fPIC -I"$top_srcdir" -o "$scratch/slow_calls.so" "$top_srcdir/tests/apps/slow_calls.c" ||
        fail "slow_calls.c does not compile"
}

# Runs between `vocl run` and the program, so that only the program is slowed, and not the workers.
slowly='[ "$0" = 0 ] || export SLOW_CALLS_US="$0" LD_PRELOAD="$1${LD_PRELOAD:+:$LD_PRELOAD}"; shift; exec "$@"'

pause()
{
    sleep "$(awk "BEGIN { print $every / 1000 }")"
}

# Moves the only session of the pool from node to node until the program ends.
move_in_pool()
{
    while pause && kill -0 "$1" 2> /dev/null; do
        id=$(root vocl pool sessions 2> /dev/null | awk 'NR == 2 { print $1 }')
        [ -z "$id" ] || root timeout -k 5 60 vocl pool move "$id" >> "$scratch/moves" 2>&1 || true
    done
}

in_pool()
{
    root "$mark" timeout -k 10 600 vocl run --interpose $method -- sh -c "$slowly" "$slow" "$scratch/slow_calls.so" "$@" \
        > "$scratch/moved.out" 2> "$scratch/moved.err" < /dev/null &
    running=$!
    move_in_pool $running &
    mover=$!
    wait $running
    status=$?
    wait $mover
    return $status
}

observe_moved()
{
    set -- env "$mark" VOCL_POOL=none VOCL_SPARE=1 VOCL_MOVE_EVERY="$every" VOCL_LOG=info timeout -k 10 600 "$@"
    "$@" > "$scratch/moved.out" 2> "$scratch/moved.err" < /dev/null
}

nothing_left()
{
    case $way in
    pool) root vocl pool wait --timeout=0 sessions=0 > /dev/null 2>&1 ;;
    *) none_left "$mark" ;;
    esac
}

counted()
{
    case $way in
    pool) echo "$(grep -c 'moved from' "$scratch/moves") moves, $(grep -c 'not move\|stays\|refus' "$scratch/moves") refused" ;;
    *) echo "$(grep -c 'objects, .* of pause' "$scratch/moved.err") moves, $(grep -c 'stays where it is' "$scratch/moved.err") refused" ;;
    esac
}

outcome()
{
    sed -E "s/${without:-^$}//g" "$scratch/$1.out"
    echo "status $2"
}

moved()
{
    timeout -k 10 600 "$@" > "$scratch/native.out" 2> "$scratch/native.err" < /dev/null
    native=$?
    if [ $native = 77 ] || [ $native -gt 123 ]; then
        echo "not compared: $*: natively status $native"
        return 0
    fi
    : > "$scratch/moves"
    case $way in
    here) observe_moved vocl run --interpose $method -- sh -c "$slowly" "$slow" "$scratch/slow_calls.so" "$@" ;;
    apart) observe_moved "$top_srcdir/tests/net/two-hosts" ${delay:+--delay "$delay"} --workers 2 -- \
        sh -c "$slowly" "$slow" "$scratch/slow_calls.so" "$@" ;;
    pool) in_pool "$@" ;;
    esac
    status=$?
    outcome native $native > "$scratch/native"
    outcome moved $status > "$scratch/moved"
    if ! diff "$scratch/native" "$scratch/moved" > "$scratch/diff"; then
        echo "different, $way: $*: $(head -n 20 "$scratch/diff"; tail -n 5 "$scratch/moved.err")" | tee -a "$scratch/bad"
    elif ! wait_until nothing_left; then
        echo "left, $way: $*: $(session_processes "$mark")" | tee -a "$scratch/bad"
    else
        echo "same, $way: $*: $(counted)"
    fi
}
