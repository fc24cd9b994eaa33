#!/bin/sh
# Checkpoints in files that earlier versions wrote are restored. This script has one for each version of the format, up
# to the one that this VOCL writes.
. "$(dirname "$0")/../lib.sh"
program=$top_builddir/tests/session/saved_text
mark=VOCL_TEST_MARK=$$
wanted="0123456789abcdef ABCDEFGHIJKLMNOP"

version_1()
{
    cat > checkpoint-000001 <<END
vocl checkpoint 1
program saved_text
object 1 buffer 16
object 2 image 0x10f1 2x2x1 format 0x10b5 0x10da
piece 1 0 16 f5eb3713d7ede3c2 1 0
piece 2 0 16 6c7eacb7068cf77d 1 16
end 3bd54b3e910c0975
END
    printf %s 0123456789abcdefABCDEFGHIJKLMNOP > pieces-000001
}

mkfifo "$scratch/say"
env "$mark" vocl run -- "$program" write < "$scratch/say" > "$scratch/out" 2> "$scratch/err" &
pid=$!
exec 9> "$scratch/say"
wait_until grep -qx ready "$scratch/out" || fail "no program: $(cat "$scratch/out" "$scratch/err")"
vocl checkpoint "$(program_of "$program")" "$scratch/now" > "$scratch/asked" 2>&1 || fail "no checkpoint: $(cat "$scratch/asked")"
echo >&9
exec 9>&-
wait $pid || fail "status $?: $(cat "$scratch/out" "$scratch/err")"
newest=$(sed -n '1s/^vocl checkpoint //p' "$scratch/now/checkpoint-000001")
[ "$newest" -ge 1 ] || fail "of no version: $(cat "$scratch/now/checkpoint-000001")"
for version in $(seq "$newest"); do
    mkdir "$scratch/$version"
    (cd "$scratch/$version" && "version_$version") || fail "there is no checkpoint of version $version here"
    vocl run --restore "$scratch/$version" -- "$program" > "$scratch/out" 2> "$scratch/err" ||
        fail "version $version: status $?: $(cat "$scratch/out" "$scratch/err")"
    [ "$(cat "$scratch/out")" = "$wanted" ] || fail "version $version: $(cat "$scratch/out" "$scratch/err")"
done
echo "versions 1 to $newest"
