#!/bin/sh
# Two daemons on this host read their files again: at a bad moment, and when the files are invalid; and both by one
# command, vocl pool reload.
. "$(dirname "$0")/one-lib.sh"
make_pool one
add_daemon two
start_daemon
start_other two

# states: prints "one up two up"
states()
{
    VOCL_POOL=$scratch/pool vocl pool nodes 2> /dev/null | sed 1d | awk '{ printf "%s %s ", $1, $2 }'
}
are()
{
    [ "$(states)" = "$1 " ]
}
# read_again: sends SIGHUP, and waits until it is handled
read_again()
{
    read_before=$(grep -c 'again\|stays as' "$scratch/log")
    kill -HUP $daemon
    heard()
    {
        kill -0 $daemon 2> /dev/null || fail "the daemon is gone: $(cat "$scratch/log")"
        [ "$(grep -c 'again\|stays as' "$scratch/log")" -gt "$read_before" ]
    }
    wait_until heard || fail "it does not read its files again: $(cat "$scratch/log")"
}
wait_until are "one up two up" || fail "they do not find each other: $(states; cat "$scratch/log")"

# A peer is in the middle of the handshake, and is not in the pool file any more when it continues.
cp "$scratch/pool" "$scratch/whole"
sed '/^node two/d' "$scratch/whole" > "$scratch/less"
kill -STOP $other
for file in less whole less whole; do
    cp "$scratch/$file" "$scratch/pool"
    read_again
    read_again
done
kill -CONT $other
wait_until are "one up two up" || fail "after the handshake: $(states; cat "$scratch/log")"

# An invalid pool file, an invalid configuration with a valid pool file, or no file: everything stays as it was.
found=$(grep -c 'node two is' "$scratch/log")
# stays MESSAGE: everything does, and the log has that message
stays()
{
    read_again
    grep -q "stays as it was: .*$1" "$scratch/log" || fail "no word of $1: $(cat "$scratch/log")"
    cp "$scratch/whole" "$scratch/pool"
    are "one up two up" || fail "$1: $(states; cat "$scratch/log")"
}
echo nonsense >> "$scratch/pool"
stays 'pool:5: no line of a pool file'
rm "$scratch/pool"
stays 'No such file'
cp "$scratch/less" "$scratch/pool"
echo 'nonsense = 1;' >> "$scratch/conf"
stays 'nonsense: no such setting'
sed -i '/^nonsense/d' "$scratch/conf"

# A node that is in the file before and after stays connected.
echo "# another line" >> "$scratch/pool"
read_again
[ "$(grep -c 'node two is' "$scratch/log")" = "$found" ] || fail "two was lost and found again: $(cat "$scratch/log")"

# A change that needs a restart has no partial effect.
setting "$scratch/conf" state-directory "\"$scratch/elsewhere\""
read_again
grep -q 'need a restart' "$scratch/log" || fail "no word of a restart"
VOCL_POOL=$scratch/pool vocl run -- "$top_builddir/tests/parity/vector_add" > /dev/null 2> "$scratch/err" ||
    fail "after all that: $(cat "$scratch/err" "$scratch/log")"
[ ! -e "$scratch/elsewhere" ] || fail "the state is in two places"
setting "$scratch/conf" state-directory "\"$scratch/state\""

VOCL_POOL=$scratch/pool
export VOCL_POOL
# reads ONE TWO COMMAND...: daemons one and two read their files so many times in the command, which succeeds
reads()
{
    reads_one=$(($(grep -c 'read .* again' "$scratch/log") + $1)) reads_two=$(($(grep -c 'read .* again' "$scratch/log.two") + $2))
    shift 2
    "$@" 2> "$scratch/err" || fail "$*: $(cat "$scratch/err")"
    [ "$(grep -c 'read .* again' "$scratch/log")" = $reads_one ] && [ "$(grep -c 'read .* again' "$scratch/log.two")" = $reads_two ] ||
        fail "$*: $(cat "$scratch"/log*)"
}
reads 1 1 vocl pool reload
reads 0 1 vocl pool reload two
echo 'nonsense = 1;' >> "$scratch/conf.two"
vocl pool reload 2> "$scratch/err"
[ $? = 1 ] && grep -q '^vocl pool: two: .*conf.two:[0-9]*: nonsense: no such setting' "$scratch/err" || fail "an invalid file: $(cat "$scratch/err")"
reads 1 0 vocl pool reload one
sed -i '/^nonsense/d' "$scratch/conf.two"
setting "$scratch/conf.two" state-directory "\"$scratch/elsewhere\""
reads 1 1 vocl pool reload one two
grep -q '^vocl pool: two: some changes need a restart' "$scratch/err" || fail "no word of a restart: $(cat "$scratch/err")"
vocl pool reload one nowhere 2> "$scratch/err"
[ $? = 3 ] && grep -q 'there is no node nowhere' "$scratch/err" || fail "no such node: $(cat "$scratch/err")"
grep 'Sanitizer' "$scratch"/log* && fail "the sanitizer found something"
exit 0
