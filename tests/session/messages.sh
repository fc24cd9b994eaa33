#!/bin/sh
# How many commands and notes a step of a program needs that does little at a time: what is decided in the program is
# not sent. Numbers are stable where times are not.
. "$(dirname "$0")/../lib.sh"

# traced STEPS KIND [profile]: the trace of so many
traced()
{
    steps=$1 kind=$2
    shift 2
    VOCL_TRACE=1 timeout -k 10 120 vocl run -- "$top_builddir/tests/session/steps" "$kind" "$steps" "$@" \
        2> "$scratch/trace.$steps" || fail "$kind $*: status $?: $(grep -v ' 1: ' "$scratch/trace.$steps" | tail -n 5)"
}

# more PATTERN: how many lines of it there are, for each step that is more
more()
{
    few=$(grep -c "$1" "$scratch/trace.100")
    many=$(grep -c "$1" "$scratch/trace.300")
    echo $(((many - few + 100) / 200)) # rounded: what waits to be sent when a program ends is sent with it or not
}

# steps KIND SENT TOLD [profile]
steps()
{
    kind=$1 most_sent=$2 most_told=$3
    shift 3
    traced 100 "$kind" "$@"
    traced 300 "$kind" "$@"
    sent=$(more '-> 1: ') told=$(more '<- 1: ')
    echo "$kind $*: $sent commands, $told notes"
    [ "$sent" -le "$most_sent" ] && [ "$told" -le "$most_told" ] ||
        fail "more than $most_sent and $most_told: $(grep -o '\(->\|<-\) 1: [a-z_]*' "$scratch/trace.300" | sort | uniq -c)"
}

# A launch, what asks to be told of its end, and the release of the event that this needs.
steps plain 3 1
steps finish 3 1
steps events 3 1
steps chain 3 1
steps map 3 1
steps svm 3 1
steps still 0 0
