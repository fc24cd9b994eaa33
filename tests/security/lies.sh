#!/bin/sh
# A program whose worker lies: lies of each kind, then VOCL_LIES sessions with lies at random, from VOCL_LIES_FROM on.
# The program may see errors, and may wait for what never comes; it must not crash.
export VOCL_CACHE=off # what a liar tells is heard each time
. "$(dirname "$0")/../lib.sh"

mark=VOCL_TEST_MARK=$$
mkdir "$scratch/libexec" "$scratch/nothing"
for file in "$top_builddir"/libexec/*; do
    ln -s "$(readlink -f "$file")" "$scratch/libexec/${file##*/}"
done
rm "$scratch/libexec/vocl-proxy"
ln -s "$top_builddir/tests/security/liar" "$scratch/libexec/vocl-proxy"

# lied_to LIE SETTING...
lied_to()
{
    lie=$1
    shift
    [ "$lie" = none ] || set -- VOCL_LIE="$lie" "$@"
    env "$mark" VOCL_LIBEXECDIR="$scratch/libexec" OCL_ICD_VENDORS="$scratch/nothing" \
        VOCL_NATIVE_ICD_VENDORS="$OCL_ICD_VENDORS" MALLOC_CHECK_=3 "$@" \
        vocl run --door preload -- "$top_builddir/tests/security/lied_to" > "$scratch/out" 2> "$scratch/err"
    status=$?
    case $status in
    0 | 142) ;; # through, or SIGALRM
    *) fail "lie $lie $*: status $status: $(tail -n 40 "$scratch/out" "$scratch/err")" ;;
    esac
    if grep -E 'Sanitizer|runtime error|malloc|corrupt' "$scratch/err"; then
        fail "lie $lie $*: $(tail -n 60 "$scratch/err")"
    fi
}

if [ $# -gt 0 ]; then # by hand
    for lie; do
        lied_to "$lie"
    done
    cat "$scratch/out" "$scratch/err"
    exit 0
fi
lied_to none
grep -q through "$scratch/out" || fail "without lies: $(cat "$scratch/out" "$scratch/err")"
for lie in text binary count zero twice status; do
    lied_to $lie VOCL_SHARE=0
    lied_to $lie
done
seed=${VOCL_LIES_FROM:-1}
last=$((seed + ${VOCL_LIES:-12}))
while [ $seed -lt $last ]; do
    lied_to $seed VOCL_SHARE=$((seed % 2))
    seed=$((seed + 1))
done
