#!/bin/sh
# Sessions of a pool move to a device of another kind, if that is requested and the device has all that their programs
# were told: by hand, when a node is emptied, and by the policy. n1 has Oclgrind's device, n2 PoCL's.
. "$(dirname "$0")/move-lib.sh"
oclgrind=/usr/lib/oclgrind/liboclgrind-rt-icd.so
[ -e $oclgrind ] || skip "no oclgrind"
mkdir "$scratch/oclgrind"
echo $oclgrind > "$scratch/oclgrind/oclgrind.icd"
"$top_builddir/libtool" --mode=execute cp "$top_builddir/tests/session/moved_any" "$scratch/bin/" && chmod -R a+rX "$scratch/bin"
for host in n1 n2; do
    write_config $host 'devices = ( { match = "*"; sessions = 2; } );' 'policy = "order";'
done
setting "$scratch/n1.conf" environment "[ \"OCL_ICD_VENDORS=$scratch/oclgrind\", \"UCX_TLS=tcp,self\" ]"
sed -i 's/pthread pthread/pthread/' "$scratch/n2.conf"
for host in n1 n2; do
    start_daemon $host
done
await nodes=2 || fail "the daemons do not find each other: $(cat "$scratch"/n?.log)"

# asks QUERY...: starts a program that makes these queries
asks()
{
    rm -f "$scratch/one" "$scratch/two"
    begins $alice "$scratch/bin/moved_any" "$scratch/one" "$scratch/two" "$@"
    ready
}
is_on()
{
    one_part && [ "$(part node)" = "$1" ] || fail "$2: it is on $(part node): $(cat "$scratch/asked" "$scratch"/n?.log)"
}
ends_well()
{
    touch "$scratch/one" "$scratch/two"
    wait $program || fail "$1: status $?: $(tail -n 5 "$scratch/out" "$scratch/err" "$scratch"/n?.log)"
    grep -qx right "$scratch/out" || fail "$1: $(cat "$scratch/out")"
    await sessions=0 || fail "$1: left: $(root vocl pool sessions)"
    echo "$1: right"
}

# By hand; the session is then suspended on a device of that kind, and moves again.
asks 0x102b 0x1004 0x1000
is_on n1 "at first"
move --to n2 && fail "it has moved to another kind"
is_on n1 "not asked for"
move --any --to n2 || fail "to n2: $(cat "$scratch/asked" "$scratch/err")"
is_on n2 "asked for"
session=$(part id)
as $alice vocl pool suspend "$session" > "$scratch/asked" 2>&1 || fail "not suspended: $(cat "$scratch/asked" "$scratch/err")"
as $alice vocl pool resume "$session" > "$scratch/asked" 2>&1 || fail "not resumed: $(cat "$scratch/asked" "$scratch/err")"
is_on n2 "after a suspension"
as $alice vocl move "$(pgrep -u $alice -x moved_any)" --any --to n1 > "$scratch/asked" 2>&1 || fail "vocl move --any: $(cat "$scratch/asked")"
is_on n1 "by its process"

# A node is emptied.
root vocl pool drain --move n1 > "$scratch/asked" 2>&1 && fail "emptied with nothing like it elsewhere"
grep -q 'n1: .* stays' "$scratch/asked" || fail "drain --move: $(cat "$scratch/asked")"
root vocl pool drain --move --any n1 > "$scratch/asked" 2>&1 || fail "drain --move --any: $(cat "$scratch/asked")"
is_on n2 "drained"
root vocl pool resume n1

# The policy would move it to the first node, if that were of the same kind.
root vocl pool rebalance > "$scratch/asked"
grep -q 'every session is where order would place it' "$scratch/asked" || fail "rebalance: $(cat "$scratch/asked")"
root vocl pool rebalance --any > "$scratch/asked"
grep -q 'n2 > n1' "$scratch/asked" || fail "rebalance --any: $(cat "$scratch/asked")"
rebalances()
{
    root vocl pool rebalance --any --do > "$scratch/asked" 2>&1
}
wait_until rebalances || fail "rebalance --any --do: $(cat "$scratch/asked")" # n2 may not know yet that n1 is back
is_on n1 "rebalanced"
ends_well "Oclgrind and PoCL"

# The program was told more than the other device has.
asks 0x102b 0x1021
move --any --to n2 && fail "it has moved to less than it was told: $(cat "$scratch/asked")"
grep -q 'constant arguments' "$scratch/asked" || fail "less: $(cat "$scratch/asked")"
is_on n1 "less"
ends_well "Oclgrind's constant arguments"
none_left_on n1 n2
exit 0
