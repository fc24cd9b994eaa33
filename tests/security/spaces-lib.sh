# Two hosts for the tests of strangers, after lib.sh: network namespaces $near and $far with a cable between them.
#
#     make_spaces NAME NET      $near has NET.1, $far NET.2 and NET.3
#     remove_spaces             also ends the processes in them
[ "$(id -u)" = 0 ] || skip "only root can be two users and two hosts"

make_spaces()
{
    near=vocl-$1-near-$$ far=vocl-$1-far-$$
    "$top_srcdir/tests/net/namespace" $near 2> /dev/null && "$top_srcdir/tests/net/namespace" $far || skip "no network namespaces"
    ip link add near netns $near type veth peer name far netns $far || skip "no veth"
    ip -n $near address add $2.1/24 dev near
    for address in 2 3; do ip -n $far address add $2.$address/24 dev far; done
    for space in $near $far; do ip -n $space link set lo up; done
    ip -n $near link set near up
    ip -n $far link set far up
}

remove_spaces()
{
    for space in $near $far; do
        ip netns pids $space 2> /dev/null | xargs -r kill -9 2> /dev/null
        ip netns delete $space 2> /dev/null
    done
}
