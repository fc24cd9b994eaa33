# The script that `vocl run --deploy` has a host's /bin/sh run. It is preceded by assignments of id (VERSION-HASH) and
# about (the output of that VOCL's --about). Its standard input then brings the word xz, gzip or tar, and such an archive.
# Its messages to `vocl` are lines that begin with vocl-deploy; other lines are the login shell's.
say()
{
    echo "vocl-deploy $*"
}
failed()
{
    say failed "$*"
    exit 1
}
# runs PROGRAM: whether it is the vocl-proxy that is wanted.
runs()
{
    said=$("$1" --about 2>&1 < /dev/null) && [ "$said" = "$about" ]
}
umask 077
[ -n "$HOME" ] && [ -d "$HOME" ] || failed "no home folder there"
base=$HOME/.cache/vocl
to=$base/$id
if runs "$to/bin/vocl-proxy"; then
    touch -c "$to" 2> /dev/null # it is used
    say there
    exit 0
fi

# Other processes never see an incomplete copy: it has another name until it is complete.
why=$(mkdir -p "$base" 2>&1) || failed "$why"
new=$base/.new-$(uname -n)-$$-$(date +%s) # of hosts with one home, containers have the same PIDs
trap 'rm -rf "$new"' EXIT
trap 'exit 1' HUP INT TERM PIPE
why=$(mkdir "$new" 2>&1) || failed "$why"
installed=$(command -v vocl-proxy) && runs "$installed" || installed=
if [ -n "$installed" ]; then
    made=$new/made
    why=$(mkdir -p "$made/bin" 2>&1 && ln -s "$installed" "$made/bin/vocl-proxy" 2>&1) || failed "$why"
else
    unpackers=tar
    for unpacker in xz gzip; do
        ! command -v $unpacker > /dev/null 2>&1 || unpackers="$unpackers $unpacker"
    done
    say send "$unpackers"
    read -r packed || exit 1
    case $packed in
    xz | gzip) unpack="$packed -dc" ;;
    *) unpack=cat ;;
    esac
    if ! why=$({ $unpack | tar -xf - -C "$new"; } 2>&1); then
        free=$(df -Pk "$base" | awk 'NR == 2 { print $4 }')
        [ "${free:-0}" -gt 1024 ] || failed "the home is full: $free KiB are free in $base"
        failed "the archive arrived incomplete${why:+: $(echo "$why" | tail -n 1)}"
    fi
    for made in "$new"/*/; do
        made=${made%/}
    done
    hash=${id##*-}
    [ "$(sha256sum < "$made/SHA256SUMS" | cut -c "1-${#hash}")" = "$hash" ] &&
        (cd "$made" && sha256sum -c SHA256SUMS > /dev/null 2>&1) || failed "the archive arrived damaged"
    runs "$made/bin/vocl-proxy" || failed "VOCL does not run there: $(echo "$said" | tail -n 1)"
fi

# Removes an unusable copy. Of two deployments at the same time, the second uses the first one's copy.
if [ -e "$to" ] && ! runs "$to/bin/vocl-proxy"; then
    mv "$to" "$new/broken" 2> /dev/null
fi
[ -e "$to" ] || mv "$made" "$to" 2> /dev/null
[ "$made" = "$to" ] || rm -rf "$to/${made##*/}" # where the first came in between
runs "$to/bin/vocl-proxy" || failed "VOCL does not run there: $said"

# Removes copies that were not used for a day, except the three newest and those that run.
ls -1td "$base"/*-*/ 2> /dev/null | sed '1,3d' | while read -r old; do
    old=${old%/}
    [ "$old" != "$to" ] && [ -n "$(find "$old" -prune -mtime +0)" ] || continue
    ls -l /proc/[0-9]*/exe 2> /dev/null | grep -qF "$old/" || rm -rf "$old"
done
find "$base" -maxdepth 1 -name '.new-*' -mtime +0 -exec rm -rf {} +
say there "${installed:+$installed}"
