#!/bin/sh
# Two ranks on two hosts.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
one_at_a_time ranks
across "$top_builddir/tests/devcom/basics" messages
across "$top_builddir/tests/devcom/chains" messages
across "$top_builddir/tests/devcom/devices"
across "$top_builddir/tests/devcom/words"
across "$top_builddir/tests/devcom/random" $(rounds 2000) staged

# the link goes down for a moment, and for longer than the ranks tolerate
down='ip link set near down' up='ip link set near up'
across "$top_builddir/tests/devcom/link" 1000 "$down" "$up"
about_silence
across "$top_builddir/tests/devcom/link" 0 "$down" "$up" lost
grep -q 'rank 0 survives' "$scratch/out" && grep -q 'rank 1 survives' "$scratch/out" || fail "$(cat "$scratch/out")"
