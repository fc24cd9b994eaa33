#!/bin/sh
# A program whose worker lies: lies of each kind, then VOCL_LIES sessions with random lies, from seed VOCL_LIES_FROM on;
# half of them without shared memory. The program may see errors, and may wait forever, but must not crash.
export VOCL_CACHE=off # the worker is asked each time
. "$(dirname "$0")/../lib.sh"

mark=VOCL_TEST_MARK=$$
libexec=$scratch/libexec nothing=$scratch/nothing
mkdir "$libexec" "$nothing"
for file in "$top_builddir"/libexec/*; do
    ln -s "$(readlink -f "$file")" "$libexec/${file##*/}"
done
rm "$libexec/vocl-proxy"
ln -s "$top_builddir/tests/security/liar" "$libexec/vocl-proxy"

# lied_to LIE SETTING...: runs the program with a worker that tells this lie
lied_to()
{
    lie=$1
    shift
    [ "$lie" = none ] || set -- VOCL_LIE="$lie" "$@"
    env "$mark" VOCL_LIBEXECDIR="$libexec" OCL_ICD_VENDORS="$nothing" \
        VOCL_NATIVE_ICD_VENDORS="$OCL_ICD_VENDORS" MALLOC_CHECK_=3 "$@" \
        vocl run --interpose preload -- "$top_builddir/tests/security/lied_to" > "$scratch/out" 2> "$scratch/err"
    status=$?
    case $status in
    0 | 142) ;; # the program has ended, or by SIGALRM
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
# lies SEED SHARE: runs the lies of each kind, and every second seed
lies()
{
    for lie in text binary count zero twice status $(seq $1 2 $((${VOCL_LIES_FROM:-1} + ${VOCL_LIES:-$(rounds 4)} - 1))); do
        lied_to $lie VOCL_SHARE=$2
    done
}
beside lies ${VOCL_LIES_FROM:-1} 0
beside lies $((${VOCL_LIES_FROM:-1} + 1)) 1
well_beside
