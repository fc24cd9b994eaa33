#!/bin/sh
# vocl-kubernetes against a test kubelet (kubelet.py): containers get devices of a pool, by exactly the environment and
# the mounts that the plugin answers; they keep them when the plugin, the kubelet or the daemon is restarted, and lose
# them with their pod. The environment of a container opens its own hold and nothing else.
. "$(dirname "$0")/one-lib.sh"
need_foreign_programs
plugin=$VOCL_LIBEXECDIR/vocl-kubernetes
[ -x "$plugin" ] || skip "VOCL was built without its plugin for Kubernetes (libgrpc-dev, libprotobuf-c-dev, protobuf-c-compiler)"
need unshare util-linux
for python in python3 /usr/bin/python3; do
    "$python" -c 'import grpc, google.protobuf' 2> /dev/null && break
    python=
done
[ -n "$python" ] || skip "no gRPC for Python (package python3-grpcio)"
protoc=$(command -v protoc-c || command -v protoc) || skip "no protoc-c (package protobuf-c-compiler)"
unshare -rm true 2> /dev/null || skip "no mount namespaces"

make_pool one 'network = "tls";' 'sessions-per-user = 0;'
setting "$scratch/conf" environment "[ \"POCL_DEVICES=pthread pthread pthread\", \"POCL_CACHE_DIR=$POCL_CACHE_DIR\" ]"
start_daemon
folder=$scratch/kubelet
mkdir "$folder" "$scratch/inside"
"$protoc" --descriptor_set_out="$scratch/descriptors" --proto_path="$top_srcdir/proxy/kubernetes" \
    deviceplugin.proto podresources.proto || fail "the interface cannot be compiled"
"$python" "$top_srcdir/tests/pool/kubelet.py" serve "$folder" "$scratch/descriptors" > "$scratch/kubelet.log" 2>&1 &
kubelet=$!
plugin_pid=
end_daemons() # which start_daemon has called at the end
{
    kill -9 $kubelet $plugin_pid $daemon 2> /dev/null
    rm -rf "$scratch"
}
kubelet()
{
    "$python" "$top_srcdir/tests/pool/kubelet.py" ask "$folder" "$@"
}
wait_until test -S "$folder/control" || fail "the test kubelet does not start: $(cat "$scratch/kubelet.log")"

# VOCL as a pod sees it: one folder, elsewhere than where it was built
bundle=$scratch/bundle
mkdir -p "$bundle/lib" "$bundle/libexec/vocl"
cp -L "$VOCL_LIBEXECDIR/$(basename "$(cat "$VOCL_LIBEXECDIR/vendors/vocl.icd")")" "$bundle/lib"
for file in vocl-join vocl-launcher vocl-proxy vocl-auth-key.so vocl-tls.so vocl-pack.so; do
    [ ! -e "$VOCL_LIBEXECDIR/$file" ] || "$top_builddir/libtool" --mode=execute cp -L "$VOCL_LIBEXECDIR/$file" "$bundle/libexec/vocl" ||
        fail "no $file"
done
echo test > "$bundle/vocl-bundle"
cp "$top_builddir/examples/vector_add" "$scratch/vector_add"

