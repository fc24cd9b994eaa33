#!/bin/sh
# The documents' figures are those of doc/measurements/figures.txt, doc/figures finds whatever differs, and benchmarks/record
# writes the file.
. "$(dirname "$0")/lib.sh"
need python3 python3
export BENCH_ONCE=1
"$top_srcdir/doc/figures" --check || fail "the documents' figures are not those of figures.txt; doc/figures renews them"

tree=$scratch/tree
file=$tree/doc/measurements/figures.txt

# fresh: a copy of the documents. check EXPECTED: what the check of the copy says has to have it.
fresh()
{
    rm -rf "$tree"
    mkdir "$tree"
    cp -r "$top_srcdir/doc" "$top_srcdir/README.md" "$tree/"
    chmod -R u+w "$tree"
}
check()
{
    ! "$top_srcdir/doc/figures" --check --top "$tree" > "$scratch/out" 2>&1 || fail "not found: $1"
    grep -q -e "$1" "$scratch/out" || fail "not found: $1. It says: $(cat "$scratch/out")"
}

fresh
"$top_srcdir/doc/figures" --check --top "$tree" || fail "a copy of the documents differs"
value=$(sed -n 's/^launch_and_finish.local *\([^ ]*\) .*/\1/p' "$file")
sed -i "s/^\(launch_and_finish.local *\)$value/\1987/" "$file"
check 'README.md:[0-9]*: launch_and_finish.local 2 is "990 us" in figures.txt'
grep -q 'doc/user/performance.md:' "$scratch/out" || fail "only one of two documents: $(cat "$scratch/out")"
"$top_srcdir/doc/figures" --top "$tree" > "$scratch/out" || fail "not renewed"
grep -q 'launch_and_finish.local 2-->990 us<' "$tree/README.md" || fail "not renewed: $(grep launch_and "$tree/README.md")"
"$top_srcdir/doc/figures" --check --top "$tree" || fail "renewed documents differ"

fresh
sed -i '/^launch_and_finish.local /d' "$file"
check 'README.md:[0-9]*: there is no launch_and_finish.local'
fresh
sed -i 's/^launch_and_finish.local .*/&\nnobody_asks.local 1 - us/' "$file"
check 'no document has nobody_asks.local'
fresh
sed -i 's/^launch_and_finish.local .*/&\nlaunch_and_finish.local 1 - us/' "$file"
check 'launch_and_finish.local is there twice'
fresh
sed -i 's/^launch_and_finish.local .*/launch_and_finish.local fast - us/' "$file"
check 'no record of a run: launch_and_finish.local fast'
fresh
sed -n '/^setarg_int_same.local /p' "$file" > "$scratch/line"
sed -i -e '/^setarg_int_same.local /d' -e "/^idle_on_cpu.local /r $scratch/line" "$file"
check 'setarg_int_same.local/native and setarg_int_same.local are from two runs'
for text in 'A launch takes 19 us here.' 'It is 1.3 times as fast.' 'Writes reach 2 GB/s.' '| a launch | 1.2 | 4 |' 'It costs 3 %.'; do
    fresh
    echo "$text" >> "$tree/doc/user/running.md"
    check 'doc/user/running.md:[0-9]*: ".*" has no key'
done
fresh
printf 'OpenCL 1.1 to 3.0 and PoCL 3.1, `sleep 0.3 s`, buffers of 64 KiB.\n\n    takes 0.3 s\n' >> "$tree/doc/user/running.md"
"$top_srcdir/doc/figures" --check --top "$tree" || fail "what is no figure counts as one"
fresh
echo '<!--=launch_and_finish.local 2-->19 us<!--/--> at the beginning' >> "$tree/doc/user/running.md"
check 'must not begin with a figure'
fresh
echo 'It takes <!--=launch_and_finish.local-->19 us.' >> "$tree/doc/internals/flow.md"
check 'doc/internals/flow.md: .* has no end'

# The writer. These are real runs; the values do not matter here.
case $SANITIZER in
address | thread) exit 0 ;;
esac
[ -x "$top_builddir/benchmarks/setarg" ] || skip "make benchmarks was not run"
record()
{
    "$top_srcdir/benchmarks/record" --file "$file" "$@" > "$scratch/out" 2> "$scratch/err"
}
# facts KEY: prints the facts of the key's run.
facts()
{
    awk -v key="$1" '/^date: /{ facts = "" } /^[a-z]*: /{ facts = facts $0 "\n" } $1 == key { printf "%s", facts }' "$file"
}
fresh
setarg="$top_srcdir/benchmarks/run --quick --repeat 1 --build $top_builddir --only setarg"
record 'setarg_int_same.*' -- $setarg && fail "recorded ways that the command does not measure"
cmp "$file" "$top_srcdir/doc/measurements/figures.txt" || fail "a failure changed the file"
record setarg_int_same.native setarg_int_same.local new_figure.local -- $setarg && fail "recorded what was not printed"
cmp "$file" "$top_srcdir/doc/measurements/figures.txt" || fail "a failure changed the file"
before=$(facts setarg_int_same.tls/native)
record setarg_int_same.native setarg_int_same.local -- $setarg || fail "$(cat "$scratch/err")"
for way in native local; do
    [ "$(grep -c "^setarg_int_same.$way " "$file")" = 1 ] || fail "setarg_int_same.$way: $(grep setarg_int_same "$file")"
    grep -q "^setarg_int_same.$way  *[0-9.]*  *[0-9.]* \.\. [0-9.]*  ns\$" "$file" || fail "$(grep "setarg_int_same" "$file")"
    facts setarg_int_same.$way | grep -qx "command: $setarg" || fail "$(facts setarg_int_same.$way)"
    facts setarg_int_same.$way | grep -qx "date: $(date -u +%Y-%m-%d)" || echo "midnight has passed, or the date is wrong"
done
[ "$(facts setarg_int_same.tls/native)" = "$before" ] || fail "another key changed its run: $(facts setarg_int_same.tls/native)"
check 'setarg_int_same.local/native and setarg_int_same.* are from two runs'
record setarg_int_same.local/native -- $setarg || fail "$(cat "$scratch/err")"
grep -q '^setarg_int_same.local/native  *[0-9.]*  *[0-9.]* \.\. [0-9.]*  ratio$' "$file" || fail "$(grep setarg_int_same "$file")"

# a plain program, several times; then again by the command in the file
record --repeat 2 new_figure.none setarg_local.native -- "$top_builddir/benchmarks/setarg" --quick && fail "recorded what was not printed"
record --repeat 2 setarg_local.native -- "$top_builddir/benchmarks/setarg" --quick || fail "$(cat "$scratch/err")"
[ "$(grep -c 'of 2 at most' "$scratch/err")" = 2 ] || fail "not run twice: $(cat "$scratch/err")"
record --repeat 1 setarg_local.native || fail "$(cat "$scratch/err")"
facts setarg_local.native | grep -qx "command: $top_builddir/benchmarks/setarg --quick" || fail "$(facts setarg_local.native)"
sed -i 's/^command: .*/command: unknown/' "$file"
record setarg_local.native && fail "measured by an unknown command"
grep -q 'name the command' "$scratch/err" || fail "$(cat "$scratch/err")"
exit 0
