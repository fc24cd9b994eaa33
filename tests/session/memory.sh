#!/bin/sh
# The memory that the program maps to share it with workers costs the program nothing: under valgrind, ulimit -v and
# mlockall, and in core dumps.
. "$(dirname "$0")/../lib.sh"
need python3 python3

[ -z "$SANITIZER" ] || [ "$SANITIZER" = no ] || skip "the sanitizers map terabytes themselves"
parity=$top_builddir/tests/parity
program=$top_builddir/tests/session/memory

# ulimit -v limits shared memory, too.
"$parity/svm" > "$scratch/native" 2> /dev/null || fail "svm natively"
for kilobytes in 2000000 8000000; do
    (ulimit -v $kilobytes && exec vocl run -- "$parity/svm") > "$scratch/out" 2> "$scratch/err" ||
        fail "ulimit -v $kilobytes: $(cat "$scratch/out" "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "ulimit -v $kilobytes: something else is printed"
done

# mlockall: root has no limit; other users share their limit with the program itself.
if [ "$(id -u)" -eq 0 ]; then
    vocl run -- "$program" locked > "$scratch/out" 2> "$scratch/err" ||
        fail "mlockall: $(cat "$scratch/out" "$scratch/err")"
    megabytes=$(sed -n 's/^1, 1, \([0-9]*\) MiB$/\1/p' "$scratch/out")
    [ -n "$megabytes" ] || fail "mlockall: $(cat "$scratch/out" "$scratch/err")"
    [ "$megabytes" -lt 1000 ] || fail "mlockall takes $megabytes MiB"
fi

# A core dump holds the program's memory, and not the buffers'.
if [ "$(cat /proc/sys/kernel/core_pattern)" = core ] && (ulimit -c unlimited) 2> /dev/null; then
    (cd "$scratch" && ulimit -c unlimited && vocl run -- "$program" core) > "$scratch/out" 2> "$scratch/err"
    core=$(ls "$scratch"/core* 2> /dev/null | head -n 1)
    [ -n "$core" ] || fail "no core: $(cat "$scratch/out" "$scratch/err")"
    [ "$(grep -ao "of the buffer's" "$core" | wc -l)" -lt 1000 ] || fail "a core of the program holds the buffers"
    [ "$(grep -ao "of the program'" "$core" | wc -l)" -ge 20000 ] || fail "a core of the program lacks memory of its own"
    rm -f "$core"
fi

# valgrind records what is mapped: its memory has a limit here, as a mapping of 64 GiB made it use all of the machine's.
command -v valgrind > /dev/null || skip "no valgrind (package valgrind)"
for name in vector_add svm host_pointer host_pointer_life; do
    "$parity/$name" > "$scratch/native" 2> /dev/null || fail "$name natively"
    # getrusage() reports the peak of children that have ended; ulimit -d protects the machine if it is too high.
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
