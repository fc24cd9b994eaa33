# One barrier, every verb: a parity program stops where it has most of its objects (parity_rich()), and there everything
# is done to it that can be done to sessions. For verbs and verbs.sh:
#
#     prepare PROGRAM                     runs it natively, to get the expected output
#     verbs [NAME=VALUE]... [OPTION]... -- VERB...
#                                         runs it once with these settings and options of `vocl run`, and applies these
#                                         verbs at the barrier, one after the other
#
#     spare     it moves to a spare worker      suspend  it is suspended and resumed
#     here      it moves to a new worker        doze     it is suspended, and the program's next call resumes it
#     save      it is saved in files            restore  as save, and the program is run again with the files
#     kill      all its workers are killed, and replaced (with --recover)
#
# The program's output and status are the native ones, and nothing is left afterwards. A refusal is right if it is in
# the table below, and is then required.
verbs_limit=300
mark=VOCL_TEST_MARK=$$

# PROGRAM, VERBS, the MODES (shared or apart memory, with recover) in which they are refused, and words of the reason.
# The reasons: doc/internals/moving.md, "What is refused".
refusals()
{
    cat <<'END'
callback_waits,no_release,user_events spare,here shared,apart perhaps for a user event
callback_waits,no_release,user_events suspend,doze,save any perhaps for a user event
effects,errors_svm,relay,svm save any shared virtual memory, which another program has at other addresses
descriptors suspend,doze,kill shared,shared-recover cannot have the memory that the program shares
END
}

# Restored programs that do not end as natively: they create objects with contents that they need, and get those of the
# checkpoint instead, as documented (doc/internals/checkpoints.md, "What is restored").
restored_otherwise()
{
    cat <<'END'
many_copies many_launches native_kernel nbody several_contexts
END
}

# Programs, and the modes in which their output through VOCL differs from the native one even if nothing is done to
# them: it depends on shared memory (VOCL_SHARE=0) and fine-grained shared virtual memory (not with recover).
otherwise_by_mode()
{
    cat <<'END'
device_info apart,apart-recover
svm apart,apart-recover,shared-recover
END
}

# in_list WORD LIST: whether WORD is in LIST, which has commas between its words, or is "any"
in_list()
{
    case ,$2, in
    ,any, | *,"$1",*) return 0 ;;
    esac
    return 1
}

# refusal VERB: prints the words of the reason with which this program must be refused in this mode
refusal()
{
    refusals | while read -r refused_program refused_verbs refused_modes words; do
        in_list "$name" "$refused_program" && in_list "$1" "$refused_verbs" && in_list "$mode" "$refused_modes" || continue
        echo "$words"
        break
    done
}

complain()
{
    fail "$name, $how: $*: $(cat "$scratch/asked" 2> /dev/null; grep -v " info:" "$scratch/err" | tail -n 12)"
}

# ask VERB COMMAND...: runs the command; false if it was refused, as required
ask()
{
    asked_for=$1
    shift
    words=$(refusal "$asked_for")
    if timeout -k 5 "$verbs_limit" "$@" > "$scratch/asked" 2>&1; then
        [ -z "$words" ] || complain "$asked_for is not refused"
        done_verbs="$done_verbs $asked_for"
        return 0
    fi
    [ -n "$words" ] && grep -q -- "$words" "$scratch/asked" || complain "$asked_for"
    done_verbs="$done_verbs ($asked_for)"
    return 1
}

as_many_workers()
{
    [ "$(session_workers "$mark" | wc -l)" = "$workers" ]
}

all_replaced()
{
    [ "$(replaced)" -ge "$wanted" ] || ! kill -0 "$running" 2> /dev/null
}

