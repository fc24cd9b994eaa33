#!/bin/sh
# A node that has the package vocl-proxy alone: its files are enough for the daemon and for vocl-proxy pool, by which an
# administrator there looks at the pool and drains nodes.
. "$(dirname "$0")/one-lib.sh"
make_pool here
mkdir "$scratch/libexec"
for file in $(sed -n 's,^usr/libexec/vocl/,,p' "$top_srcdir/debian/vocl-proxy.install"); do
    [ ! -e "$VOCL_LIBEXECDIR/$file" ] || cp -L "$VOCL_LIBEXECDIR/$file" "$scratch/libexec/"
done
VOCL_LIBEXECDIR=$scratch/libexec
VOCL_POOL=$scratch/pool
export VOCL_LIBEXECDIR VOCL_POOL
start_daemon
node()
{
    "$VOCL_LIBEXECDIR/vocl-proxy" "$@" > "$scratch/out" 2> "$scratch/err"
}
node pool nodes && grep -q '^here  *up ' "$scratch/out" || fail "nodes: $(cat "$scratch/out" "$scratch/err")"
node pool drain --reason "a new fan" here || fail "drain: $(cat "$scratch/err")"
node pool wait --timeout=100 drained=here || fail "wait: $(cat "$scratch/err")"
node pool nodes && grep -q "^here  *draining .*$user: a new fan" "$scratch/out" || fail "nodes: $(cat "$scratch/out" "$scratch/err")"
node pool resume here || fail "resume: $(cat "$scratch/err")"
node pool wait --timeout=100 state=here:up || fail "wait: $(cat "$scratch/err")"
node pool drain nowhere
[ $? = 3 ] && grep -q '^vocl pool: there is no node nowhere' "$scratch/err" || fail "the exit status: $(cat "$scratch/err")"
node pool --help && grep -q '^usage: vocl pool' "$scratch/out" || fail "help: $(cat "$scratch/out" "$scratch/err")"
exit 0
