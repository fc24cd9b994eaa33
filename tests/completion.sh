#!/bin/sh
# Shells complete after `vocl` exactly what it takes: every subcommand and each one's options, as the source has them.
. "$(dirname "$0")/lib.sh"
. "$top_srcdir/tests/completion-lib.sh"

# offers WORD... -- WANTED...
offers()
{
    line= last=
    while [ "$1" != // ]; do
        line="$line $1"
        shift
    done
    shift
    completed $line "$partial" > "$scratch/out"
    for wanted; do
        grep -qxF -e "$wanted" "$scratch/out" || fail "after$line $partial: no $wanted: $(cat "$scratch/out")"
    done
}

# options FILE...: the long options in these files' tables for getopt
options()
{
    (cd "$top_srcdir" && cat "$@") | grep -oE '\{"[a-z-]+", (no|required)_argument' | sed 's/{"\([a-z-]*\).*/--\1/'
}

partial=
commands=$(sed -n 's/.*{"\([a-z][a-z]*\)", "vocl \1".*/\1/p' "$top_srcdir/tools/vocl.c" | sort -u)
[ "$(echo "$commands" | wc -l)" -ge 6 ] || fail "which subcommands there are is not found: $commands"
offers vocl // $commands
partial=d
[ "$(completed vocl d)" = "$(printf 'devices\ndoctor')" ] || fail "vocl d: $(completed vocl d)"

partial=--
offers vocl run // $(options tools/vocl.c | grep -v -e --help -e --json -e --discover -e --share -e --door)
others='-e --interpose -e --door -e --restore -e --trace -e --recover -e --help -e --share' # a session's that lists nothing; as it was called
offers vocl devices // $(options tools/vocl.c | grep -v $others)
offers vocl doctor // $(options tools/vocl.c | grep -v $others -e --discover)
[ ! -x "$VOCL_LIBEXECDIR/vocl-pool" ] || offers vocl pool // $(options tools/pool.c | grep -v -e --help)
offers vocl sessions // $(options tools/sessions_wait.c | grep -v -e --help)
offers vocl move // $(options tools/sessions.c | grep -v -e --help)
offers vocl checkpoint // $(options tools/checkpoint.c | grep -v -e --help)
offers vocl topo // $(options tools/topo/topo.c | grep -v -e --help)
partial=
offers vocl run --network // auto mpi pairs tls plain ssh
offers vocl run --mpi = // mpich openmpi
offers vocl pool // status wait drain kill move
[ "$(completed vocl run -- ls --network x)" = "" ] || fail "a program's words are not ours"
partial=vocl-prox
offers vocl run --workers 2 // vocl-proxy

# Every option that is offered is accepted.
for command in run devices doctor; do
    for option in $(completed vocl $command --); do
        vocl $command $option > "$scratch/out" 2>&1
        ! grep -q "unknown option" "$scratch/out" || fail "vocl $command $option: $(cat "$scratch/out")"
    done < /dev/null
done

if command -v fish > /dev/null; then
    said=$(env -u LD_PRELOAD HOME="$scratch" fish -N -c ". $top_srcdir/etc/completion/vocl.fish; complete -C 'vocl run --ho'")
    [ "$said" = --hosts ] || echo "$said" | grep -q '^--hosts' || fail "fish: vocl run --ho: $said"
    said=$(env -u LD_PRELOAD HOME="$scratch" fish -N -c ". $top_srcdir/etc/completion/vocl.fish; complete -C 'vocl d'")
    echo "$said" | grep -q '^doctor' || fail "fish: vocl d: $said"
fi
if command -v zsh > /dev/null; then
    env -u LD_PRELOAD zsh -n "$top_srcdir/etc/completion/_vocl" || fail "zsh does not read its file"
fi
exit 0