do_spare() { ask spare vocl move "$pid" --to spare; }
do_here()
{
    workers=$(session_workers "$mark" | wc -l)
    ask here vocl move "$pid" --to here
    wait_until as_many_workers || complain "workers that were left: $(session_workers "$mark")"
}
do_suspend() { ! ask suspend vocl suspend "$pid" || vocl resume "$pid" > "$scratch/asked" 2>&1 || complain "not resumed"; }
do_doze() { ask doze vocl suspend "$pid"; }
do_save()
{
    rm -rf "$scratch/saved"
    ask save vocl checkpoint "$pid" "$scratch/saved"
}
do_restore() { ! do_save || restored=$scratch/saved; }
do_kill()
{
    words=$(refusal kill)
    [ -z "$words" ] || { done_verbs="$done_verbs (kill)"; return 0; }
    killed=$(session_workers "$mark")
    wanted=$(($(replaced) + $(echo "$killed" | wc -l)))
    kill -KILL $killed || complain "no workers to kill"
    wait_until all_replaced || complain "the workers are not replaced"
    done_verbs="$done_verbs kill"
}

reached()
{
    [ -e "$barrier/reached" ] || ! kill -0 "$running" 2> /dev/null
}

# started SETTING... COMMAND...: runs the command in the background, as $running
started()
{
    "$top_srcdir/tests/stuck" "$mark" $((verbs_limit - 20)) > "$scratch/stuck" 2>&1 &
    stuck=$!
    env "$mark" VOCL_LOG=info timeout -k 10 $verbs_limit env "$@" > "$scratch/out" 2> "$scratch/err" < /dev/null &
    running=$!
}

# ended WHAT...: the command ends with the native status
ended()
{
    wait $running
    status=$?
    kill $stuck 2> /dev/null
    [ $status != 124 ] || complain "$* does not end: $(cat "$scratch/stuck")"
    [ $status = "$native" ] || { [ $native = any ] && [ $status -lt 124 ]; } || complain "$*: status $status, natively $native"
    wait_until none_left "$mark" || complain "left after $*: $(session_processes "$mark")"
}

same_as_natively()
{
    diff "$scratch/native" "$scratch/out" > "$scratch/diff"
}

run_restored()
{
    started $settings VOCL_RESTORE="$restored" vocl run $options -- "$program" $arguments
    for otherwise in $(restored_otherwise); do
        [ $otherwise != "$name" ] || native=any
    done
    ended "restored"
    ! grep -q 'of the checkpoint is' "$scratch/err" || complain "it makes other objects than it made"
    [ $native = any ] || same_as_natively || complain "restored: $(head -n 20 "$scratch/diff")"
}

# Gets the expected output in this mode, if it differs from the native one.
prepare_mode()
{
    otherwise_by_mode | while read -r otherwise modes; do
        [ "$otherwise" != "$name" ] || ! in_list $mode $modes || echo so
    done | grep -q so || return 0
    started $settings vocl run $options -- "$program" $arguments
    ended "nothing done to it"
    cp "$scratch/out" "$scratch/native"
}

prepare()
{
    program=$1 name=${1##*/}
    case $name in
    effects) arguments=1 ;;   # of the sizes; the others take long
    one_place) arguments=3 ;; # rounds
    host_pointer | host_pointer_devices) arguments=no-svm ;; # which would be fine-grained
    *) arguments= ;;
    esac
    timeout -k 10 $verbs_limit "$program" $arguments > "$scratch/native" 2> "$scratch/err" < /dev/null
    native=$?
    [ $native -lt 124 ] || fail "$name natively: status $native"
}

verbs()
{
    settings= options= mode=shared done_verbs= restored= how=$*
    while [ "$1" != -- ]; do
        case $1 in
        --*) options="$options $1" ;;
        *) settings="$settings $1" ;;
        esac
        case $1 in
        VOCL_SHARE=0) mode=apart ;;
        esac
        shift
    done
    shift
    case $options in
    *--recover*) mode=$mode-recover ;;
    esac
    prepare_mode
    barrier=$scratch/barrier
    rm -rf "$barrier"
    mkdir "$barrier"
    rm -f "$scratch/asked"
    started $settings VOCL_TEST_BARRIER="$barrier" vocl run $options -- "$program" $arguments
    wait_until reached || complain "it does not come to parity_rich()"
    [ -e "$barrier/reached" ] || complain "it does not call parity_rich()"
    pid=$(cat "$barrier/reached")
    for verb in "$@"; do
        do_$verb
    done
    touch "$barrier/go"
    ended "$@"
    same_as_natively || complain "$(head -n 20 "$scratch/diff")"
    [ -z "$restored" ] || run_restored
    echo "$name, $mode:$done_verbs"
}
