#!/bin/sh
# Members join a running session and leave it again: on one host, over MPI and TLS, and on two hosts that reach each
# other or that only ssh connects, also when the whole session runs on the other host. Frames and bulk data go between
# all members; nothing is left of a member that has gone. A member that fails to join, in whatever way, or that is
# killed or stopped at any moment, causes no other loss.
. "$(dirname "$0")/../lib.sh"
mark=VOCL_TEST_MARK=members$$
at_most 900
members=$top_builddir/tests/session/members

# The test's own worker takes vocl-proxy's place.
link_libexec "$scratch/libexec"
rm "$scratch/libexec/vocl-proxy"
ln -s "$members" "$scratch/libexec/vocl-proxy"
libexec=VOCL_LIBEXECDIR=$scratch/libexec
tests=$(dirname "$scratch/libexec")/tests # where two-hosts looks for its own
ln -s "$top_builddir/tests" "$tests"

left()
{
    none_left "$mark" && [ -z "$(processes_of_ours)" ]
}
processes_of_ours()
{
    grep -lszxFe "$mark" /proc/[0-9]*/environ 2> /dev/null | while read -r process; do
        tr '\0' ' ' 2> /dev/null < "${process%/environ}/cmdline" | grep -E "vocl-proxy|members" || :
    done
}
limit=300 # of each, which guards against hangs alone
# right SETTINGS... -- ARGUMENTS...: runs members, which has to print "right"
right()
{
    settings=
    while [ "$1" != -- ]; do
        settings="$settings $1"
        shift
    done
    shift
    timeout -k 5 "$limit" env "$mark" "$libexec" VOCL_LOG=error $settings "$members" "$@" > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ "$status $(tail -n 1 "$scratch/out")" = "0 right" ] || fail "$settings $*: $status: $(cat "$scratch/out" "$scratch/err")"
    ! grep -E 'ERROR: .*Sanitizer|runtime error' "$scratch/err" || fail "$settings $*: $(cat "$scratch/err")"
    wait_until left || fail "left after $settings $*: $(processes_of_ours)"
}
# two OPTIONS... -- ARGUMENTS...: the same with the workers on another host
two()
{
    timeout -k 5 "$limit" env "$mark" "$libexec" VOCL_LOG=error "$top_srcdir/tests/net/two-hosts" "$@" > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status != 77 ] || return 0
    [ "$status $(tail -n 1 "$scratch/out")" = "0 right" ] || fail "two hosts: $*: $status: $(cat "$scratch/out" "$scratch/err")"
    wait_until left || fail "left after two hosts: $*: $(processes_of_ours)"
}

right VOCL_WORKERS=2 -- "$(rounds 8)"
right VOCL_WORKERS=1 -- 2
right VOCL_WORKERS=2 VOCL_RING=0 -- 2
right VOCL_WORKERS=3 VOCL_NETWORK=pairs -- "$(rounds 4)"
right VOCL_WORKERS=3 VOCL_NETWORK=pairs VOCL_RING=0 VOCL_PEER_TIMEOUT=0 -- 2
right VOCL_WORKERS=2 VOCL_NETWORK=pairs MEMBERS_HOW=exit -- fail "status 7"
right VOCL_WORKERS=2 VOCL_NETWORK=pairs MEMBERS_HOW=die -- killed "$(rounds 3)"
right VOCL_WORKERS=18 VOCL_NETWORK=pairs -- 1
right VOCL_WORKERS=18 VOCL_NETWORK=pairs MEMBERS_HOW=die -- killed "$(rounds 2)"
right VOCL_WORKERS=2 VOCL_PEER_TIMEOUT=0 -- 2
right VOCL_WORKERS=2 MEMBERS_HOW=stay -- 2
right VOCL_WORKERS=2 MEMBERS_HOW=exit -- fail "status 7"
right VOCL_WORKERS=2 MEMBERS_HOW=hang MEMBERS_PATIENCE=3 -- fail "within VOCL_START_TIMEOUT"
right VOCL_WORKERS=2 MEMBERS_HOW=version -- fail "protocol versions differ"
right VOCL_WORKERS=2 MEMBERS_HOW=die -- killed "$(rounds 6)"
cat "$scratch/out"
(
    about_silence
    right VOCL_WORKERS=2 MEMBERS_HOW=stop MEMBERS_PATIENCE=3 -- killed "$(rounds 2)"
) || exit 1
cat "$scratch/out"

[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || exit 0
right VOCL_WORKERS=2 VOCL_NETWORK=tls -- 5
right VOCL_WORKERS=18 VOCL_NETWORK=tls -- 1
right VOCL_WORKERS=18 VOCL_NETWORK=tls MEMBERS_HOW=die -- killed "$(rounds 2)"
right VOCL_WORKERS=2 VOCL_RSH=false -- fail "ended with status 1" elsewhere.example
right VOCL_HOSTS=localhost,localhost VOCL_NETWORK=tls -- 5 localhost
right VOCL_HOSTS=localhost,localhost VOCL_NETWORK=tls MEMBERS_HOW=die -- killed "$(rounds 3)" localhost
cat "$scratch/out"
right VOCL_HOSTS=localhost VOCL_NETWORK=tls MEMBERS_HOW=exit -- fail "status 7" localhost
right VOCL_HOSTS=localhost VOCL_NETWORK=tls VOCL_RSH=false -- fail "ended with status 1" not.a.host.example
two --workers 2 -- "$members" 5 10.93.0.2
two --apart --workers 2 -- "$members" 2 10.93.0.3
two --embedded --workers 2 -- "$members" 3 10.93.0.2
two --embedded --apart --workers 2 -- "$members" 1 10.93.0.3

# With so many members, two of them connect only when they have something to send to each other.
two --workers 17 -- "$members" 1 10.93.0.2
two --apart --workers 17 -- "$members" 1 10.93.0.3
two --embedded --workers 17 -- "$members" 1 10.93.0.2
two --embedded --apart --workers 17 -- "$members" 1 10.93.0.3
exit 0
