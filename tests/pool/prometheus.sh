#!/bin/sh
# Prometheus itself scrapes a pool of three daemons; promtool accepts the metrics and the rules, and each alert is
# raised when it should be; the metrics that the Grafana dashboard queries exist.
. "$(dirname "$0")/one-lib.sh"
need prometheus prometheus
need promtool prometheus
need curl curl
curl() { env -u LD_PRELOAD curl "$@"; } # as pkill in lib.sh
need python3 python3
rules=$top_srcdir/etc/prometheus
cp "$rules/vocl-rules.yml" "$top_srcdir/tests/pool/prometheus-rules.yml" "$scratch"
(cd "$scratch" && promtool check rules vocl-rules.yml > rules.out 2>&1 && promtool test rules prometheus-rules.yml >> rules.out 2>&1) ||
    fail "the rules: $(cat "$scratch/rules.out")"
(cd "$rules" && promtool check config prometheus.yml) > "$scratch/out" 2>&1 || fail "the configuration: $(cat "$scratch/out")"

# three daemons; the third, and Prometheus, at addresses of their own
make_pool one "http = \"127.0.0.1:$((port + 1))\";"
add_daemon two "http = \"127.0.0.1:$((port + 4))\";"
"$VOCL_LIBEXECDIR/vocl-proxy" --make-key=three >> "$scratch/keys"
echo "node three 127.0.0.2:$port" >> "$scratch/pool"
sed "s/127.0.0.1:/127.0.0.2:/" "$scratch/conf" > "$scratch/conf.three"
setting "$scratch/conf.three" name '"three"'
setting "$scratch/conf.three" state-directory "\"$scratch/state.three\""
start_daemon
start_other two
one=$daemon two=$other
start_other three
three=$other
other="$two $three"
metrics=http://127.0.0.1:$((port + 1))/metrics
three_up()
{
    [ "$(curl -s "$metrics?pool=1" | grep -c '^vocl_node_up.* 1$')" = 3 ]
}
wait_until three_up || fail "no pool of three: $(curl -s "$metrics?pool=1")"
VOCL_POOL=$scratch/pool vocl run -- "$top_builddir/tests/parity/vector_add" > /dev/null 2> "$scratch/err" || fail "$(cat "$scratch/err")"
VOCL_POOL=$scratch/pool vocl run --count 3 -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/err" &
program=$!
trap 'kill -9 $program $prometheus 2> /dev/null; end_daemons' EXIT
for what in '' '?pool=1'; do
    curl -s "$metrics$what" > "$scratch/metrics"
    promtool check metrics < "$scratch/metrics" > "$scratch/out" 2>&1 || fail "metrics$what: $(cat "$scratch/out")"
    [ ! -s "$scratch/out" ] || fail "metrics$what: $(cat "$scratch/out")"
done

cat > "$scratch/prometheus.yml" <<END
global:
  scrape_interval: 1s
  evaluation_interval: 1s
rule_files: [ $scratch/vocl-rules.yml ]
scrape_configs:
  - job_name: vocl
    http_sd_configs: # each lists all
      - url: http://127.0.0.1:$((port + 1))/sd
        refresh_interval: 1s
      - url: http://127.0.0.1:$((port + 4))/sd
        refresh_interval: 1s
END
curl -s "http://127.0.0.1:$((port + 1))/sd" | python3 -c '
import json, sys
wanted = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert {g["labels"]["__meta_vocl_node"]: g["targets"][0] for g in json.load(sys.stdin)} == wanted' one "127.0.0.1:$((port + 1))" \
    two "127.0.0.1:$((port + 4))" three "127.0.0.2:$((port + 1))" || fail "the targets: $(curl -s "http://127.0.0.1:$((port + 1))/sd")"
at=127.0.0.3:$port
env -u LD_PRELOAD prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" --web.listen-address="$at" \
    > "$scratch/prometheus.out" 2>&1 &
prometheus=$!
# value QUERY: prints Prometheus's answer, or "none"
value()
{
    curl -s -G "http://$at/api/v1/query" --data-urlencode "query=$1" | python3 -c '
import json, sys
answer = json.load(sys.stdin)
assert answer["status"] == "success", answer
result = answer["data"]["result"]
print(float(result[0]["value"][1]) if result else "none")'
}
# is VALUE QUERY: whether that is the answer
is()
{
    [ "$(value "$2" 2> /dev/null)" = "$1" ]
}
wait_until is 3.0 'count(up{job="vocl"} == 1)' || fail "not three: $(cat "$scratch/prometheus.out"; value up)"
wait_until is 3.0 'sum(vocl_node_sessions)' || fail "sessions: $(value 'sum(vocl_node_sessions)'; cat "$scratch/err")"
is 3.0 'count(vocl_session_age_seconds{slot=~"[0-9]+"})' || fail "sessions by slot: $(curl -s "$metrics")"
is 3.0 'count(vocl_device_busy_ratio)' || fail "devices"
is 1.0 'sum(vocl_session_duration_seconds_count)' || fail "how long sessions were: $(value 'sum(vocl_session_duration_seconds_count)')"
launches()
{
    value 'sum(vocl_launches_total)' | grep -q '^[1-9]'
}
wait_until launches || fail "launches: $(curl -s "$metrics")"
# The dashboard's queries have results.
python3 - "$rules/grafana-dashboard.json" > "$scratch/queries" << 'END' || fail "the dashboard"
import json, sys
dashboard = json.load(open(sys.argv[1]))
assert dashboard["title"] and dashboard["panels"]
for panel in dashboard["panels"]:
    for target in panel["targets"]:
        print(target["expr"].replace("$__rate_interval", "5s").replace("$node", ".*").replace("[5m]", "[5s]").replace("[1h]", "[5s]"))
END
some()
{
    some_value=$(value "$1" 2> "$scratch/err") && [ "$some_value" != none ]
}
while read -r query; do
    wait_until some "$query" || fail "nothing for: $query $(cat "$scratch/err")" # rates are of two samples
done < "$scratch/queries"
# Labels contain no names of sessions, users or programs: there would be more and more of them.
curl -s "$metrics" | grep -E '(user|program|session)=' && fail "labels without end"

kill -9 $two
wait_until is 1.0 'count(up{job="vocl"} == 0)' || fail "the loss of one: $(value up)"
# pending ALERT: whether Prometheus has that alert
pending()
{
    curl -s "http://$at/api/v1/alerts" | grep -q "$1"
}
wait_until pending VoclDaemonDown || fail "no alert: $(curl -s "http://$at/api/v1/alerts")"
wait_until is 1.0 'max by (node) (vocl_node_lost{node="two",reason="unreachable"})' || fail "lost to the others: $(curl -s "$metrics")"
wait_until pending VoclNodeLost || fail "no alert: $(curl -s "http://$at/api/v1/alerts")"
pending VoclNodeCutOff && fail "a node that reaches another one is cut off"
kill -9 $three
wait_until pending VoclNodeCutOff || fail "no alert: $(curl -s "http://$at/api/v1/alerts")"
is 3.0 'count(up{job="vocl"})' || fail "lost nodes are no targets any more: $(value up)"
exit 0
