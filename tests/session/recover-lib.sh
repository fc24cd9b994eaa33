# Programs whose workers are harmed, and replaced, while they run. For recover*.sh, which may define a harm() of their
# own:
#
#     survives HARM HOW PROGRAM...        the program ends well and leaves nothing behind; HARM has harm()'s arguments,
#                                         HOW settings and the command before the program. LOGS: the folder for logs
#     survives_well HARM HOW PROGRAM...   the same, and the program prints the same as natively
#     same_as_natively PROGRAM            the output is what $scratch/native holds
#     snapshots                           prints the number of snapshots
#     nth N                               prints the N-th worker, in the order of their start
#     await_lines N PATTERN               waits until the log has N such lines, without delay, or the program ends
#     $scratch/enough                     a file that exists once the harm has had its effect(): programs may wait for it
#     below LIMIT                         leaves a random number in $drawn
#     draw_harm WHO...                    leaves in $harm that some of these are killed, up to three times, or two more
mark=VOCL_TEST_MARK=$$

any_worker()
{
    [ -n "$(session_workers "$mark")" ]
}

snapshots()
{
    grep -c 'snapshot of worker' "$scratch/err"
}

# one_of HOW: prints the last worker, the first one, the first two, or all
one_of()
{
    case $1 in
    last) session_workers "$mark" | tail -n 1 ;;
    first) session_workers "$mark" | head -n 1 ;;
    two) session_workers "$mark" | head -n 2 ;;
    all) session_workers "$mark" ;;
    esac
}

# await_lines N PATTERN: waits until the log has N such lines, or the program ends; notices a line without delay
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

# nth N: prints the N-th worker, in the order of their start
nth()
{
    session_workers "$mark" | sed -n "$1p"
}

# harm [SIGNAL] WHO PAUSE WHO PAUSE...: once the program has begun, the signal is sent to each WHO after PAUSE seconds,
# or, if PAUSE is "came", when another worker has joined
harm()
{
    signal=KILL
    case $1 in
    STOP) signal=STOP && shift ;;
    esac
    wait_until grep -q 'all devices are known;' "$scratch/err" || return 0
    while [ $# -gt 1 ]; do
        case $2 in
        came) # it is not long until that has the place of the lost one
            whom=$(one_of "$1")
            await_lines 1 'has joined the session' ;;
        *)
            sleep "$2"
            wait_until any_worker || return 0
            whom=$(one_of "$1") ;;
        esac
        kill -$signal $whom 2> /dev/null
        shift 2
    done
}

# below LIMIT: draws a number from the generator of this seed
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
    # A worker that a sanitizer ends is replaced, too.
    grep -E 'ERROR: .*Sanitizer|runtime error' "$scratch/err" && fail "$*: the sanitizer found something"
    wait_until none_left "$mark" || fail "left after $*: $(session_processes "$mark")"
    replaced > "$scratch/replaced"
    named=${*%" $scratch/enough"}
    echo "$harm, $how, ${named##*/}: $(replaced) replaced, $(grep -c 'it depended on that worker' "$scratch/err") of them with others, $(snapshots) snapshots"
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
