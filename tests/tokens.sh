# Tokens: how many sessions of tests run at a time on this machine, of whichever build of this user. A test has one while it
# runs (in-turn), and each piece of a test that runs `beside` others has one (lib.sh). A token is a lock on a file, so that
# the system gives it back whatever becomes of its owner.
#
#     take_token [OWN]    locks descriptor 5, on the file OWN or on one of the machine's; who closes it gives it back
token_folder=${TMPDIR:-/tmp}/vocl-tests-$(id -u)
token_count=${VOCL_TEST_TOKENS:-$(($(nproc) * 2))}

try_token()
{
    exec 5> "$1" && flock -n 5
}

# OWN is of a test that has a token already: who gets none of the machine's waits for that one, which a piece gives back.
take_token()
{
    command -v flock > /dev/null && mkdir -p -m 700 "$token_folder" || return 0
    while :; do
        token=0
        while [ $token -lt "$token_count" ]; do
            token=$((token + 1))
            ! try_token "$token_folder/token.$token" || return 0
        done
        [ -z "$1" ] || break
        exec 5>&-
        sleep 0.5
    done
    exec 5> "$1" && flock 5
}
