#!/bin/sh
# vocl run --deploy, through a real sshd in a network namespace, to users of a node that has neither VOCL nor its
# libraries: with login shells that print text or are not POSIX shells, and temporary folders mounted noexec. Tests
# three users at once, twice; a jump host, another port, and a shared ssh connection (ControlMaster); two deployments to
# the same user at once; transfers that break or are altered; a full home; removal of old versions. The node opens no
# connection. The program's side runs VOCL from the bundle, in a read-only folder.
. "$(dirname "$0")/../lib.sh"
at_most 600
need_foreign_programs
PATH=$PATH:/usr/sbin:/sbin
for tool in "ssh openssh-client" "sshd openssh-server" "ssh-keygen openssh-client" "ip iproute2" "patchelf patchelf" \
        "objdump binutils" "xz xz-utils" "unshare util-linux"; do
    need $tool
done
[ "$(id -u)" = 0 ] || skip "a node of its own needs root"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
[ -e "$VOCL_LIBEXECDIR/vocl-mpich.so" ] || skip "VOCL was built without MPICH"
[ -z "$SANITIZER" ] || [ "$SANITIZER" = no ] || skip "a bundle is not built with a sanitizer"
unshare -m true 2> /dev/null || skip "no mount namespaces"

near=vocl-near-$$ far=vocl-far-$$ daemon=
finish()
{
    for space in "$near" "$far"; do
        ip netns pids "$space" 2> /dev/null | xargs -r kill -9 2> /dev/null
        ip netns delete "$space" 2> /dev/null
    done
    rm -rf --one-file-system "$scratch"
}
trap finish EXIT
"$top_srcdir/tests/net/namespace" "$near" 2> /dev/null || skip "no network namespaces"
"$top_srcdir/tests/net/namespace" "$far" || exit 99
ip link add near netns "$near" type veth peer name far netns "$far" || skip "no veth"
ip -n "$near" address add 10.94.0.1/24 dev near
ip -n "$far" address add 10.94.0.2/24 dev far
for side in near far; do
    eval "space=\$$side"
    ip -n "$space" link set lo up
    ip -n "$space" link set $side up
done

# ---- the bundle ----

mkdir "$scratch/bundle"
# Runs under a make that prints folders and has jobs, as `make -C build -j2 bundle` does.
printf 'all:\n\t@"%s" "%s" "%s"\n' "$top_srcdir/packaging/bundle" "$top_builddir" "$scratch/bundle" > "$scratch/Makefile"
VOCL_FLOOR=9 VOCL_BUNDLE_LEVEL=0 make -w -j2 -f "$scratch/Makefile" > "$scratch/out" 2>&1 ||
    fail "$(cat "$scratch/out")"
cat "$scratch/out"
packed=$(echo "$scratch"/bundle/*.tar.xz)
tar -xJf "$packed" -C "$scratch/bundle"
bundle=${packed%.tar.xz}
id=$(cat "$bundle/vocl-bundle")
for file in "$bundle"/lib/*.so.*; do
    [ "${file##*/}" = libvocl.so.1 ] || grep -q . "$bundle/share/licenses/README" || fail "no licences"
done

# ---- the node ----

chmod 711 "$scratch"
keys=$scratch/keys
mkdir -m 755 "$keys"
for key in host user; do
    ssh-keygen -q -t ed25519 -N '' -f "$keys/$key" || skip "no keys can be made"
done
mkdir -p /run/sshd
cat > "$keys/sshd" <<END
ListenAddress 10.94.0.2:22
ListenAddress 127.0.0.1:2222
HostKey $keys/host
AuthorizedKeysFile $keys/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
PermitRootLogin no
END
fish=$(command -v fish || echo /bin/sh)
for user in one two three four five full; do
    case $user in
    one) shell=/home/greets ;;
    two) shell=$fish ;;
    *) shell=/bin/sh ;;
    esac

    echo "$user:*:0:65534::/home/$user:$shell"
done > "$scratch/passwd"
awk -F: -v OFS=: '{ $3 = 64100 + NR } 1' "$scratch/passwd" > "$scratch/users"
cat /etc/passwd >> "$scratch/users"
# (All of /etc: a mount over the file alone vanishes when another test adds a user and so replaces the file.)
cp -a /etc "$scratch/etc"
cp "$scratch/users" "$scratch/etc/passwd"
cat > "$scratch/greets" <<'END'
#!/bin/sh
echo "Welcome, and read the news."
printf "vocl-proxy is there, is it not? "
echo "a shell that complains" >&2
exec /bin/sh "$@"
END
chmod 755 "$scratch/greets"
cat > "$scratch/node" <<'END'
set -e
mount --make-rprivate /
mount -t tmpfs none /home
for user in one two three four five full; do
    mkdir -m 700 /home/$user
    [ $user != full ] || mount -t tmpfs -o size=4m,mode=700 none /home/full
    chown $(awk -F: -v user=$user '$1 == user { print $3 }' "$scratch/users") /home/$user
