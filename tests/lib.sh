# Shared by the test scripts: . "$(dirname "$0")/../lib.sh" or, from tests/ itself, . "$(dirname "$0")/lib.sh"
#
# A test runs as BUILD/run tests/NAME.sh, by `make check` or by hand. It ends with 0 when it passed, and otherwise by
# `fail` or `skip`. $scratch is a folder of its own, gone afterwards.

[ -n "$VOCL_LIBEXECDIR" ] || { echo "run this as BUILD/run $0" >&2; exit 99; }
top_builddir=${VOCL_LIBEXECDIR%/libexec}
top_srcdir=$(cd "$(dirname "$0")" && while [ ! -e configure.ac ] && [ "$PWD" != / ]; do cd ..; done && pwd)

. "$top_srcdir/tests/environment.sh"
. "$top_srcdir/tests/tokens.sh"

scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
# A signal ends the script through the trap above.
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fail()
{
    echo "FAILED: $*"
    exit 1
}

skip()
{
    echo "skipped: $*"
    exit 77
}

# With the address sanitizer preloaded procps' programs wait for themselves, for ever.
pkill() { env -u LD_PRELOAD pkill "$@"; }
pgrep() { env -u LD_PRELOAD pgrep "$@"; }
ps() { env -u LD_PRELOAD ps "$@"; }

# alone: the test says with this line that no other may run meanwhile, for it measures. See in-turn.
alone()
{
    [ -z "$VOCL_IN_TURN" ] || return 0
    rm -rf "$scratch"
    exec "$top_srcdir/tests/in-turn" "$0" "$0"
}

# one_at_a_time NAME: the test says with this line that no other of the same name may run meanwhile.
one_at_a_time()
{
    alone
}

# at_most SECONDS: the test says with this line that it may take so long on a loaded machine. See run-test.
at_most() { :; }

# need COMMAND PACKAGE: the test makes no sense without it.
need()
{
    command -v "$1" > /dev/null || skip "no $1 (package $2)"
}

# need_foreign_programs: the test runs VOCL in programs that are not built here.
need_foreign_programs()
{
    [ "$SANITIZER" != thread ] || skip "the thread sanitizer works in our own programs only"
}

# need_whole_mpi: the test needs MPI in a namespace of its own, or its exit() caught: both are beyond the sanitizers.
need_whole_mpi()
{
    case $SANITIZER in
    address | thread) skip "the $SANITIZER sanitizer does not bear MPI in a namespace of its own" ;;
    esac
}

# with_own_memory [tmp]: a /dev/shm of this script's own, and a /tmp, where that can be: what is left there is its own.
with_own_memory()
{
    [ -z "$OWN_MEMORY" ] || return 0
    unshare -m mount -t tmpfs none /dev/shm 2> /dev/null || return 0
    rm -rf "$scratch"
    OWN_MEMORY=1 exec unshare -m sh -c '
        mount -t tmpfs none /dev/shm || exit 99
        if [ "$1" = tmp ]; then
            mount --bind /tmp /mnt && mount -t tmpfs none /tmp || exit 99
            for folder in "$2" "$3"; do # these stay
                case $folder in
                /tmp/*) mkdir -p "$folder" && mount --bind "/mnt/${folder#/tmp/}" "$folder" || exit 99 ;;
                esac
            done
        fi
        exec "$0"' "$(realpath "$0")" "$1" "$(realpath "$top_srcdir")" "$(realpath "$top_builddir")"
}
# with_own_processes: this script sees no processes but its own, where that can be.
with_own_processes()
{
    [ -z "$OWN_PROCESSES" ] && unshare --pid --fork --mount-proc true 2> /dev/null || return 0
    rm -rf "$scratch"
    OWN_PROCESSES=1 exec unshare --pid --fork --kill-child --mount-proc sh -c '"$0"; exit $?' "$(realpath "$0")"
}
no_files_left()
{
    [ -z "$OWN_MEMORY" ] || [ -z "$(ls /dev/shm)" ] || fail "left in /dev/shm: $(ls /dev/shm)"
}

# The C sources and headers, as paths from the top; a build folder in the tree is not among them.
sources()
{
    (cd "$top_srcdir" &&
        for directory in base wire transport client libvocl executor pool proxy ground xtq mpi devcom topology tools include examples benchmarks \
                tests; do
            [ ! -d $directory ] || find $directory -name '*.[ch]' -o -name '*.def'
        done)
}

# session_processes MARK: the processes of sessions that were started with MARK (NAME=VALUE) in the environment.
session_processes()
{
    grep -lszxFe "$1" /proc/[0-9]*/environ 2> /dev/null | while read -r process; do
        process=${process%/environ}
        { read -r comm < "$process/comm"; } 2> /dev/null || continue
        case $comm in
        vocl-*|mpiexec*|hydra*|orted*|no_release|sleeper|fork) echo "${process#/proc/}" ;;
        esac
    done
}

