#!/bin/sh
# The daemon's HTTP interface: metrics, status, and the page as a browser shows it.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
need curl curl
curl() { env -u LD_PRELOAD curl "$@"; } # as pkill in lib.sh
make_pool here "http = \"127.0.0.1:$((port + 1))\";"
echo "node there 127.0.0.1:1" >> "$scratch/pool"
start_daemon
url=http://127.0.0.1:$((port + 1))

# A name with characters that HTML must escape is shown as it is.
cp "$top_builddir/tests/pool/burn" "$scratch/<b>burn"
VOCL_POOL=$scratch/pool vocl run -- "$scratch/<b>burn" 0.5 "$scratch/enough" > /dev/null 2> "$scratch/err" &
program=$!
runs()
{
    curl -s "$url/metrics" | grep -q '^vocl_node_sessions{node="here"} 1$'
}
wait_until runs || fail "no session: $(cat "$scratch/err" "$scratch/log")"
launched()
{
    [ "$(curl -s "$url/metrics" | awk '$1 == "vocl_launches_total" { print $2 }')" -gt 0 ]
}
wait_until launched || fail "no launches: $(curl -s "$url/metrics")"

curl -s "$url/metrics" > "$scratch/metrics"
grep 'node="there"' "$scratch/metrics" | grep -v '^vocl_node_lost' && fail "metrics of another node, which it tells itself"
grep -q '^vocl_node_lost{node="there",reason="unreachable"} 1$' "$scratch/metrics" || fail "that the other node is lost: $(cat "$scratch/metrics")"
curl -s "$url/metrics?pool=1" > "$scratch/metrics"
for line in 'vocl_node_up{node="here"} 1' 'vocl_node_up{node="there"} 0' 'vocl_sessions_total 1' 'vocl_queue_requests 0'; do
    grep -qxF "$line" "$scratch/metrics" || fail "metrics lack $line: $(cat "$scratch/metrics")"
done
grep -q '^vocl_device_memory_bytes{node="here",device="0",name="..*"} [0-9]' "$scratch/metrics" || fail "no device's memory"
grep -v '^# \|^[a-z_]*\({[a-z]*="[^"]*"\(,[a-z]*="[^"]*"\)*}\)\? [-+0-9.e]*$' "$scratch/metrics" && fail "no metrics' lines"
curl -s "$url/status.json" | python3 -c '
import json, sys
status = json.load(sys.stdin)
node = status["nodes"][0]
assert node["name"] == "here" and node["state"] == "up" and len(node["devices"]) == 1, node
assert status["nodes"][1]["state"] == "lost", status
assert node["sessions"][0]["program"] == "<b>burn" and node["sessions"][0]["state"] == "running", node
' || fail "status.json: $(curl -s "$url/status.json")"
# the history: only what is newer than the given time, and none without a time
samples()
{
    curl -s "$url/status.json$1" | python3 -c 'import json, sys; print(len(json.load(sys.stdin).get("history", "none")))'
}
some_samples()
{
    [ "$(samples '?since=0')" -ge 2 ]
}
wait_until some_samples || fail "no history"
[ "$(samples '')" = 4 ] || fail "a history that nobody asked for"
time=$(curl -s "$url/status.json?since=0" | python3 -c 'import json, sys; print(json.load(sys.stdin)["history"][0]["time"])')
[ "$(samples "?since=$time")" -lt "$(samples '?since=0')" ] || fail "the history is whole each time"
curl -s "$url/status.json?since=0" | grep -q '"sessions":[01],"queue":0,"loads":{"here 0":' || fail "loads of nobody: $(curl -s "$url/status.json?since=0")"

# the targets for Prometheus: the node that was never reached at this one's port
curl -s "$url/sd" | python3 -c '
import json, sys
groups = json.load(sys.stdin)
assert groups == [{"targets": [sys.argv[1]], "labels": {"__meta_vocl_node": node}} for node in ("here", "there")], groups
' "127.0.0.1:$((port + 1))" || fail "targets: $(curl -s "$url/sd")"

