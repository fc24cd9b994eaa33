#!/bin/sh
# Checkpoints in files: a program is killed, and a new process that creates the same objects resumes with their saved
# contents. A checkpoint that is torn or another program's is refused; unchanged contents are not written again.
. "$(dirname "$0")/../lib.sh"
need python3 python3
session=$top_builddir/tests/session
saved=$session/saved
mark=VOCL_TEST_MARK=$$
steps=9
size=4096 # KiB of the large buffer
folder=$scratch/folder
wait_for=$scratch/words
at_most 900

native()
{
    timeout -k 10 300 "$saved" $steps 0 . $size > "$scratch/native" 2>&1 || fail "natively: $(cat "$scratch/native")"
    wanted=$(grep result "$scratch/native")
}

# start STEP WORD...: starts a program that waits after that step
start()
{
    pause=$1
    shift
    rm -rf "$wait_for"
    mkdir "$wait_for"
    : > "$scratch/out"
    : > "$scratch/err"
    env "$mark" $with VOCL_LOG=error vocl run $options -- "$program" $steps $pause "$wait_for" $size "$@" \
        > "$scratch/out" 2> "$scratch/err" &
    pid=$!
    wait_until grep -q "at $pause" "$scratch/out" || fail "no program: $(tail -n 5 "$scratch/out" "$scratch/err")"
}

kill_it()
{
    kill -KILL $pid
    wait $pid
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
}

finish()
{
    touch "$wait_for/go"
    wait $pid || fail "$1: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    grep -qx "$wanted" "$scratch/out" || fail "$1: $(cat "$scratch/out"), natively $wanted"
}

checkpoint()
{
    said=$(vocl checkpoint "$@" 2> "$scratch/asked") || fail "no checkpoint: $(cat "$scratch/asked")"
    echo "$said"
}

# restored STEPS [FOLDER]: a restored program resumes at one of these steps, and ends with the native result
restored()
{
    env "$mark" $with vocl run $options --restore "${2:-$folder}" -- "$program" $steps 0 . $size \
        > "$scratch/restored" 2> "$scratch/restored.err" || fail "restored: status $?: $(tail -n 5 "$scratch/restored" "$scratch/restored.err")"
    grep -qx "from [$1]" "$scratch/restored" || fail "it does not go on where it was: $(cat "$scratch/restored")"
    grep -qx "$wanted" "$scratch/restored" || fail "restored: $(cat "$scratch/restored"), natively $wanted"
}

# refused WORDS: nothing is started with the folder, and the error contains WORDS
refused()
{
    vocl run --restore "${2:-$folder}" -- "$program" $steps 0 . $size > "$scratch/out" 2> "$scratch/err" &&
        fail "restored from what is $1"
    ! grep -q from "$scratch/out" || fail "the program has started: $(cat "$scratch/out")"
    grep -q "$1" "$scratch/err" || fail "not \"$1\": $(cat "$scratch/err")"
}

list()
{
    ls "$folder" | grep -c "$1"
}

native
program=$saved
with=VOCL_SHARE=1
options=

# ---- killed, and restored: each way of sharing memory, each interposition method, two workers ----

killed_and_restored()
{
    with=${1%% *}
    options=$(echo "$1" | cut -s -d ' ' -f 2-)
    folder=$scratch/folder
    wait_for=$scratch/words
    start 4
    checkpoint $pid "$folder"
    kill_it
    restored 4
    echo "$1: right"
}
for way in "VOCL_SHARE=1" "VOCL_SHARE=0 --interpose=preload" "VOCL_SHARE=0 --interpose=icd" "VOCL_SHARE=1 --interpose=icd" \
    "VOCL_SHARE=0 --workers=2" "VOCL_SHARE=1 --workers=2" "VOCL_SHARE=0 --network=tls" "VOCL_SHARE=0 --recover" \
    "VOCL_SHARE=1 --workers=1 --local"; do
    beside killed_and_restored "$way"
done

# ---- of a program that keeps writing: most is read before the pause, and all contents are of one moment ----

# taken_early: in the pause, less than half of the last checkpoint was read. If calls take long to return, as on a
# loaded machine, all of it may be read in the pause; then another checkpoint is tried.
taken_early()
{
    checkpoint $pid "$scratch/moments"
    echo "$said" | sed 's/.*objects, \([0-9]*\) bytes.*in which \([0-9]*\) bytes.*/\1 \2/' | awk '{ exit !($1 > 2 * $2) }'
}