start_plugin()
{
    "$plugin" --pool "$scratch/pool" --bundle "$bundle:$scratch/inside" --env "VOCL_START_TIMEOUT=$VOCL_START_TIMEOUT" \
        --kubelet "$folder" --pod-resources "$folder/pods.sock" --state "$scratch/claims" --poll 1 --grace 1 --wait 1 "$@" \
        2>> "$scratch/plugin.log" &
    plugin_pid=$!
}
logs()
{
    echo "$1; $(tail -n 15 "$scratch/plugin.log") $(tail -n 5 "$scratch/kubelet.log" "$scratch/log")"
}
# offers HEALTHY UNHEALTHY: so many devices, in the end
are_offered()
{
    [ "$(kubelet devices)" = "$1 $2" ]
}
offers()
{
    wait_until are_offered "$@" || fail "$(logs "not $1 and $2 devices, but $(kubelet devices)")"
}
# allocate POD CONTAINER N: the kubelet allocates, and $scratch/POD.CONTAINER has the answer
allocate()
{
    kubelet allocate "$@" > "$scratch/$1.${2%%=*}" 2>&1
}
given()
{
    sed -n "s/^env $2=//p" "$scratch/$1"
}
# in_container POD.CONTAINER COMMAND...: runs it with the container's environment and mounts, and the sanitizer
in_container()
{
    in_given=$scratch/$1
    shift
    {
        sed -n -e "s,^env LD_PRELOAD=,&${LD_PRELOAD:+$LD_PRELOAD:}," -e 's/^env //p' "$in_given"
        [ -z "$LD_PRELOAD" ] || printf '%s\n' "LD_PRELOAD=$LD_PRELOAD" "ASAN_OPTIONS=$ASAN_OPTIONS" # if it is not given
    } > "$scratch/variables"
    unshare -rm sh -c '
        variables=$1 given=$2
        shift 2
        sed -n "s/^mount //p" "$given" | { while read -r host inside; do mount --bind "$host" "$inside" || exit; done; } || exit
        set -- PATH=/usr/bin:/bin "$@"
        while read -r variable; do set -- "$variable" "$@"; done < "$variables"
        exec env -i "$@"' sh "$scratch/variables" "$in_given" "$@"
}
works()
{
    in_container "$1" "$scratch/vector_add" > "$scratch/out" 2> "$scratch/err" || fail "$(logs "$2: $(cat "$scratch/out" "$scratch/err")")"
    grep -q ', on ' "$scratch/out" || fail "$2: not through VOCL: $(cat "$scratch/out")"
}
# seen POD.CONTAINER [VARIABLE=VALUE...]: how many devices a container sees, in $scratch/out
seen()
{
    seen_given=$1
    shift
    in_container "$seen_given" "VOCL_LIBEXECDIR=$VOCL_LIBEXECDIR" "$@" "$VOCL_LIBEXECDIR/vocl" devices > "$scratch/out" 2>&1
    grep -c ' CPU ' "$scratch/out"
}
# holds: each hold's number of devices and name
holds()
{
    VOCL_POOL=$scratch/pool vocl pool --json sessions | "$python" -c '
import json, sys
for node in json.load(sys.stdin)["nodes"]:
    for session in node["sessions"]:
        if session["state"] == "held":
            print(len(session["devices"]), session["job"], session["id"])' | sort
}
are_held()
{
    [ "$(holds | cut -d ' ' -f 1 | tr '\n' ' ')" = "$1" ]
}
held()
{
    wait_until are_held "$1" || fail "$(logs "$2: held is $(holds)")"
}
refused()
{
    grep -q -e "$1" "$scratch/out" || fail "$2: $(cat "$scratch/out")"
}

# ---- two pods ----

start_plugin
offers 3 0
allocate a x 2 || fail "$(logs "two devices: $(cat "$scratch/a.x")")"
allocate b y 1 || fail "$(logs "one device: $(cat "$scratch/b.y")")"
held '1 2 ' "two pods"
[ "$(given a.x VOCL_POOL_COUNT)" = 2 ] && [ "$(given a.x VOCL_POOL_HOLD)" != "$(given b.y VOCL_POOL_HOLD)" ] || fail "$(cat "$scratch/a.x")"
for pod in 'a x' 'b y'; do
    kubelet start $pod > "$scratch/out" || fail "$(logs "$pod does not start: $(cat "$scratch/out")")"
done
works a.x "a container with two devices"
works b.y "a container with one device"
[ "$(seen a.x)" = 2 ] || fail "not two devices: $(cat "$scratch/out")"
VOCL_POOL=$scratch/pool vocl devices > "$scratch/out" 2>&1 && fail "another has a pod's devices: $(cat "$scratch/out")"
offers 3 0

# ---- rights of the key of a hold ----

