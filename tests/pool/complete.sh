#!/bin/sh
# Shell completion of `vocl pool drain`, `kill` and other commands: offers the existing nodes and sessions; and nothing,
# without a message and soon, where no daemon answers.
. "$(dirname "$0")/one-lib.sh"
. "$top_srcdir/tests/completion-lib.sh"
make_pool here
add_daemon there
start_daemon
start_other there
VOCL_POOL=$scratch/pool
export VOCL_POOL
await nodes=2 || fail "they do not find each other"
vocl run -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/err" &
program=$!
await running=1 || fail "no session: $(cat "$scratch/err")"
session=$(vocl pool --json sessions | sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p' | head -n 1 | cut -c 1-12)

# offers "NAME..." WORD...: bash offers exactly these for the last word
offers()
{
    wanted=$1
    shift
    completed "$@" 2> "$scratch/err" | tr '\n' ' ' > "$scratch/out"
    [ "$(cat "$scratch/out")" = "$wanted " ] || fail "after $*: $(cat "$scratch/out" "$scratch/err")"
    [ ! -s "$scratch/err" ] || fail "after $*: $(cat "$scratch/err")"
}
offers "here there" vocl pool drain ''
offers "here there" vocl pool drain --reason 'a new fan' here ''
offers "there" vocl pool --wait 5 drain t
offers "here there" vocl pool move "$session" --to ''
offers "here there" vocl move 1 --to ''
offers "$session" vocl pool kill ''
offers "$session" vocl pool move ''
offers "$session" vocl pool suspend "$(echo "$session" | cut -c 1-4)"
offers "" vocl pool resume ''
vocl pool drain --reason test there || fail "drain"
await state=there:draining || fail "it does not drain"
offers "there" vocl pool resume ''
completed vocl suspend '' | grep -qx "$program" || fail "this host's programs have not $program: $(completed vocl suspend '')"
elsewhere()
{
    VOCL_POOL=none
    offers "here there" "$@"
    VOCL_POOL=$scratch/pool
}
elsewhere vocl pool --pool = "$scratch/pool" drain ''
elsewhere vocl pool -P "$scratch/pool" drain ''

# Other shells also show a description of each.
if command -v fish > /dev/null; then
    fish_says() { env -u LD_PRELOAD HOME="$scratch" fish -N -c ". $top_srcdir/etc/completion/vocl.fish; complete -C '$1'"; }
    fish_says 'vocl pool drain ' > "$scratch/out"
    grep -q "^here$(printf '\t')up, 1 devices, 1 sessions" "$scratch/out" || fail "fish: drain: $(cat "$scratch/out")"
    fish_says 'vocl pool kill ' > "$scratch/out"
    grep -q "^$session$(printf '\t')burn of $user, running" "$scratch/out" || fail "fish: kill: $(cat "$scratch/out")"
    grep -q '^drain' "$scratch/out" && fail "fish: a command after a command: $(cat "$scratch/out")"
fi
if command -v zsh > /dev/null; then
    # zsh_says WORD...: prints what the completion file offers for the last word; _describe() and compadd() only print
    # here
    zsh_says()
    {
        env -u LD_PRELOAD zsh -fc '
            _describe() { print -l -- ${(P)2} }
            compadd() { shift; print -l -- "$@" }
            file=$1; shift
            words=("$@") CURRENT=$#
            source $file' zsh "$top_srcdir/etc/completion/_vocl" "$@" > "$scratch/out" 2>&1
    }
    zsh_says vocl pool drain ''
    grep -q "^here:up, 1 devices, 1 sessions" "$scratch/out" || fail "zsh: drain: $(cat "$scratch/out")"
    zsh_says vocl pool kill ''
    grep -q "^$session:burn of $user, running" "$scratch/out" || fail "zsh: kill: $(cat "$scratch/out")"
    zsh_says vocl pool ''
    grep -qx drain "$scratch/out" || fail "zsh: pool: $(cat "$scratch/out")"
    VOCL_POOL=none
    zsh_says vocl pool --pool="$scratch/pool" drain ''
    grep -q "^there:draining" "$scratch/out" || fail "zsh: of another pool: $(cat "$scratch/out")"
    VOCL_POOL=$scratch/pool
fi

# A stopped daemon is not waited for, the other one is asked. If none answers, nothing is offered, without an error.
kill -STOP $daemon
offers "here there" vocl pool move "$session" --to ''
kill -STOP $other
offers "" vocl pool drain ''
kill -CONT $other
kill -9 $other
offers "" vocl pool drain ''
kill -CONT $daemon
VOCL_POOL=$scratch/none
offers "" vocl pool kill ''
touch "$scratch/enough"
wait $program
exit 0