# daemons_of FILE: the pool's daemons that have it as their configuration
daemons_of()
{
    grep -lszxFe "$1" /proc/[0-9]*/cmdline | while read -r process; do
        process=${process%/cmdline}
        { read -r comm < "$process/comm"; } 2> /dev/null || continue
        [ "$comm" != vocl-poold ] || echo "${process#/proc/}"
    done
}

# is_daemons_own PID: what sessions leave with a daemon: what workers are copies of, and who asks questions for it
is_daemons_own()
{
    case $(cat "/proc/$1/comm" 2> /dev/null) in
    vocl-forkserver | vocl-helper) ;;
    *) return 1 ;;
    esac
}

# setting FILE NAME [VALUE]: in a daemon's configuration it has that value, at the place where it is, or at the end; or none.
# Unlike sed's, a VALUE may have any character.
setting()
{
    setting_name=$2 setting_line=${3:+"$2 = $3;"} env -u LD_PRELOAD awk '
        index($0, ENVIRON["setting_name"] " =") != 1 { print; next }
        ENVIRON["setting_line"] && !found++ { print ENVIRON["setting_line"] }
        END { if (ENVIRON["setting_line"] && !found) print ENVIRON["setting_line"] }' "$1" > "$1.new" &&
        cat "$1.new" > "$1" && rm "$1.new"
}