[ "$(seen a.x VOCL_POOL_COUNT=3)" = 0 ] || fail "more devices than are held: $(cat "$scratch/out")"
refused 'only 2 of these' "more devices than are held"
[ "$(seen b.y VOCL_POOL_COUNT=2 "VOCL_POOL_HOLD=$(given a.x VOCL_POOL_HOLD)")" = 0 ] || fail "another's hold: $(cat "$scratch/out")"
refused 'only 1 of these' "another's hold"
[ "$(seen b.y VOCL_POOL_HOLD=)" = 1 ] || fail "no hold is named: $(cat "$scratch/out")"
for name in "$user" "$user/another" "$(given a.x VOCL_POOL_USER)"; do
    [ "$(seen b.y "VOCL_POOL_USER=$name")" = 0 ] || fail "as $name: $(cat "$scratch/out")"
    refused 'refuses the key' "as $name"
done
[ "$(seen b.y VOCL_POOL_USER=/)" = 0 ] && [ "$(seen b.y "VOCL_POOL_USER=$user/a_b")" = 0 ] && [ "$(seen b.y VOCL_POOL_KEY=0)" = 0 ] ||
    fail "names that are none: $(cat "$scratch/out")"
for words in 'pool status' "pool drain one" "pool kill $(holds | sed -n 's/^2 .* //p')" "run --hold -- true"; do
    in_container b.y VOCL_LIBEXECDIR="$VOCL_LIBEXECDIR" "$VOCL_LIBEXECDIR/vocl" $words > "$scratch/out" 2>&1 && fail "$words: $(cat "$scratch/out")"
    refused 'the key of a hold is for sessions in that hold alone\|only 1 of these\|no such reservation' "$words"
done
held '1 2 ' "after those attempts"

# ---- questions that make no sense ----

is_refused()
{
    is_refused_why=$1
    shift
    kubelet "$@" > "$scratch/out" 2>&1 && fail "taken: $*"
    refused "$is_refused_why" "$*"
}
is_refused 'INVALID_ARGUMENT: VOCL: a device was not offered' allocate c z=vocl-3 1
is_refused 'INVALID_ARGUMENT: VOCL: a device was not offered' allocate c z=vocl-00 1
is_refused 'INVALID_ARGUMENT: VOCL: a device was not offered' allocate c z=vocl--1 1
is_refused 'INVALID_ARGUMENT: VOCL: a device is named twice' allocate c z=vocl-2,vocl-2 1
is_refused 'INVALID_ARGUMENT: VOCL: 1 to 16 containers' raw Allocate ''
is_refused 'INVALID_ARGUMENT: this is not such a message' raw Allocate ffffffff
is_refused 'FAILED_PRECONDITION: VOCL: a container has' raw PreStartContainer ''
is_refused 'UNIMPLEMENTED' raw GetPreferredAllocation ''
held '1 2 ' "after nonsense"

# ---- a pod ends ----

kubelet end b > /dev/null
held '2 ' "a pod is over"
[ "$(seen b.y)" = 0 ] || fail "a pod that is over has devices: $(cat "$scratch/out")"
refused 'no such hold' "a pod that is over"
# Another client of the pool has the device: it is not healthy, and a container that gets it all the same fails.
VOCL_POOL=$scratch/pool vocl run --hold --exclusive -- sh -c "until [ -e $scratch/enough ]; do sleep 0.1; done" 2> "$scratch/err" &
other_client=$!
offers 2 1
is_refused 'RESOURCE_EXHAUSTED: VOCL: .*taken' allocate c z=vocl-2 1
touch "$scratch/enough"
wait $other_client || fail "another client: $(cat "$scratch/err")"
offers 3 0
held '2 ' "after another client"

# ---- restarts ----

same()
{
    held '2 ' "$1"
    [ "$(holds)" = "$before" ] || fail "$(logs "$1: held was $before, and is $(holds)")"
    works a.x "$1"
}
before=$(holds)
times=$(kubelet registrations)
kubelet restart > /dev/null
registered()
{
    [ "$(kubelet registrations)" -gt "$times" ]
}
wait_until registered || fail "$(logs "not registered again")"
offers 3 0
same "after the kubelet's restart"

kill -9 $plugin_pid
wait $plugin_pid 2> /dev/null
held '2 ' "without the plugin"
start_plugin
offers 3 0
same "after the plugin's restart"
kubelet start a x > "$scratch/out" || fail "a container is started again: $(cat "$scratch/out")"

