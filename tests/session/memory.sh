#!/bin/sh
# What the program has mapped for sharing memory with workers costs it nothing: valgrind, ulimit -v, mlockall, core dumps.
. "$(dirname "$0")/../lib.sh"

[ -z "$SANITIZER" ] || [ "$SANITIZER" = no ] || skip "the sanitizers map terabytes themselves"
parity=$top_builddir/tests/parity
program=$top_builddir/tests/session/memory

# ulimit -v: also memory that is shared.
"$parity/svm" > "$scratch/native" 2> /dev/null || fail "svm natively"
for kilobytes in 2000000 8000000; do
    (ulimit -v $kilobytes && exec vocl run -- "$parity/svm") > "$scratch/out" 2> "$scratch/err" ||
        fail "ulimit -v $kilobytes: $(cat "$scratch/out" "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "ulimit -v $kilobytes: something else is printed"
done

# mlockall: root has no limit, others share theirs with the program itself.
if [ "$(id -u)" -eq 0 ]; then
    vocl run -- "$program" locked > "$scratch/out" 2> "$scratch/err" ||
        fail "mlockall: $(cat "$scratch/out" "$scratch/err")"
    megabytes=$(sed -n 's/^1, 1, \([0-9]*\) MiB$/\1/p' "$scratch/out")
    [ -n "$megabytes" ] || fail "mlockall: $(cat "$scratch/out" "$scratch/err")"
    [ "$megabytes" -lt 1000 ] || fail "mlockall takes $megabytes MiB"
fi

# A core holds the program's memory, and not the buffers'.
if [ "$(cat /proc/sys/kernel/core_pattern)" = core ] && (ulimit -c unlimited) 2> /dev/null; then
    (cd "$scratch" && ulimit -c unlimited && vocl run -- "$program" core) > "$scratch/out" 2> "$scratch/err"
    core=$(ls "$scratch"/core* 2> /dev/null | head -n 1)
    [ -n "$core" ] || fail "no core: $(cat "$scratch/out" "$scratch/err")"
    [ "$(grep -ao "of the buffer's" "$core" | wc -l)" -lt 1000 ] || fail "a core of the program holds the buffers"
    [ "$(grep -ao "of the program'" "$core" | wc -l)" -ge 20000 ] || fail "a core of the program lacks memory of its own"
    rm -f "$core"
fi

# valgrind writes down what is mapped: it may take no more than so much, where 64 GiB took all there was.
command -v valgrind > /dev/null || skip "no valgrind (package valgrind)"
for name in vector_add svm host_pointer host_pointer_life; do
    "$parity/$name" > "$scratch/native" 2> /dev/null || fail "$name natively"
    # The system knows the most of those that have ended; a limit of data keeps the machine alive if it is too much.
    (ulimit -d 8000000; exec python3 -c '
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=file)
sys.exit(abs(status))' "$scratch/most" vocl run -- valgrind -q --log-file="$scratch/valgrind" "$parity/$name") > "$scratch/out" 2> "$scratch/err"
    status=$? most=$(cat "$scratch/most")
    [ $status = 0 ] || fail "$name under valgrind, $most KiB: status $status: $(tail -n 20 "$scratch/err" "$scratch/valgrind")"
    echo "$name under valgrind: $most KiB"
    [ $most -lt 2000000 ] || fail "$name under valgrind takes $most KiB"
    diff "$scratch/native" "$scratch/out" || fail "$name under valgrind prints something else"
done
