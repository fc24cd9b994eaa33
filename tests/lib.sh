# Shared by the test scripts: . "$(dirname "$0")/../lib.sh" or, from tests/ itself, . "$(dirname "$0")/lib.sh"
#
# A test runs as BUILD/run tests/NAME.sh, by `make check` or by hand. It exits with 0 if it passed, and otherwise
# through `fail` or `skip`. $scratch is its own temporary folder, which is removed when it ends.

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

# With the address sanitizer preloaded, procps' programs wait for themselves forever.
pkill() { env -u LD_PRELOAD pkill "$@"; }
pgrep() { env -u LD_PRELOAD pgrep "$@"; }
ps() { env -u LD_PRELOAD ps "$@"; }

# alone: this line in a test says that no other test may run at the same time, because it measures. See in-turn.
alone()
{
    [ -z "$VOCL_IN_TURN" ] || return 0
    rm -rf "$scratch"
    exec "$top_srcdir/tests/in-turn" "$0" "$0"
}

# one_at_a_time NAME: this line in a test says that no other test with the same NAME may run at the same time.
one_at_a_time()
{
    alone
}

# at_most SECONDS: this line in a test says that the test may take so long on a loaded machine. See run-test.
at_most() { :; }

# need COMMAND PACKAGE: skips the test unless the command, which is in this package, is installed.
need()
{
    command -v "$1" > /dev/null || skip "no $1 (package $2)"
}

# need_foreign_programs: skips the test where VOCL cannot run in programs that are not built here.
need_foreign_programs()
{
    [ "$SANITIZER" != thread ] || skip "the thread sanitizer works in our own programs only"
}

# need_whole_mpi: skips the test where MPI cannot run in its own namespace or exit() cannot be caught: under the address
# and thread sanitizers.
need_whole_mpi()
{
    case $SANITIZER in
    address | thread) skip "the $SANITIZER sanitizer does not bear MPI in a namespace of its own" ;;
    esac
}

# with_own_memory [tmp]: gives this script its own /dev/shm, and with tmp its own /tmp, where that is possible: files
# left there are then the script's.
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
# with_own_processes: hides all processes but this script's own from it, where that is possible.
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

# The C sources and headers, as paths from the top; without a build folder inside the tree.
sources()
{
    (cd "$top_srcdir" &&
        for directory in base wire transport client libvocl executor pool proxy ground xtq mpi devcom topology tools include examples benchmarks \
                tests; do
            [ ! -d $directory ] || find $directory -name '*.[ch]' -o -name '*.def'
        done)
}

# session_processes MARK: prints the processes of sessions that were started with MARK (NAME=VALUE) in their
# environment.
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

# daemons_of FILE: prints the pool's daemons that have FILE as their configuration.
daemons_of()
{
    grep -lszxFe "$1" /proc/[0-9]*/cmdline | while read -r process; do
        process=${process%/cmdline}
        { read -r comm < "$process/comm"; } 2> /dev/null || continue
        [ "$comm" != vocl-poold ] || echo "${process#/proc/}"
    done
}

# is_daemons_own PID: whether the process is one that sessions leave with a daemon: its fork server or its helper.
is_daemons_own()
{
    case $(cat "/proc/$1/comm" 2> /dev/null) in
    vocl-forkserver | vocl-helper) ;;
    *) return 1 ;;
    esac
}

# setting FILE NAME [VALUE]: sets NAME in a daemon's configuration, where it already stands, or at the end; without
# VALUE removes it. Unlike with sed, VALUE may have any character.
setting()
{
    setting_name=$2 setting_line=${3:+"$2 = $3;"} env -u LD_PRELOAD awk '
        index($0, ENVIRON["setting_name"] " =") != 1 { print; next }
        ENVIRON["setting_line"] && !found++ { print ENVIRON["setting_line"] }
        END { if (ENVIRON["setting_line"] && !found) print ENVIRON["setting_line"] }' "$1" > "$1.new" &&
        cat "$1.new" > "$1" && rm "$1.new"
}

# session_workers MARK: prints the workers among the processes of session_processes, the oldest first (PIDs wrap
# around). A process that a worker has just forked, to run a compiler, looks like a worker and is left out.
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

# one_worker: whether the programs with $mark in their environment have one worker. program_of FILE: prints the PID of
# the process among them that runs FILE.
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

# replaced: prints how many workers the program has replaced, from its log.
replaced()
{
    grep -c 'of commands and data again' "$scratch/err"
}

# link_libexec FOLDER [LINES]: links everything in VOCL's libexec into a new FOLDER, for a test that replaces a part of
# it; with LINES of a script, vocl-proxy runs these first.
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

# status_of COMMAND...: prints the command's exit status; the command's output goes to the log.
status_of()
{
    ( "$@" ) >&2
    echo $?
}

# has_command_buffers: whether the driver's command buffers have the version that the headers have.
has_command_buffers()
{
    "$top_builddir/tests/session/moved_commands" > /dev/null 2>&1
    [ $? != 77 ] || { echo "no command buffers here"; return 1; }
}

# wait_until COMMAND...: repeats the command until it succeeds. Fails after 600 rounds, longer than anything takes that
# ends at all: a round takes a twentieth of a second at first, then a quarter, and more on a loaded machine.
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

# about_silence: for tests of silent processes: sets $VOCL_PEER_TIMEOUT low, so that these are lost soon. It is two
# seconds, and more in proportion to how long runnable processes wait for a processor on this machine.
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

# rounds N: prints how often to do something whose outcome varies from run to run: N times, or N * VOCL_TEST_ROUNDS
# times in make check-stress.
rounds()
{
    echo $(($1 * ${VOCL_TEST_ROUNDS:-1}))
}

# held_at PHASE: prints the setting that makes a move of the program wait at the start of that phase. held: waits until
# the move is there. release: lets the move continue, without another wait there. The file for this is $hold, which the
# program's user must be able to write. loss_noticed: whether the program has logged the loss of a worker.
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

# few N WORD...: prints the first N words, or all in make check-stress: the programs that a test disturbs at random
# moments. tests/session/verbs.sh disturbs each parity program at a chosen moment.
few()
{
    few_most=$1
    shift
    [ "$(rounds 1)" = 1 ] || few_most=$#
    printf '%s\n' "$@" | head -n "$few_most"
}

# beside COMMAND...: runs the command in a subshell, concurrently with others, as many as there are tokens (tokens.sh),
# with its own $scratch and $mark. The test's own token is also used for its commands. well_beside waits for all of
# them, prints their output, and fails if one failed; their files are then in $scratch/1, $scratch/2 and so on.
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