# of_one_moment SETTINGS OPTIONS
of_one_moment()
{
    program=$session/rewritten
    : > "$scratch/out"
    env "$mark" $1 vocl run $2 -- "$program" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    pid=$!
    wait_until grep -q ready "$scratch/out" || fail "no program: $(tail -n 5 "$scratch/out" "$scratch/err")"
    wait_until taken_early || fail "$1 $2: it is read in the pause: $said"
    env "$mark" $1 VOCL_RESTORE="$scratch/moments" vocl run -- "$program" "$scratch/enough" restored \
        > "$scratch/restored" 2> "$scratch/err2" || fail "not of one moment: $(cat "$scratch/restored" "$scratch/err2")"
    touch "$scratch/enough"
    wait $pid || fail "$1 $2: status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
    grep -qx right "$scratch/out" || fail "$1 $2: $(cat "$scratch/out")"
}
for settings in VOCL_SHARE=0 VOCL_SHARE=1 "VOCL_SHARE=0 VOCL_SUSPEND_DIR=$scratch"; do
    for options in "" "--recover"; do
        for round in $(seq "$(rounds 1)"); do
            beside of_one_moment "$settings" "$options"
        done
    done
done
well_beside

# ---- between hosts ----

two=$top_srcdir/tests/net/two-hosts
options=
with=VOCL_SHARE=0
if [ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] && [ "$(status_of "$two" -- true 2> "$scratch/err")" != 77 ]; then
    rm -rf "$folder" "$wait_for"
    mkdir "$wait_for"
    : > "$scratch/out"
    env "$mark" VOCL_NETWORK=tls timeout -k 10 300 "$two" --workers 2 -- "$program" $steps 4 "$wait_for" $size > "$scratch/out" 2> "$scratch/err" &
    running=$!
    wait_until grep -q "at 4" "$scratch/out" || fail "two hosts: no program: $(tail -n 5 "$scratch/out" "$scratch/err")"
    pid=$(grep -lszxFe "$mark" /proc/[0-9]*/environ | while read -r process; do
        [ "$(readlink "${process%environ}exe")" != "$(readlink -f "$program")" ] || echo "$process" | tr -dc 0-9
    done)
    checkpoint $pid "$folder"
    kill -KILL $pid
    wait $running
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
    env VOCL_RESTORE="$folder" VOCL_NETWORK=tls timeout -k 10 300 "$two" --workers 2 -- "$program" $steps 0 . $size > "$scratch/out" 2> "$scratch/err" ||
        fail "two hosts, restored: $(tail -n 5 "$scratch/out" "$scratch/err")"
    grep -qx "from 4" "$scratch/out" && grep -qx "$wanted" "$scratch/out" || fail "two hosts: $(cat "$scratch/out"), natively $wanted"
    echo "two hosts: right"
fi
# ---- the session continues, and the next checkpoint is small ----

with=VOCL_SHARE=0
options=
rm -rf "$folder"
start 4
checkpoint $pid "$folder"
full=$(du -sb "$folder" | cut -f 1)
checkpoint $pid "$folder"
echo "$said" | grep -q ' 0 of them written' || fail "nothing has changed: $said"
again=$(du -sb "$folder" | cut -f 1)
[ $((again - full)) -lt 65536 ] || fail "twice the same takes $full and $again bytes"
checkpoint --full $pid "$folder"
echo "$said" | grep -q ' 0 of them written' && fail "asked for all: $said"
finish "after checkpoints"
[ "$(list checkpoint-)" = 2 ] || fail "more than two lists: $(ls "$folder")"
restored 4
# Each step writes all of one large buffer and nothing of the other.
start 5
checkpoint $pid "$folder"
written=$(echo "$said" | sed 's/.*bytes, \([0-9]*\) of them.*/\1/')
[ "$written" -gt 4190000 ] && [ "$written" -lt 4300000 ] || fail "one of two buffers has changed: $said"
kill_it
restored 5
restored 4 "$(ls "$folder"/checkpoint-* | head -n 1)"

# ---- torn or damaged files ----