# session_workers MARK: those of these processes that are workers, the oldest first (numbers of processes begin again).
# What a worker has just forked, to run a compiler, looks like one.
session_workers()
{
    grep -lszxFe "$1" /proc/[0-9]*/environ 2> /dev/null | while read -r process; do
        process=${process%/environ}
        tr '\0' ' ' 2> /dev/null < "$process/cmdline" | grep -q -- 'vocl-proxy --worker' || continue
        { read -r stat < "$process/stat"; } 2> /dev/null || continue
        set -- ${stat##*) }
        echo "${20} ${process#/proc/} $2"
    done | sort -n | awk '{ process[NR] = $2; parent[NR] = $3; is[$2] = 1 }
        END { for (i = 1; i <= NR; i++) if (!is[parent[i]]) print process[i] }'
}

# one_worker: of the programs with $mark in their environment. program_of FILE: their process that runs it.
one_worker()
{
    [ "$(session_workers "$mark" | wc -l)" = 1 ]
}
program_of()
{
    grep -lszxFe "$mark" /proc/[0-9]*/environ | while read -r process; do
        [ "$(readlink "${process%environ}exe")" != "$(readlink -f "$1")" ] || echo "$process" | tr -dc 0-9
    done
}

# replaced: prints how many workers the program has replaced, by its log
replaced()
{
    grep -c 'of commands and data again' "$scratch/err"
}

# link_libexec FOLDER [LINES]: what VOCL installs for itself, of which a test puts something else in the place of a part; with
# LINES of a script vocl-proxy does these first
link_libexec()
{
    mkdir "$1"
    for file in "$VOCL_LIBEXECDIR"/*; do
        ln -s "$file" "$1/"
    done
    [ -n "$2" ] || return 0
    rm "$1/vocl-proxy"
    printf '#!/bin/sh\n%s\nexec "%s/vocl-proxy" "$@"\n' "$2" "$VOCL_LIBEXECDIR" > "$1/vocl-proxy"
    chmod 755 "$1/vocl-proxy"
}

none_left()
{
    [ -z "$(session_processes "$1")" ]
}

# status_of COMMAND...: prints its exit status; its own output goes to the log.
status_of()
{
    ( "$@" ) >&2
    echo $?
}

# has_command_buffers: the driver's are of the version that the headers have
has_command_buffers()
{
    "$top_builddir/tests/session/moved_commands" > /dev/null 2>&1
    [ $? != 77 ] || { echo "no command buffers here"; return 1; }
}

# wait_until COMMAND...: repeats the command until it succeeds; false after longer than anything takes that comes to an end:
# 600 rounds, of a twentieth of a second at first, then a quarter, and longer on a machine that keeps processes waiting.
wait_until()
{
    wait_rounds=0 wait_pause=0.05
    while ! "$@"; do
        [ $wait_rounds -lt 600 ] || return 1
        wait_rounds=$((wait_rounds + 1))
        [ $wait_rounds -lt 20 ] || wait_pause=0.25
        sleep $wait_pause
    done
}

# about_silence: processes that say nothing are lost soon, for that is what the test is about; in $VOCL_PEER_TIMEOUT seconds. How
# soon is what this machine allows: two seconds, and as many more as those that are ready to run wait for a processor.
about_silence()
{
    silence_turns=0
    while [ $silence_turns -lt 30000 ]; do silence_turns=$((silence_turns + 1)); done
    silence_ran=1 silence_waited=1 # where the kernel does not say
    { read -r silence_ran silence_waited silence_turns < /proc/self/schedstat; } 2> /dev/null
    VOCL_PEER_TIMEOUT=$((2 + (2 * silence_waited + silence_ran - 1) / (silence_ran + 1)))
    [ $VOCL_PEER_TIMEOUT -le 60 ] || VOCL_PEER_TIMEOUT=60 # wait_until has no more patience than twice that
    export VOCL_PEER_TIMEOUT
}

# rounds N: prints how often what varies from run to run is done: N times, and VOCL_TEST_ROUNDS times as often in make
# check-stress.
rounds()
{
    echo $(($1 * ${VOCL_TEST_ROUNDS:-1}))
}

# held_at PHASE: prints the setting with which a move of the program waits where that phase begins. held: waits until it does;
# release: the program goes on, and is not held there again. The file for that is $hold, where the program's user can write.
# loss_noticed: the program has logged that a worker is lost.
held_at()
{
    rm -f "${hold:-$scratch/held}" "${hold:-$scratch/held}.reached"
    echo "VOCL_MOVE_HOLD=$1:${hold:-$scratch/held}"
}
held()
{
    wait_until test -e "${hold:-$scratch/held}.reached"
}
release()
{
    touch "${hold:-$scratch/held}"
}
loss_noticed()
{
    grep -q 'worker [0-9]* on .* is lost' "$scratch/err"
}

# few N WORD...: prints the first N of these, and in make check-stress all: of programs that are disturbed at random moments.
# tests/session/verbs.sh disturbs each parity program at one that is chosen.
few()
{
    few_most=$1
    shift
    [ "$(rounds 1)" = 1 ] || few_most=$#
    printf '%s\n' "$@" | head -n "$few_most"
}

# beside COMMAND...: the command goes on beside others like it, as many as there are tokens (tokens.sh), in a shell of its own,
# with a $scratch and a $mark of its own. The test's own token is one that its pieces may have. well_beside waits for all of
# them, prints what they said, and fails if one did; after it $scratch/1, $scratch/2 and so on have what they left.
beside_started=0 beside_processes=
beside()
{
    take_token "$scratch/token"
    beside_started=$((beside_started + 1))
    mkdir "$scratch/$beside_started"
    (
        scratch=$scratch/$beside_started
        mark=$mark.$beside_started
        ( "$@" ) > "$scratch/said" 2>&1 5>&-
        echo $? > "$scratch/status"
    ) &
    beside_processes="$beside_processes $!"
    exec 5>&-
}

well_beside()
{
    wait $beside_processes
    beside_failed=0
    for beside_one in $(seq "$beside_started"); do
        cat "$scratch/$beside_one/said"
        [ "$(cat "$scratch/$beside_one/status")" = 0 ] || beside_failed=1
    done
    [ $beside_failed = 0 ] || exit 1
}
