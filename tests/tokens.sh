# Tokens limit how many sessions of tests run at a time on this machine, over all builds of this user. A test has one
# while it runs (in-turn), and so has each part of a test that runs `beside` others (lib.sh). A token is a lock on a
# file, so that the kernel releases it however its owner ends.
#
#     take_token [OWN]    locks descriptor 5, on the file OWN or on one of the machine's; closing it returns the token
token_folder=${TMPDIR:-/tmp}/vocl-tests-$(id -u)
token_count=${VOCL_TEST_TOKENS:-$(($(nproc) * 2))}

try_token()
{
    exec 5> "$1" && flock -n 5
}

# OWN belongs to a test that already has a token: if all of the machine's are taken, waits for OWN, which a part of the
# test releases.
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