done
mount --bind "$scratch/etc" /etc
cp "$scratch/greets" /home/greets
chmod 755 /home/greets
for folder in /tmp /dev/shm /var/tmp; do
    mount --bind $folder $folder
    mount -o remount,bind,noexec,nosuid $folder
done
# The node has nothing of VOCL, and none of the libraries in the bundle, except for those that sshd and the driver need.
for folder in "$top_builddir" "$top_srcdir" "$scratch/bundle"; do
    [ ! -d "$folder" ] || mount -t tmpfs none "$folder"
done
for file in libmpich.so.12 libucp.so.0 libucs.so.0 libuct.so.0 libucm.so.0 libOpenCL.so.1 libssl.so.3 libevent_core-2.1.so.7; do
    file=$(readlink -f "/usr/lib/$(uname -m)-linux-gnu/$file") || continue
    [ ! -e "$file" ] || mount --bind /dev/null "$file"
done
cd /
exec "$(command -v sshd)" -D -e -f "$keys/sshd"
END
export scratch keys top_builddir top_srcdir
ip netns exec "$far" env -u LD_PRELOAD -u VOCL_LIBEXECDIR unshare -m sh "$scratch/node" 2> "$scratch/sshd" &
daemon=$!
listens()
{
    grep -qs '^Server listening' "$scratch/sshd" || ! kill -0 $daemon 2> /dev/null
}
wait_until listens
kill -0 $daemon 2> /dev/null || fail "no sshd: $(cat "$scratch/sshd")"
for user in one two three four five full; do
    printf 'Host %s\nUser %s\n' $user $user
done > "$keys/ssh"
cat >> "$keys/ssh" <<END
Host behind
User three
HostName 127.0.0.1
Port 2222
ProxyJump two
Host kept
User three
ControlMaster auto
ControlPath $scratch/master
ControlPersist 60
Host nobodyshost
User nobody-$$
Host *
HostName 10.94.0.2
IdentityFile $keys/user
IdentitiesOnly yes
IdentityAgent none
HostKeyAlias node
UserKnownHostsFile $keys/known
StrictHostKeyChecking yes
BatchMode yes
ControlMaster no
END
echo "node $(cut -d ' ' -f 1,2 "$keys/host.pub")" > "$keys/known"
home=/proc/$daemon/root/home

# Commands on the program's side have the bundle and nothing else of VOCL. It is mounted read-only, as root could write
# there. The variables of the build that name a folder for kernels are unset: only the first of the node's users could
# use that folder.
cat > "$scratch/near" <<'END'
mount --make-rprivate /
mount --bind "$bundle" "$bundle" && mount -o remount,bind,ro "$bundle" || exit 99
exec "$@"
END
export bundle
near()
{
    ip netns exec "$near" env -u VOCL_LIBEXECDIR -u POCL_CACHE_DIR VOCL_RSH="${rsh:-ssh -F $keys/ssh -x -T}" VOCL_LOG="${log:-info}" VOCL_SHARE=0 \
        unshare -m sh "$scratch/near" timeout -k 10 150 "$@"
}
vocl=$bundle/bin/vocl
near ssh -F "$keys/ssh" three true 2> "$scratch/err" || skip "this sshd lets nobody in: $(cat "$scratch/err" "$scratch/sshd")"
ssh_to_node()
{
    near ssh -F "$keys/ssh" "$@"
}
for lacks in vocl-proxy vocl "$vocl" "$VOCL_LIBEXECDIR/vocl"; do
    ! ssh_to_node three "command -v $lacks" > "$scratch/out" || fail "the node has VOCL: $(cat "$scratch/out")"
done

# ---- three at a time, twice ----

"$top_builddir/tests/parity/many_devices" > "$scratch/native" 2> /dev/null || fail "natively"
for time in first second; do
    near "$vocl" run --deploy --hosts one,two,three -- "$top_builddir/tests/parity/many_devices" > "$scratch/out" 2> "$scratch/err" ||
        fail "$time: status $?: $(cat "$scratch/out" "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$time: something else is printed"
    sent=$(grep -c 'has got VOCL' "$scratch/err")
    [ "$sent" = "$([ $time = first ] && echo 3 || echo 0)" ] || fail "$time: sent to $sent: $(cat "$scratch/err")"
    for user in one two three; do
        [ "$(ls -A "$home/$user/.cache/vocl")" = "$id" ] || fail "$user has $(ls -A "$home/$user/.cache/vocl")"
    done
