#!/bin/sh
# Daemons that announce themselves (announce = true;) are listed by `vocl devices --discover` on another host, by
# avahi-daemon and D-Bus in two network namespaces; others are not. Records that are no line of a pool file are left out.
# avahi-daemon may start after VOCL's daemon, and again.
. "$(dirname "$0")/one-lib.sh"
[ -x "$VOCL_LIBEXECDIR/vocl-discover" ] || skip "VOCL was built without Avahi"
need avahi-daemon avahi-daemon
need dbus-daemon dbus
need ip iproute2
need python3 python3
[ "$(id -u)" = 0 ] || skip "needs root: namespaces"
need_foreign_programs
base=vd$$

cleanup_discover()
{
    for host in near far; do
        ip netns pids $base-$host 2> /dev/null | xargs -r kill -9 2> /dev/null
        ip netns delete $base-$host 2> /dev/null
    done
    end_daemons
}
trap cleanup_discover EXIT
for host in near far; do
    "$top_srcdir/tests/net/namespace" $base-$host 2> "$scratch/err" || skip "no network namespaces: $(cat "$scratch/err")"
done
ip link add eth0 netns $base-near type veth peer name eth0 netns $base-far 2> "$scratch/err" || skip "no veth: $(cat "$scratch/err")"
number=0
for host in near far; do
    number=$((number + 1))
    ip -n $base-$host address add 10.95.0.$number/24 dev eth0
    ip -n $base-$host link set lo up
    ip -n $base-$host link set eth0 up multicast on
    mkdir "$scratch/$host"
done

# on HOST COMMAND...: with that host's name and D-Bus. Each host has a D-Bus of its own, as another machine has.
cat > "$scratch/on" <<END
#!/bin/sh
host=\$1
shift
exec ip netns exec $base-\$host unshare --uts sh -c 'hostname "\$0" && exec "\$@"' "\$host" \
    env DBUS_SYSTEM_BUS_ADDRESS="unix:path=$scratch/\$host/bus" "\$@"
END
chmod +x "$scratch/on"
on="$scratch/on"
cat > "$scratch/bus.conf" <<END
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=BUS</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/> <allow own="*"/> <allow send_type="method_call"/> <allow send_type="signal"/>
    <allow send_requested_reply="true"/> <allow receive_type="method_call"/> <allow receive_type="signal"/>
    <allow receive_requested_reply="true"/> <allow eavesdrop="true"/> <allow send_destination="*"/>
  </policy>
</busconfig>
END
cat > "$scratch/avahi.conf" <<END
[server]
use-ipv4=yes
use-ipv6=no
allow-interfaces=eth0
[wide-area]
enable-wide-area=no
[publish]
publish-hinfo=no
publish-workstation=no
END
# avahi HOST: starts its D-Bus, if need be, and avahi-daemon, with /run and a folder of services of its own
avahi()
{
    avahi_host=$1
    if [ ! -S "$scratch/$1/bus" ]; then
        sed "s,BUS,$scratch/$1/bus," "$scratch/bus.conf" > "$scratch/$1/bus.conf"
        $on "$1" dbus-daemon --config-file="$scratch/$1/bus.conf" --nofork --nopidfile > "$scratch/$1/bus.log" 2>&1 &
        wait_until test -S "$scratch/$1/bus" || skip "no D-Bus here: $(cat "$scratch/$1/bus.log")"
    fi
    mkdir -p "$scratch/$1/services"
    $on "$1" unshare --mount sh -c 'mount -t tmpfs none /run && mount --bind "$0" /etc/avahi/services && exec "$@"' \
        "$scratch/$1/services" avahi-daemon --no-drop-root --no-chroot --no-rlimits -f "$scratch/avahi.conf" \
        > "$scratch/$1/avahi.log" 2>&1 &
    eval "avahi_$1=$!"
    avahi_started()
    {
        grep -q 'Server startup complete' "$scratch/$avahi_host/avahi.log"
    }
    wait_until avahi_started || skip "no avahi-daemon here: $(cat "$scratch/$1/avahi.log")"
}
# discovered: what `vocl devices --discover` prints on the other host, without comments
discovered()
{
    $on near vocl devices --discover 2> "$scratch/err" | grep -v '^#'
}
lists()
{
    discovered > "$scratch/out"
    grep -q "$1" "$scratch/out"
}
lists_not()
{
    ! lists "$1"
}

make_pool one 'announce = true;'
setting "$scratch/conf" listen "\"0.0.0.0:$port\"" # the pool file has the address
sed -i "s/127.0.0.1/10.95.0.2/" "$scratch/pool"
start_at="$on far"
start_daemon
trap cleanup_discover EXIT
wait_until grep -q 'announce:' "$scratch/log" || fail "no word that Avahi is missing: $(cat "$scratch/log")"
avahi near
$on near vocl devices --discover > "$scratch/out" 2>&1 && fail "something is discovered: $(cat "$scratch/out")"
grep -q 'announces itself' "$scratch/out" || fail "$(cat "$scratch/out")"

avahi far
wait_until lists "^node one 10\.95\.0\.2:$port  *# [0-9]* devices, auth key\$" ||
    fail "not discovered: $(cat "$scratch/out" "$scratch/err" "$scratch/log")"
$on near vocl devices --discover --json | python3 -c '
import json, sys
[one] = json.load(sys.stdin)
assert one["node"] == "one" and one["address"] == sys.argv[1] and one["auth"] == "key" and one["devices"] > 0, one' \
    "10.95.0.2:$port" || fail "JSON: $($on near vocl devices --discover --json)"

# A restart of avahi-daemon; records of others.
kill $avahi_far
wait $avahi_far
cat > "$scratch/far/services/false.service" <<END
<?xml version="1.0" standalone='no'?><!DOCTYPE service-group SYSTEM "avahi-service.dtd">
<service-group><name>false</name>
  <service><type>_vocl._tcp</type><port>1</port>
    <txt-record>node=x 10.9.9.9:1&#10;auth none</txt-record><txt-record>address=10.9.9.9:1</txt-record></service>
  <service><type>_vocl._tcp</type><subtype>_a._sub._vocl._tcp</subtype><port>2</port><txt-record>node=y</txt-record></service>
</service-group>
END
# service NODE ADDRESS: another daemon that is announced
service()
{
    cat > "$scratch/far/services/$1.service" <<END
<?xml version="1.0" standalone='no'?><!DOCTYPE service-group SYSTEM "avahi-service.dtd">
<service-group><name>$1</name>
  <service><type>_vocl._tcp</type><port>${2##*:}</port>
    <txt-record>node=$1</txt-record><txt-record>address=$2</txt-record></service>
</service-group>
END
}
service other 10.95.0.9:7801
service any 0.0.0.0:7802
avahi far
all()
{
    lists "^node one 10\.95\.0\.2:$port " && grep -q '^node other 10\.95\.0\.9:7801 ' "$scratch/out" &&
        grep -q '^node any 10\.95\.0\.2:7802 ' "$scratch/out"
}
wait_until all || fail "not announced again: $(cat "$scratch/out" "$scratch/err" "$scratch/log")"
[ "$(grep -c . "$scratch/out")" = 3 ] || fail "false records: $(cat "$scratch/out")"

# Off by default, and when the daemon has ended.
setting "$scratch/conf" announce
kill -HUP $daemon
wait_until lists_not "^node one " || fail "it is still announced: $(cat "$scratch/out" "$scratch/log")"
exit 0
