#!/bin/sh
# VOCL_PORTS: the program and its workers listen at these ports alone; that none of them is free,
# and a wrong value, are errors.
. "$(dirname "$0")/../lib.sh"
need python3 python3
program=$top_builddir/tests/parity/vector_add mark=VOCL_TEST_MARK=$$
export VOCL_NETWORK=tls VOCL_ADDRESS=127.0.0.1 VOCL_RSH=$scratch/rsh
# The second worker begins when the first one was seen to listen.
cat > "$scratch/rsh" <<END
#!/bin/sh
[ "\$1" = one ] || until [ ! -e "$scratch/meet" ] || grep -q ' vocl-proxy$' "$scratch/listeners"; do sleep 0.1; done
shift
exec sh -c "\$*"
END
chmod +x "$scratch/rsh"
"$program" > "$scratch/native" || fail "natively: $?"

# run WHAT NAME=VALUE...: the program over two workers, with the TCP ports of its session in $scratch/ports
run()
{
    what=$1
    shift
    mkfifo "$scratch/end"
    env -u LD_PRELOAD "$top_srcdir/tests/security/listeners" "$mark" < "$scratch/end" > "$scratch/listeners" &
    exec 5> "$scratch/end"
    env "$mark" "$@" vocl run --hosts one,two -- "$program" > "$scratch/out" 2> "$scratch/err" 5>&-
    status=$?
    exec 5>&-
    wait
    rm "$scratch/end"
    sed -n 's/^tcp [^ ]* \([0-9]*\) .*/\1/p' "$scratch/listeners" | sort -u > "$scratch/ports"
}

touch "$scratch/meet"
run "three ports" VOCL_PORTS=47810-47812
rm "$scratch/meet"
[ $status = 0 ] && cmp "$scratch/native" "$scratch/out" || fail "$what: $status: $(cat "$scratch/err")"
[ "$(wc -l < "$scratch/ports")" -ge 2 ] || fail "$what: ports of the program and a worker: $(cat "$scratch/listeners")"
grep -vx '4781[012]' "$scratch/ports" && fail "$what: other ports"

cat > "$scratch/taken" <<END
import socket, subprocess, sys
taken = socket.create_server(("127.0.0.1", 47813))
sys.exit(subprocess.call(sys.argv[1:]))
END
run "a port that is taken" VOCL_PORTS=47813-47813 python3 "$scratch/taken"
grep -q 'no port of VOCL_PORTS is free' "$scratch/err" || fail "$what: nobody says so: $(cat "$scratch/err")"

for wrong in 1 0-5 5-4 1-65536 47810-47812, +1-2 ports; do
    run "$wrong" VOCL_PORTS=$wrong
    grep -q 'VOCL_PORTS is not FIRST-LAST' "$scratch/err" || fail "$what: $(cat "$scratch/err")"
done
exit 0