done
near "$vocl" devices --deploy --hosts three > "$scratch/out" 2> "$scratch/err" || fail "devices: $(cat "$scratch/out" "$scratch/err")"
grep -q ' CPU ' "$scratch/out" || fail "devices: $(cat "$scratch/out")"

# The node cannot connect back: no socket listens during a session.
cat > "$scratch/look" <<'END'
"$top_builddir/tests/session/sleeper" > "$scratch/ready" & until grep -q ready "$scratch/ready"; do sleep 0.1; done
grep -c ' 0A ' /proc/$!/net/tcp; kill $!
END
near "$vocl" doctor --deploy --hosts three > "$scratch/out" 2> "$scratch/err" || fail "doctor: $(cat "$scratch/out" "$scratch/err")"
grep -q '^ok .*three: devices: [1-9]' "$scratch/out" || fail "doctor: $(cat "$scratch/out")"
[ "$(near "$vocl" run --deploy --hosts three -- sh "$scratch/look" 2> "$scratch/err")" = 0 ] || fail "listens: $(cat "$scratch/err")"

# ---- as ssh's configuration says: through another host and at another port; through a shared connection ----

connections()
{
    grep -c '^Accepted publickey' "$scratch/sshd"
}
near "$vocl" run --deploy --hosts behind -- "$top_builddir/tests/parity/many_devices" > "$scratch/out" 2> "$scratch/err" ||
    fail "behind another host: status $?: $(cat "$scratch/out" "$scratch/err")"
grep -q '^Accepted publickey for three from 127' "$scratch/sshd" || fail "not by the other host: $(cat "$scratch/sshd")"
before=$(connections)
near "$vocl" run --deploy --hosts kept -- "$top_builddir/tests/parity/many_devices" > "$scratch/out" 2> "$scratch/err" ||
    fail "by a connection that is kept: status $?: $(cat "$scratch/out" "$scratch/err")"
[ $(($(connections) - before)) = 1 ] || fail "$(($(connections) - before)) connections instead of the one that is kept"
ssh_to_node -O exit kept 2> /dev/null || fail "the session has ended the connection that was kept"

# ---- failures ----

cat > "$scratch/cut" <<END
#!/bin/sh
dd bs=64k count=60 2> /dev/null | ssh -F $keys/ssh -x -T "\$@"
END
cat > "$scratch/change" <<END
#!/bin/sh
{ dd bs=64k count=60 2> /dev/null; dd bs=1000 count=1 2> /dev/null | tr '\0-\377' '\1-\377\0'; cat; } | ssh -F $keys/ssh -x -T "\$@"
END
cat > "$scratch/break" <<END
#!/bin/sh
{ dd bs=64k count=60 2> /dev/null; kill -9 \$\$; } | ssh -F $keys/ssh -x -T "\$@"
END
chmod +x "$scratch/cut" "$scratch/change" "$scratch/break"
nothing_there()
{
    [ -z "$(ls -A "$home/$1/.cache/vocl" 2> /dev/null)" ]
}
for way in cut change break; do
    ! rsh=$scratch/$way near "$vocl" devices --deploy --hosts four > "$scratch/out" 2> "$scratch/err" || fail "$way: it goes on"
    grep -aq '^vocl: four: ' "$scratch/err" || fail "$way: not said: $(cat "$scratch/err")"
    grep -a '^vocl: four: the archive arrived ' "$scratch/err" || fail "$way: $(cat "$scratch/err")"
    wait_until nothing_there four || fail "$way: left: $(ls -A "$home/four/.cache/vocl")"
done
! near "$vocl" devices --deploy --hosts full > "$scratch/out" 2> "$scratch/err" || fail "a full home: it goes on"
grep -q '^vocl: full: the home is full: .*KiB are free' "$scratch/err" || fail "a full home: $(cat "$scratch/err")"
grep '^vocl: full: ' "$scratch/err"
wait_until nothing_there full || fail "left in a full home: $(ls -A "$home/full/.cache/vocl")"
! near "$vocl" devices --deploy --hosts nobodyshost > "$scratch/out" 2> "$scratch/err" || fail "a user who is not let in"
grep -q '^vocl: nobodyshost: it cannot be asked' "$scratch/err" || fail "not let in: $(cat "$scratch/err")"
for words in "run --deploy -- true" "run --deploy --workers 1 -- true"; do
    [ "$(status_of "$vocl" $words 2> "$scratch/err")" = 2 ] || fail "$words: $(cat "$scratch/err")"