newest=$(ls "$folder"/checkpoint-* | tail -n 1)
cp "$newest" "$scratch/list"
bytes=$(stat -c %s "$newest")
for length in 0 1 16 18 40 $((bytes / 2)) $((bytes - 22)) $((bytes - 1)); do
    head -c "$length" "$scratch/list" > "$newest"
    refused "$(basename "$newest")"
    grep -q "torn\|no checkpoint" "$scratch/err" || fail "$length bytes: $(cat "$scratch/err")"
    grep -q "the one before it is good" "$scratch/err" || fail "$length bytes: no word of the one before: $(cat "$scratch/err")"
done
restored 4 "$(sed -n 's/.*--restore=//p' "$scratch/err")"
# flip FILE AT: inverts a bit of that byte
flip()
{
    env -u LD_PRELOAD python3 -c '
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2]))
    byte = file.read(1)[0]
    file.seek(int(sys.argv[2]))
    file.write(bytes([byte ^ 4]))' "$1" "$2" || fail "$1 cannot be changed"
}
for at in 30 $((bytes / 2)) $((bytes - 5)); do
    cp "$scratch/list" "$newest"
    flip "$newest" $at
    refused "torn or damaged"
done
sed 's/^vocl checkpoint 1$/vocl checkpoint 7/' "$scratch/list" > "$newest"
refused "another version"
vocl checkpoint $$ "$folder" > "$scratch/asked" 2>&1 && fail "written to a folder of another version's"
grep -q "another version" "$scratch/asked" || fail "another version's folder: $(cat "$scratch/asked")"
cp "$scratch/list" "$newest"
pieces=$(ls "$folder"/pieces-* | tail -n 1)
cp "$pieces" "$scratch/pieces"
flip "$pieces" 100000
refused "damaged"
restored 4 "$(ls "$folder"/checkpoint-* | head -n 1)"
cp "$scratch/pieces" "$pieces"
truncate -s -1 "$pieces"
refused "torn"
rm "$pieces"
refused "No such file"
# A checkpoint over a damaged one does not refer to the damaged files.
cp "$scratch/pieces" "$pieces"
flip "$pieces" 100000
start 5
checkpoint $pid "$folder"
kill_it
restored 5
refused "has no checkpoint" "$scratch"
refused "is no checkpoint" "$top_srcdir/configure.ac"
echo "torn: refused"

# ---- of another program ----

cp "$saved" "$scratch/another"
program=$scratch/another
vocl run --restore "$folder" -- "$program" $steps 0 . $size > "$scratch/out" 2> "$scratch/err" && fail "another program was restored"
grep -q "of the program saved, and this is another" "$scratch/err" || fail "another program: $(cat "$scratch/err")"
grep -q 'error' "$scratch/out" && ! grep -q from "$scratch/out" || fail "another program: $(cat "$scratch/out")"
start 2
vocl checkpoint $pid "$folder" > "$scratch/asked" 2>&1 && fail "written to another program's folder"
grep -q "of the program saved, and this is another" "$scratch/asked" || fail "another's folder: $(cat "$scratch/asked")"
finish "another program"
program=$saved
vocl run --restore "$folder" -- "$program" $steps 0 . $size other > "$scratch/out" 2> "$scratch/err" && fail "other objects were restored"
grep -q "memory object 2 of the checkpoint is a buffer 4194304, and the program created a buffer 2097152" "$scratch/err" ||
    fail "other objects: $(cat "$scratch/err")"
echo "another's: refused"

# ---- the process that writes a checkpoint is killed, or has no room: the checkpoint before it is the valid one ----

