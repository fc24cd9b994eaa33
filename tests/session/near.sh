#!/bin/sh
# Bulk data without MPI within a host: they are copied from the other process's memory, or sent over sockets where the
# system or the user forbids that, and arrive unchanged either way. A worker that is killed meanwhile is an error, and
# no process hangs.
. "$(dirname "$0")/../lib.sh"

near=$top_builddir/tests/session/near
forbid=$top_builddir/tests/session/forbid
mark=VOCL_TEST_MARK=near$$

[ "$("$near" right)" = right ] || fail "natively: $("$near" right)"
[ "$(status_of "$forbid" true 2> "$scratch/err")" != 77 ] || skip "$(cat "$scratch/err")"

# right NAME SETTING... -- COMMAND...: runs "near right"
right()
{
    name=$1
    shift
    env "$mark" VOCL_NETWORK=pairs VOCL_LOG=info VOCL_SHARE=0 "$@" -- "$near" right > "$scratch/out" 2> "$scratch/err" ||
        fail "$name: status $?: $(cat "$scratch/out" "$scratch/err")"
    [ "$(cat "$scratch/out")" = right ] || fail "$name: $(cat "$scratch/out")"
    wait_until none_left "$mark" || fail "$name: left: $(session_processes "$mark")"
}

# read_there N: data were copied so between the program and a worker in both directions, and from worker to worker; N
# processes sent data to workers
read_there()
{
    grep -q 'to 0: .* read where' "$scratch/err" && grep -q 'to [12]: .* read where' "$scratch/err" || return 1
    grep 'to [12]: .* read where' "$scratch/err" | sed 's/[^[]*\[\([0-9]*\)\].*/\1/' | sort -u | wc -l | grep -qx "$1"
}

for settings in VOCL_RING=1 VOCL_RING=0 VOCL_ZERO_COPY=0; do
    right "$settings" "$settings" vocl run --workers 2
    read_there 2 || fail "$settings: not read where they were: $(cat "$scratch/err")"
    ! grep -q 'cannot read' "$scratch/err" || fail "$settings: $(cat "$scratch/err")"
done
right "one worker" vocl run --workers 1

right "VOCL_CROSS_MEMORY=0" VOCL_CROSS_MEMORY=0 vocl run --workers 2
! grep -q 'read where' "$scratch/err" || fail "VOCL_CROSS_MEMORY=0: $(cat "$scratch/err")"

# The peer of a TCP connection may be on any host, and may name any process.
right plain VOCL_NETWORK=plain vocl run --workers 2
! grep -q 'read where' "$scratch/err" || fail "plain: read where they were: $(cat "$scratch/err")"

right forbidden "$forbid" vocl run --workers 2
! grep -q 'read where' "$scratch/err" || fail "forbidden, and yet: $(cat "$scratch/err")"
grep -q 'cannot read this process' "$scratch/err" || fail "forbidden: it is not said: $(cat "$scratch/err")"

# Only one worker is forbidden to: each pair of members chooses its own way.
link_libexec "$scratch/libexec" '[ "$PMI_RANK" != 1 ] || exec '"'$forbid' '$VOCL_LIBEXECDIR/vocl-proxy'"' "$@"'
right "one may not" VOCL_LIBEXECDIR="$scratch/libexec" vocl run --workers 2
grep -q 'cannot read this process' "$scratch/err" && grep -q 'read where' "$scratch/err" ||
    fail "one of two may not: $(cat "$scratch/err")"

# killed NAME N COMMAND...: kills one of two workers, at a moment that depends on N
killed()
{
    name=$1 which=$2
    shift 2
    : > "$scratch/out"
    env "$mark" VOCL_NETWORK=pairs VOCL_SHARE=0 "$@" -- "$near" until-lost > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q going "$scratch/out" || fail "$name: $(cat "$scratch/out" "$scratch/err")"
    sleep 0.$which
    kill -9 $(session_workers "$mark" | sed -n "$((which % 2 + 1))p")
    wait $program || fail "$name: status $?: $(cat "$scratch/out" "$scratch/err")"
    [ "$(tail -n 1 "$scratch/out")" = lost ] || fail "$name: $(cat "$scratch/out")"
    wait_until none_left "$mark" || fail "$name: left: $(session_processes "$mark")"
}
# Descriptions that a worker may send of where data are, and how the program checks them.
cross_memory=$top_builddir/tests/session/cross_memory
link_libexec "$scratch/lying"
ln -sf "$cross_memory" "$scratch/lying/vocl-proxy"
"$cross_memory" names > "$scratch/names"
while read -r lie; do
    env "$mark" VOCL_NETWORK=pairs VOCL_WORKERS=1 VOCL_LIBEXECDIR="$scratch/lying" VOCL_LOG=info "$cross_memory" "$lie" \
        < /dev/null > "$scratch/out" 2> "$scratch/err" || fail "$lie: $(cat "$scratch/out" "$scratch/err")"
    [ "$lie: $(cat "$scratch/out")" = "$lie: $([ "$lie" = truth ] || echo 'not ')taken" ] ||
        fail "$lie: $(cat "$scratch/out" "$scratch/err")"
    grep -q lost: "$scratch/err" || [ "$lie" = truth ] || fail "$lie: nobody is lost for it: $(cat "$scratch/err")"
    ! grep -E 'ERROR: .*Sanitizer|runtime error' "$scratch/err" || fail "$lie: $(cat "$scratch/err")"
done < "$scratch/names"

# The worker rings between the program's announcement of its sleep and its last look.
link_libexec "$scratch/rings"
ln -sf "$top_builddir/tests/session/rung" "$scratch/rings/vocl-proxy"
mkdir "$scratch/agreed"
env "$mark" VOCL_NETWORK=pairs VOCL_WORKERS=1 VOCL_LIBEXECDIR="$scratch/rings" "$top_builddir/tests/session/rung" "$scratch/agreed" \
    < /dev/null > "$scratch/out" 2> "$scratch/err" || fail "rung: $(cat "$scratch/out" "$scratch/err")"
[ "$(cat "$scratch/out")" = awake ] || fail "the program sleeps, and its worker does not know: $(cat "$scratch/out" "$scratch/err")"

for which in $(seq "$(rounds 2)"); do
    killed "killed $which" $which vocl run --workers 2
done
killed "killed, by sockets" 3 env VOCL_CROSS_MEMORY=0 vocl run --workers 2
exit 0