done

# ---- an archive instead of the folder, two deployments at once, a broken installation, old versions ----

export VOCL_BUNDLE="$packed"
for i in 1 2; do
    near "$vocl" devices --deploy --hosts four > "$scratch/out.$i" 2> "$scratch/err.$i" &
    eval "process_$i=\$!"
done
wait $process_1 && wait $process_2 || fail "two at a time: $(cat "$scratch"/out.? "$scratch"/err.?)"
[ "$(ls -A "$home/four/.cache/vocl")" = "$id" ] || fail "after two at a time: $(ls -A "$home/four/.cache/vocl")"
[ ! -e "$home/four/.cache/vocl/$id/${packed##*/}" ] && (cd "$home/four/.cache/vocl/$id" && sha256sum -c --quiet SHA256SUMS) ||
    fail "two at a time made another one"

: > "$home/four/.cache/vocl/$id/bin/vocl-proxy"
for old in 1 2 3 4; do
    ssh_to_node four "mkdir .cache/vocl/0.0.$old-aaaa .cache/vocl/.new-$old && touch -d '$old weeks ago' .cache/vocl/0.0.$old-aaaa .cache/vocl/.new-$old"
done
near "$vocl" devices --deploy --hosts four > "$scratch/out" 2> "$scratch/err" || fail "one that is broken: $(cat "$scratch/err"; tail -n 20 "$scratch/sshd")"
grep -q 'has got VOCL' "$scratch/err" || fail "what is broken is used"
[ "$(ls -A "$home/four/.cache/vocl" | tr '\n' ' ')" = "0.0.1-aaaa 0.0.2-aaaa $id " ] ||
    fail "old ones: $(ls -A "$home/four/.cache/vocl")"

# ---- what a terminal shows: a part was sent, and the rest waits for a file ----

if command -v script > /dev/null; then
    cat > "$scratch/halts" <<END
#!/bin/sh
[ ! -e $scratch/go ] || exec ssh -F $keys/ssh -x -T "\$@" # this is the session's
{ dd bs=64k count=1310720 iflag=count_bytes 2> /dev/null; until [ -e $scratch/go ]; do sleep 0.1; done; cat; } | ssh -F $keys/ssh -x -T "\$@"
END
    chmod +x "$scratch/halts"
    for kind in folder file; do
        rm -rf "$home/five/.cache" "$scratch/go"
        : > "$scratch/terminal"
        VOCL_BUNDLE=$([ $kind = folder ] && echo "$bundle" || echo "$packed") rsh=$scratch/halts log=warn \
            near script -qefc "$vocl devices --deploy --hosts five" "$scratch/terminal" > "$scratch/out" 2> "$scratch/err" &
        sending=$!
        wait_until grep -qE 'send VOCL to five: [0-9.]+ [KM]iB of [0-9]+ MiB' "$scratch/terminal" ||
            fail "$kind: how far it is: $(tail -c 300 "$scratch/terminal" | cat -A; cat "$scratch/err")"
        touch "$scratch/go"
        wait $sending || fail "$kind, on a terminal: $(cat -A "$scratch/terminal" "$scratch/err")"
        ! grep -q "$(printf '\033')" "$scratch/terminal" || fail "escape codes: $(cat -A "$scratch/terminal")"
    done
    rm -rf "$home/five/.cache"
fi

# ---- a node that has this VOCL already ----

ssh_to_node four 'chmod 755 . .cache .cache/vocl; chmod -R a+rX .cache/vocl'
ssh_to_node five "mkdir bin && printf '#!/bin/sh\nexec /home/four/.cache/vocl/$id/bin/vocl-proxy \"\$@\"\n' > bin/vocl-proxy && chmod +x bin/vocl-proxy"
cat > "$scratch/with_path" <<END
#!/bin/sh
for command; do :; done
while [ "\${1#-}" != "\$1" ]; do shift; done
exec ssh -F $keys/ssh -x -T "\$1" "PATH=\\\$HOME/bin:\\\$PATH; \$command"
END
chmod +x "$scratch/with_path"
rsh=$scratch/with_path near "$vocl" devices --deploy --hosts five > "$scratch/out" 2> "$scratch/err" ||
    fail "one that is there: $(cat "$scratch/out" "$scratch/err")"
! grep 'has got VOCL' "$scratch/err" || fail "it is sent to who has it"
[ -L "$home/five/.cache/vocl/$id/bin/vocl-proxy" ] || fail "what is there is not used"
exit 0