size=16384
native
folder=$scratch/large
start 5
checkpoint $pid "$folder"
finish "large"
cat > "$scratch/dies.c" <<'END'
/* Preloaded: the process is killed instead of its DIES_AT-th call of DIES_IN. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void step(const char *name)
{
    static int count;

    if (!strcmp(name, getenv("DIES_IN")) && ++count == atoi(getenv("DIES_AT")))
        kill(getpid(), SIGKILL);
}
#define STEP(type, name, parameters, arguments)                                                                        \
    type name parameters                                                                                               \
    {                                                                                                                  \
        type(*next) parameters = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                          \
        step(#name);                                                                                                   \
        return next arguments;                                                                                         \
    }
STEP(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
STEP(int, fsync, (int fd), (fd))
STEP(int, renameat, (int from, const char *old, int to, const char *new), (from, old, to, new))
STEP(int, unlinkat, (int fd, const char *name, int flags), (fd, name, flags))
END
${CC:-cc} -shared -fPIC -o "$scratch/dies.so" "$scratch/dies.c" || fail "no dies.so"
# dies_at FUNCTION COUNT...: vocl checkpoint is killed at that call of FUNCTION
dies_at()
{
    while [ $# -gt 0 ]; do
        env "LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$scratch/dies.so" DIES_IN="$1" DIES_AT="$2" vocl checkpoint $pid "$folder" \
            > "$scratch/asked" 2>&1
        [ $? = 137 ] || fail "not killed in $1 $2: $(cat "$scratch/asked")"
        echo "killed in $1 $2: $(ls "$folder" | tr '\n' ' ')"
        shift 2
    done
}
start 6
dies_at pwrite 1 pwrite 2 fsync 1
restored 5
dies_at fsync 2 renameat 1
restored 5
dies_at fsync 3 unlinkat 1
restored 6
finish "the writer was killed"
# It ends in the midst of the pieces: files are limited to 1 MiB.
start 6
(ulimit -f 2048 && exec vocl checkpoint --full $pid "$folder") > "$scratch/asked" 2>&1 && fail "written in spite of a limit"
finish "the writer was ended"
restored 56
start 5
checkpoint $pid "$folder"
finish "after that"
for file in "$folder"/pieces-*; do
    awk -v file="$(basename "$file")" '$1 == "piece" && sprintf("pieces-%06d", $6) == file { found = 1 } END { exit !found }' \
        "$folder"/checkpoint-* || fail "$file is left, and no list has it: $(ls "$folder")"
done
restored 5
if unshare -m true 2> /dev/null; then
    mkdir "$scratch/small"
    start 5
    unshare -m sh -c 'mount -t tmpfs -o size=1m none "$0" && vocl checkpoint "$@"' "$scratch/small" $pid "$scratch/small" \
        > "$scratch/asked" 2>&1 && fail "written where there is no room"
    grep -q "No space left" "$scratch/asked" || fail "disk full: $(cat "$scratch/asked")"
    finish "disk full"
fi

# Only one process writes to a folder at a time.
start 6
mkdir "$scratch/both"
flock "$scratch/both" vocl checkpoint $pid "$scratch/both" > "$scratch/asked" 2>&1 && fail "two at once write to a folder"
grep -q "another checkpoint is being written there" "$scratch/asked" || fail "two at once: $(cat "$scratch/asked")"
checkpoint $pid "$scratch/both"
kill_it
restored 6 "$scratch/both"

# A worker that is lost during a checkpoint is lost as at any other time; the checkpoint before it is the valid one.
with="VOCL_SHARE=0 $(held_at save)"
start 6
vocl checkpoint $pid "$folder" > "$scratch/asked" 2>&1 &
writer=$!
held || fail "nothing is saved: $(cat "$scratch/asked" "$scratch/err")"
for process in $(session_processes "$mark"); do
    [ "$(cat "/proc/$process/comm" 2> /dev/null)" != vocl-proxy ] || kill -KILL "$process"
done
wait_until loss_noticed || fail "a worker was killed, and the program has not noticed: $(cat "$scratch/err")"
release
wait $writer && fail "a worker was killed, and vocl checkpoint says $(cat "$scratch/asked")"
touch "$wait_for/go"
wait $pid && fail "a worker was killed, and the program has not noticed"
wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
with=VOCL_SHARE=0
restored 5

# ---- objects and states that cannot be saved ----

size=64
native
for word in svm pipe; do
    with=VOCL_SHARE=1
    [ "$("$saved" 0 0 . 4 $word > /dev/null; echo $?)" != 77 ] || continue
    start 2 $word
    vocl checkpoint $pid "$scratch/none" > "$scratch/asked" 2>&1 && fail "$word was saved"
    grep -q "shared virtual memory\|pipe cannot be read" "$scratch/asked" || fail "$word: $(cat "$scratch/asked")"
    [ -z "$(ls "$scratch/none")" ] || fail "$word: left: $(ls "$scratch/none")"
    finish "$word"
    echo "$word: $(cat "$scratch/asked")"
done
start 2
vocl suspend $pid > "$scratch/asked" || fail "not suspended: $(cat "$scratch/asked")"
vocl checkpoint $pid "$scratch/none" > "$scratch/asked" 2>&1 && fail "saved while it is suspended"
grep -q "it is suspended" "$scratch/asked" || fail "suspended: $(cat "$scratch/asked")"
finish "suspend"
vocl checkpoint 999999999 "$scratch/none" > "$scratch/asked" 2>&1 && fail "nobody was saved"
wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
