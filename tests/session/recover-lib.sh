# Programs whose workers are harmed, and replaced, while they run. For recover*.sh, which may have a harm() of their own:
#
#     survives HARM HOW PROGRAM...        it ends well, and leaves nothing behind; HARM is what harm() takes, HOW has settings
#                                         and the command before the program. LOGS: where the log of one that fails stays
#     survives_well HARM HOW PROGRAM...   the same, and it prints what it prints natively
#     same_as_natively PROGRAM            what it printed is what is in $scratch/native
#     snapshots                           how many there were
#     nth N                               one of the workers, by when it began
#     await_lines N PATTERN               until the log has so many, seen at once; or the program ends
#     $scratch/enough                     a file that is there when the harm has had its effect(): programs may wait for it
#     below LIMIT                         leaves a number in $drawn
#     draw_harm WHO...                    leaves in $harm that some of these are killed, once to three times, and at times two more
mark=VOCL_TEST_MARK=$$

any_worker()
{
    [ -n "$(session_workers "$mark")" ]
}

snapshots()
{
    grep -c 'snapshot of worker' "$scratch/err"
}

# one_of HOW: the last worker, the first one, the first two, or all
one_of()
{
    case $1 in
    last) session_workers "$mark" | tail -n 1 ;;
    first) session_workers "$mark" | head -n 1 ;;
    two) session_workers "$mark" | head -n 2 ;;
    all) session_workers "$mark" ;;
    esac
}

# await_lines N PATTERN: until the log has so many, or the program ends; it is seen at once
await_lines()
{
    [ -p "$scratch/lines" ] || mkfifo "$scratch/lines"
    tail -q -n +1 -f --pid="$program" "$scratch/err" > "$scratch/lines" &
    grep -m "$1" "$2" < "$scratch/lines" > /dev/null
    kill $! 2> /dev/null
}

effect()
{
    [ "$(replaced)" -gt 0 ] || is_over
}
is_over()
{
    ! kill -0 "$program" 2> /dev/null
}

# nth N: of the workers, in the order in which they were started
nth()
{
    session_workers "$mark" | sed -n "$1p"
}

# harm [SIGNAL] WHO PAUSE WHO PAUSE...: when the program has begun, after so many seconds each, or when another worker has
# come (came), these get the signal
harm()
{
    signal=KILL
    case $1 in
    STOP) signal=STOP && shift ;;
    esac
    wait_until grep -q 'all devices are told;' "$scratch/err" || return 0
    while [ $# -gt 1 ]; do
        case $2 in
        came) # it is not long until that has the place of the lost one
            whom=$(one_of "$1")
            await_lines 1 'has come to the session' ;;
        *)
            sleep "$2"
            wait_until any_worker || return 0
            whom=$(one_of "$1") ;;
        esac
        kill -$signal $whom 2> /dev/null
        shift 2
    done
}

# below LIMIT: from the generator of this seed
below()
{
    draw=$(((draw * 1103515245 + 12345) % 2147483648))
    drawn=$((draw / 65536 % $1))
}

draw_harm()
{
    below 3
    kills=$((drawn + 1)) harm=
    for kill in $(seq $kills); do
        below $#
        eval "who=\${$((drawn + 1))}"
        below 50
        harm="$harm $who 0.$((drawn + 10))"
    done
    below 3
    [ $drawn != 0 ] || harm="$harm last 0 first 0"
}

survives()
{
    harm=$1 how=$2
    shift 2
    rm -f "$scratch/enough"
    : > "$scratch/err"
    env "$mark" VOCL_RECOVER=replay VOCL_LOG=debug timeout -k 10 600 env $how -- "$@" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    { harm $harm; wait_until effect; touch "$scratch/enough"; } > /dev/null 2>&1 &
    harmer=$!
    wait $program
    status=$?
    kill $harmer 2> /dev/null
    wait $harmer 2> /dev/null
    [ $status = 0 ] || { [ -z "$LOGS" ] || cp "$scratch/err" "$LOGS/${1##*/}-$2.log"; }
    [ $status = 0 ] || fail "$*, $harm, $how: status $status: $(tail -n 3 "$scratch/out"; grep -v debug: "$scratch/err" | tail -n 9)"
    # a worker that ends by that is replaced, too
    grep -E 'ERROR: .*Sanitizer|runtime error' "$scratch/err" && fail "$*: the sanitizer found something"
    wait_until none_left "$mark" || fail "left after $*: $(session_processes "$mark")"
    replaced > "$scratch/replaced"
    named=${*%" $scratch/enough"}
    echo "$harm, $how, ${named##*/}: $(replaced) replaced, $(grep -c 'had to do with' "$scratch/err") of them with others, $(snapshots) snapshots"
}

same_as_natively()
{
    diff "$scratch/native" "$scratch/out" > "$scratch/diff" || fail "$*: $(head -n 20 "$scratch/diff")"
}

natively()
{
    shift 2
    timeout -k 10 600 "$@" > "$scratch/native" 2> "$scratch/err" ||
        fail "$*, natively: status $?: $(tail -n 3 "$scratch/native" "$scratch/err")"
}

survives_well()
{
    natively "$@"
    survives "$@"
    same_as_natively "$@"
}
