#!/bin/sh
# Names of hosts and paths are not taken for options of ssh or commands of a shell, and log lines cannot control a
# terminal.
. "$(dirname "$0")/../lib.sh"
cat > "$scratch/rsh" << 'END'
#!/bin/sh
echo "$@" >> "${0%/*}/asked"
shift $(($# - 1))
exec sh -c "$1"
END
chmod +x "$scratch/rsh"
export VOCL_RSH="$scratch/rsh" VOCL_START_TIMEOUT=20 VOCL_CACHE=off
program=$top_builddir/tests/parity/vector_add
for hosts in -oProxyCommand=true elsewhere.invalid,-oX; do
    rm -f "$scratch/asked"
    vocl run --interpose preload --hosts="$hosts" -- "$program" > "$scratch/out" 2> "$scratch/err" && fail "$hosts: it runs"
    grep -q -e '-o' "$scratch/asked" 2> /dev/null && fail "$hosts: $(cat "$scratch/asked")"
    grep -q "workers on $hosts cannot be started" "$scratch/err" || fail "$hosts: $(cat "$scratch/err")"
done

# a path with a quote stays a path
folder="$scratch/it's; touch ran #"
mkdir "$folder"
ln -s "$VOCL_LIBEXECDIR/vocl-proxy" "$folder/vocl-proxy"
cd "$scratch" || exit 99
VOCL_PROXY="$folder/vocl-proxy" vocl run --interpose preload --hosts elsewhere.invalid -- "$program" > "$scratch/out" 2> "$scratch/err"
grep -q -e --remote "$scratch/asked" || fail "nothing was asked: $(cat "$scratch/err")"
[ ! -e "$scratch/ran" ] || fail "VOCL_PROXY is run by a shell: $(cat "$scratch/asked")"
grep -q 'Syntax error\|nterminated' "$scratch/err" && fail "VOCL_PROXY's quote is the shell's: $(cat "$scratch/err")"
cd - > /dev/null || exit 99

vocl run --interpose preload --hosts="$(printf -- '-o\033c')" -- "$program" > "$scratch/out" 2> "$scratch/err"
grep -q 'workers on -o\\x1bc cannot be started' "$scratch/err" || fail "the log: $(cat -v "$scratch/err")"
vocl run --interpose preload --hosts="$(printf -- 'n\033[2J')" -- "$program" > "$scratch/out" 2> "$scratch/err"
grep -q '"n\\x1b\[2J" is not a host' "$scratch/err" || fail "the command line: $(cat -v "$scratch/err")"
exit 0
