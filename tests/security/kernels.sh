#!/bin/sh
# A kernel with its user's rights gets no descriptor of the daemon's, forges no line of the log and does not fill the
# log, and nothing that it starts outlives the session; with a control group and without, and without a daemon.
. "$(dirname "$0")/../pool/one-lib.sh"
escape=$top_builddir/tests/security/escape
mark=VOCL_TEST_MARK=worker$$

# Prints the processes with the mark in their environment, except zombies: also a kernel's, whatever their names.
marked()
{
    grep -lszxFe "$mark" /proc/[0-9]*/environ 2> /dev/null | while read -r process; do
        process=${process%/environ}
        grep -q '^State:.Z' "$process/status" 2> /dev/null || echo "${process#/proc/}"
    done
}
none_marked() { [ -z "$(marked | grep -vx "$fork_server")" ]; }
fork_server=none # the fork server of the daemon's workers, which exists before any kernel
find_fork_server()
{
    fork_server=$(pgrep -P "$daemon" -x vocl-forkserver)
}

# Prints forged lines outside of the lines that name their session's worker.
forged()
{
    grep -a 'drained by root' "$1" | grep -av 'session [0-9a-f]*: worker: '
}

# under_daemon SETTING...: runs the kernel in a session of a daemon with these settings
under_daemon()
{
    make_pool here "$@" "environment = [ \"POCL_CACHE_DIR=$POCL_CACHE_DIR\", \"$mark\" ];"
    sed -i '0,/^environment/{/^environment/d}' "$scratch/conf"
    start_daemon
    wait_until find_fork_server || fail "there is no fork server"
    VOCL_POOL="$scratch/pool" timeout 300 vocl run -- "$escape" 3000 > "$scratch/out" 2> "$scratch/err"
    [ $? != 77 ] || skip "the kernel does not compile here: $(tail -n 3 "$scratch/err")"
    grep -aq '^error 0 ' "$scratch/out" || fail "the kernel does not run: $(tail -n 5 "$scratch/out" "$scratch/err")"
    grep -aq ' forked [1-9]' "$scratch/out" || fail "it does not fork: $(grep -a "^error" "$scratch/out")"
    grep -aq ' emptied 0 ' "$scratch/out" || fail "$*: it emptied files: $(grep -a "^error" "$scratch/out")"
    wait_until grep -q 'session [0-9a-f]* is over\|session [0-9a-f]* ends\|session .* ended' "$scratch/log"
    wait_until none_marked || fail "$*: left: $(ps -o pid,ppid,sid,args -p "$(marked | tr '\n' ',' | sed 's/,$//')")"
    grep -aq ' serves ' "$scratch/log" || fail "$*: the log is gone"
    forged "$scratch/log" > "$scratch/forged" && fail "$*: forged: $(head -n 3 "$scratch/forged" | cat -v)"
    LC_ALL=C grep -aq '[^[:print:][:space:]]' "$scratch/log" && fail "$*: control characters in the log"
    [ "$(wc -l < "$scratch/log")" -lt 300 ] || fail "$*: $(wc -l < "$scratch/log") lines in the log"
    kill -TERM $daemon
    wait $daemon 2> /dev/null
    rm -rf "$scratch/state"
}

under_daemon 'cgroup = "none";'
under_daemon

# Without a daemon, vocl-launcher ends the processes.
fork_server=none
env "$mark" timeout 300 vocl run -- "$escape" 0 > "$scratch/out" 2> "$scratch/err" || fail "alone: $(cat "$scratch/err")"
wait_until none_marked || fail "alone: left: $(ps -o pid,ppid,sid,args -p "$(marked | tr '\n' ',' | sed 's/,$//')")"