kill $daemon
wait $daemon
offers 2 1 # a pod keeps its devices
start_daemon
offers 3 0
same "after the daemon's restart"

# An administrator ends the hold: the pod gets devices again, by its old environment.
VOCL_POOL=$scratch/pool vocl pool kill "$(holds | cut -d ' ' -f 3)" > /dev/null
changed()
{
    are_held '2 ' && [ "$(holds)" != "$before" ]
}
wait_until changed || fail "$(logs "not held again: $(holds)")"
works a.x "after the end of its hold"

# ---- an init container, and a container after it ----

allocate d init=vocl-2 1 || fail "$(cat "$scratch/d.init")"
allocate d app=vocl-2 1 || fail "$(cat "$scratch/d.app")"
[ "$(given d.init VOCL_POOL_KEY)" = "$(given d.app VOCL_POOL_KEY)" ] || fail "an init container has another hold"
kubelet start d init > /dev/null && kubelet start d app > /dev/null || fail "$(logs "an init container")"
works d.app "after an init container"
# The kubelet gives the device to another pod, before it says that this one is over.
allocate e z=vocl-2 1 || fail "$(cat "$scratch/e.z")"
[ "$(given d.app VOCL_POOL_KEY)" != "$(given e.z VOCL_POOL_KEY)" ] || fail "two pods have one hold"
held '1 2 ' "the device of another pod"
[ "$(seen d.app)" = 0 ] || fail "the pod before has the device still: $(cat "$scratch/out")"
works e.z "the pod that has the device now"
kubelet end e > /dev/null
held '2 ' "the last pod but one is over"
# One of two devices: the pod that has the other one keeps its hold.
allocate f z=vocl-0 1 || fail "$(logs "$(cat "$scratch/f.z")")"
held '1 2 ' "a device of a pod that has another"
works a.x "a pod whose place another one has got"
kubelet end f > /dev/null
kubelet end d > /dev/null
held '2 ' "pods are over"

# ---- places on shared devices, and programs that find VOCL by the OpenCL loader ----

kill $plugin_pid
wait $plugin_pid || fail "$(logs "the plugin ends with $?")"
mkdir "$bundle/vendors"
echo "$scratch/inside/lib/$(ls "$bundle/lib")" > "$bundle/vendors/vocl.icd"
start_plugin --places 2 --interpose icd
offers 3 3 # a place of the pod's two, and two places on the third device
for pod in g h; do
    allocate $pod z 1 || fail "$(logs "$pod: $(cat "$scratch/$pod.z")")"
    [ -z "$(given $pod.z LD_PRELOAD)" ] || fail "preloaded: $(cat "$scratch/$pod.z")"
done
held '1 1 2 ' "two pods on one device"
works g.z "by the loader"
works h.z "beside another"
kill $plugin_pid
wait $plugin_pid || fail "$(logs "the plugin ends with $?")"
# half of a file, of a host that lost its power: the claims are lost, and the holds remain for a while
echo '{ "claims": [' > "$scratch/claims"
start_plugin
offers 0 3
[ -s "$scratch/claims.bad" ] || fail "$(logs "half a file")"
kill $plugin_pid
wait $plugin_pid || fail "$(logs "the plugin ends with $?")"
kill -0 $kubelet || fail "the test kubelet: $(cat "$scratch/kubelet.log")"
! grep Sanitizer "$scratch/plugin.log" "$scratch/log" || fail "the sanitizer found something"

# ---- options ----

bad()
{
    bad_why=$1
    shift
    "$plugin" "$@" > "$scratch/out" 2>&1
    [ $? -eq 2 ] || fail "$*: $(cat "$scratch/out")"
    refused "$bad_why" "$*"
}
printf 'auth munge\nnode one 127.0.0.1:1\n' > "$scratch/munge"
bad 'containers need one with auth key' --pool "$scratch/munge"
bad '--bundle takes' --bundle here
bad '--places takes a number from 1' --places 0
bad 'is expected' more
"$plugin" --help | grep -q -e '--interpose' || fail "no help"
exit 0
