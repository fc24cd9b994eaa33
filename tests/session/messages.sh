#!/bin/sh
# Counts the commands and notes that a step of a program needs that does little at a time: what is decided in the
# program is not sent. Counts are stable where times are not, except that the program has to find out which clock the
# driver's times are of, which a busy machine delays.
. "$(dirname "$0")/../lib.sh"
alone

# traced STEPS KIND [profile]: writes the trace of so many steps
traced()
{
    steps=$1 kind=$2
    shift 2
    VOCL_TRACE=1 timeout -k 10 120 vocl run -- "$top_builddir/tests/session/little_steps" "$kind" "$steps" "$@" \
        2> "$scratch/trace.$steps" || fail "$kind $*: status $?: $(grep -v ' 1: ' "$scratch/trace.$steps" | tail -n 5)"
}

# more PATTERN: prints how many matching lines each additional step adds to the trace
more()
{
    few=$(grep -c -e "$1" "$scratch/trace.100")
    many=$(grep -c -e "$1" "$scratch/trace.300")
    echo $(((many - few + 100) / 200)) # rounded: what waits to be sent when a program ends is sent with it or not
}

# steps KIND SENT TOLD [profile]: a step needs at most SENT commands and TOLD notes
steps()
{
    kind=$1 most_sent=$2 most_told=$3
    shift 3
    traced 100 "$kind" "$@"
    traced 300 "$kind" "$@"
    sent=$(more '-> 1: ') told=$(more '<- 1: ')
    echo "$kind $*: $sent commands, $told notes"
    [ "$sent" -le "$most_sent" ] && [ "$told" -le "$most_told" ] ||
        fail "more than $most_sent and $most_told: $(grep -o -e '\(->\|<-\) 1: [a-z_]*' "$scratch/trace.300" | sort | uniq -c)"
}

# A launch, a marker for the notification of its end, and the release of the marker's event; where the launch has an
# event, the program subscribes to that instead.
for profile in "" profile; do
    steps plain 3 1 $profile
    steps finish 3 1 $profile
    steps events 2 1 $profile
    steps chain 2 1 $profile
    steps map 3 1 $profile
    steps svm 3 1 $profile
    steps still 0 0 $profile
done
