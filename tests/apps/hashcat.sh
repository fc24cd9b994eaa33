#!/bin/sh
# hashcat finds a password through VOCL, as it does natively.
. "$(dirname "$0")/../lib.sh"
need hashcat hashcat
need_foreign_programs

mkdir "$scratch/home"
HOME=$scratch/home
export HOME
printf '%s' "remote-opencl" | md5sum | cut -d ' ' -f 1 > "$scratch/hash"
printf '%s\n' one two three remote-opencl four > "$scratch/words"

# crack COMMAND...: prints the password found
crack()
{
    "$@" hashcat --quiet --potfile-disable --force -m 0 -a 0 -O --session "vocl$$" "$scratch/hash" "$scratch/words" \
        > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status -eq 0 ] || { cat "$scratch/out" "$scratch/err"; return $status; }
    grep -o 'remote-opencl$' "$scratch/out"
}

crack > "$scratch/native" || skip "hashcat does not run natively: $(head -n 1 "$scratch/native")"
for method in preload icd; do
    crack vocl run --interpose $method -- > "$scratch/found" || fail "$method: $(cat "$scratch/found")"
    cmp "$scratch/native" "$scratch/found" || fail "$method: something else is found"
done
