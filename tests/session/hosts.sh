#!/bin/sh
# Two hosts: the program and its workers run in network namespaces joined by veth, over TCP only. Results are the same
# as natively; a worker's death is an error in the program; nothing is left on either side.
. "$(dirname "$0")/../lib.sh"
need ip iproute2

mark=VOCL_TEST_MARK=$$
workers=1
delay=
# across COMMAND...: runs COMMAND on this host, with $workers workers on the other host
across()
{
    env "$mark" VOCL_LOG=warn "$top_srcdir/tests/net/two-hosts" ${delay:+--delay $delay} --workers $workers -- "$@"
}
across true 2> "$scratch/err"
[ $? -ne 77 ] || skip "$(cat "$scratch/err")"

for program in vector_add sgemm map_unmap buffer_ops images user_events "host_pointer no-svm" \
        host_pointer_life; do
    program=$top_builddir/tests/parity/$program
    [ -x "${program% *}" ] || continue
    $program > "$scratch/native" 2> /dev/null || fail "$program fails natively"
    across $program > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status -eq 0 ] || fail "$program: status $status: $(cat "$scratch/out" "$scratch/err")"
    cmp "$scratch/native" "$scratch/out" || fail "$program prints something else"
    wait_until none_left "$mark" || fail "left after $program: $(session_processes "$mark")"
done

workers=2
result=$(across "$top_builddir/tests/session/every_device")
[ "$result" = "2 devices" ] || fail "two workers: $result"
"$top_builddir/tests/parity/many_devices" > "$scratch/native" 2> /dev/null || fail "many_devices fails natively"
across "$top_builddir/tests/parity/many_devices" > "$scratch/out" 2> "$scratch/err" ||
    fail "many_devices: $(cat "$scratch/out" "$scratch/err")"
diff "$scratch/native" "$scratch/out" || fail "many_devices prints something else"
"$top_builddir/tests/parity/host_pointer_devices" no-svm > "$scratch/native" || fail "host_pointer_devices natively"
across "$top_builddir/tests/parity/host_pointer_devices" no-svm > "$scratch/out" 2> "$scratch/err" ||
    fail "host_pointer_devices: $(cat "$scratch/out" "$scratch/err")"
diff "$scratch/native" "$scratch/out" || fail "host_pointer_devices prints something else"

# The second worker is killed: what runs on the first one continues.
killed=
mkfifo "$scratch/say"
rm -f "$scratch/out" # or "ready" may be another's
across "$top_builddir/tests/session/survivor" < "$scratch/say" > "$scratch/out" 2> "$scratch/err" &
program=$!
exec 9> "$scratch/say"
wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/err")"
for process in $(session_processes "$mark"); do
    if [ "$(cat "/proc/$process/comm")" = vocl-proxy ] && tr '\0' '\n' < "/proc/$process/environ" | grep -q '^PMI_RANK=2$'
    then
        kill -KILL "$process" && killed=yes
    fi
done
[ -n "$killed" ] || { kill $program; fail "no second worker found"; }
echo >&9
wait $program
status=$?
[ $status -eq 0 ] || fail "after the loss of a worker: status $status: $(cat "$scratch/out" "$scratch/err")"
exec 9>&-
wait_until none_left "$mark" || fail "left after the loss of a worker: $(session_processes "$mark")"
workers=1

for round in $(seq "$(rounds 1)"); do
    rm -f "$scratch/out"
    across "$top_builddir/tests/session/sleeper" finish > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/err")"
    for process in $(session_processes "$mark"); do
        if [ "$(cat "/proc/$process/comm")" = vocl-proxy ]; then kill -KILL "$process"; fi
    done
    wait $program
    status=$?
    [ $status -eq 3 ] || fail "the worker was killed and the program got no error: status $status"
    wait_until none_left "$mark" || fail "left after the worker was killed: $(session_processes "$mark")"
done

# One MPI job of the application and a worker on the other host. Tests its end: MPI_Finalize, in which ranks may miss
# each other.
cat > "$scratch/rank" <<END
#!/bin/sh
[ "\$PMI_RANK" = 0 ] || exec "$VOCL_LIBEXECDIR/vocl-proxy" --worker
LD_PRELOAD=\${LD_PRELOAD:+\$LD_PRELOAD:}$VOCL_LIBEXECDIR/libvocl.so VOCL_JOB=mpmd VOCL_ADDRESS=10.93.0.1 exec "$top_builddir/tests/parity/vector_add"
END
chmod +x "$scratch/rank"
"$top_builddir/tests/parity/vector_add" > "$scratch/native" || fail "vector_add natively"
for round in $(seq "$(rounds 1)"); do
    env VOCL_SHARE=0 timeout -k 5 300 "$top_srcdir/tests/net/two-hosts" --mpi -- "$scratch/rank" > "$scratch/out" 2> "$scratch/err" ||
        fail "one job on two hosts, round $round: status $?: $(cat "$scratch/out" "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "one job on two hosts prints something else"
done