[ "$(curl -s -o /dev/null -w '%{http_code}' "$url/none")" = 404 ] || fail "a page that is none"
[ "$(curl -s -o /dev/null -w '%{http_code}' -X POST -d x "$url/")" = 405 ] || fail "writing"
head -c 100000 /dev/zero | tr '\0' 'a' | curl -s -o /dev/null -H @- "$url/" # what is too long is refused, somehow
curl -s "$url/" | grep -i 'https\?://' | grep -v 'www.w3.org/2000/svg' && fail "the page needs something from outside"

if command -v chromium > /dev/null; then
    env -u LD_PRELOAD chromium --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/chromium" --virtual-time-budget=4000 \
        --dump-dom "$url/" > "$scratch/page" 2> "$scratch/err"
    for text in '1 of 2 nodes up, 1 sessions' '>here<' '>lost<' '&lt;b&gt;burn' '>running<' 'Nobody waits.' '60 min</text>' '100 %</text>' '<polyline ' '</svg>here 0: ' '0 %</b>' \
            '>here 0: [^<]*</title></polyline>' '</svg>sessions<' '<title>waiting</title>'; do
        grep -q -- "$text" "$scratch/page" || fail "the page lacks $text: $(cat "$scratch/page" "$scratch/err")"
    done
    grep -q "refused connection at 127.0.0.1:1<" "$scratch/page" || fail "why a node is lost is not on the page: $(cat "$scratch/page")"

    # On a telephone, the load of a device is visible without scrolling, and each device has one line.
    curl -s "$url/" > "$scratch/index.html"
    curl -s "$url/status.json?since=0" > "$scratch/status.json"
    python3 "$top_srcdir/tests/pool/narrow.py" "$scratch/index.html" "$scratch/status.json" > "$scratch/narrow.port" &
    other=$! # killed when the test ends
    wait_until test -s "$scratch/narrow.port" || fail "nobody serves the page"
    for width in 420 1200; do
        env -u LD_PRELOAD chromium --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/chromium" --window-size=$width,900 \
            --hide-scrollbars --virtual-time-budget=6000 --dump-dom "http://127.0.0.1:$(cat "$scratch/narrow.port")/" > "$scratch/page" 2> "$scratch/err"
        python3 - "$scratch/page" $width <<'PY' || fail "$width pixels: $(grep -o 'data-measured="[^"]*"' "$scratch/page")"
import html, json, re, sys
found = json.loads(html.unescape(re.search(r'data-measured="([^"]*)"', open(sys.argv[1]).read()).group(1)))
assert found["rows"] == 3, found # chromium has windows of 500 and more
assert found["right"] <= int(sys.argv[2]) and found["page"] <= found["width"], found
assert found["height"] < 2 * found["line"], found
PY
    done
    kill $other
    session=$(curl -s "$url/status.json" | python3 -c 'import json, sys; print(json.load(sys.stdin)["nodes"][0]["sessions"][0]["id"])')
    if VOCL_POOL=$scratch/pool vocl pool suspend "$session" 2> "$scratch/asked"; then
        env -u LD_PRELOAD chromium --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/chromium" \
            --virtual-time-budget=4000 --dump-dom "$url/" > "$scratch/page" 2> "$scratch/err"
        grep -q '>suspended<' "$scratch/page" || fail "what is suspended is not on the page: $(cat "$scratch/page")"
    else
        grep -q 'vocl-tls.so' "$scratch/asked" || fail "it is not suspended: $(cat "$scratch/asked" "$scratch/log")"
    fi
else
    echo "no chromium: the page was not looked at"
fi
kill $program

# another address after the configuration is read again
url=http://[::1]:$((port + 2))
sed -i "s/^http = .*/http = \"[::1]:$((port + 2))\";/" "$scratch/conf"
kill -HUP $daemon
answers()
{
    curl -s -g "$url/metrics" | grep -q '^vocl_node_up'
}
if [ -e /proc/net/if_inet6 ]; then
    wait_until answers || fail "http at its new address: $(cat "$scratch/log")"
    curl -s "http://127.0.0.1:$((port + 1))/metrics" > /dev/null && fail "http at its old address"
fi
kill $daemon
wait $daemon || fail "the daemon ends with $?"
exit 0
