#!/bin/sh
# The files that `make install` puts into a folder are a complete VOCL: programs run with it, at the configured place.
. "$(dirname "$0")/lib.sh"
need_foreign_programs
need unshare util-linux
# value NAME: prints a variable of the build's Makefile
value()
{
    "$top_srcdir/packaging/value" "$top_builddir" "$1"
}
prefix=$(value prefix)
[ -d "$prefix" ] || skip "there is no $prefix here for the installation to lie over"
unshare -rm true 2> /dev/null || skip "no mount namespaces"

make -s --no-print-directory -C "$top_builddir" install DESTDIR="$scratch/new" > "$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
root=$scratch/new
for file in "$(value bindir)/vocl" "$(value bindir)/vocl-proxy" "$(value libdir)/$(value LIBVOCL)" "$(value mandir)/man1/vocl.1" \
        "$(value mandir)/man3/libxtq.3" "$(value mandir)/man3/libxtqmpi.3" "$(value mandir)/man3/libdevcom.3" \
        "$(value docdir)/README.md" "$(value docdir)/COPYING" "$(value docdir)/doc/admin/pool.md" "$(value pkgdatadir)/vendors/vocl.icd"; do
    [ -s "$root$file" ] || fail "no $file: $(find "$root" -type f)"
done
[ "$(cat "$root$(value pkgdatadir)/vendors/vocl.icd")" = "$(value libdir)/$(value LIBVOCL)" ] || fail "the ICD file names something else"
if [ -x "$VOCL_LIBEXECDIR/vocl-poold" ]; then
    [ ! -e "$VOCL_LIBEXECDIR/spank_vocl.so" ] || {
        [ -s "$root$(value pkglibexecdir)/spank_vocl.so" ] && [ -s "$root$(value pkgdatadir)/slurm/plugstack.conf" ]
    } || fail "no plugin for Slurm"
    for file in "$(value systemdsystemunitdir)/vocl-proxy.service" "$(value sysconfdir)/vocl/proxy.conf" \
            "$(value pkgdatadir)/slurm/prolog.sh" "$(value pkgdatadir)/slurm/epilog.sh"; do
        [ -s "$root$file" ] || fail "no $file: $(find "$root" -type f)"
        ! grep -H '@[a-z]*@' "$root$file" || fail "not filled in"
    done
    echo '# its owner was here' >> "$root$(value sysconfdir)/vocl/proxy.conf"
    make -s --no-print-directory -C "$top_builddir" install-data DESTDIR="$root" > "$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
    grep -q 'owner was here' "$root$(value sysconfdir)/vocl/proxy.conf" || fail "install replaces a configuration"
fi
# each pkg-config file names an installed library
for file in "$root$(value pkgconfigdir)"/*.pc; do
    library=$(sed -n 's/^Libs: .*-l//p' "$file")
    [ -e "$root$(value libdir)/lib$library.so" ] || fail "$file: no lib$library.so"
done
[ -z "$MPICC_MPICH" ] || [ -z "$MPICC_OPENMPI" ] || [ -s "$root$(value pkgconfigdir)/xtq-openmpi.pc" ] || fail "no xtq-openmpi.pc"
rm -f "$root$(value libdir)/libvocl.so" # development's

# there COMMAND...: runs the command with the installation in its place, and without the build tree
there()
{
    env -u VOCL_LIBEXECDIR PATH="$(value bindir):/usr/bin:/bin" unshare -rm sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' \
        "$root$prefix" "$prefix" "$@"
}
there sh -c 'command -v vocl' | grep -qx "$(value bindir)/vocl" || fail "no vocl on the PATH"
"$top_builddir/examples/vector_add" > "$scratch/native" || fail "vector_add natively"
cp "$top_builddir/examples/vector_add" "$scratch/vector_add"
there vocl devices > "$scratch/out" 2>&1 || fail "vocl devices: $(cat "$scratch/out")"
for method in preload icd; do
    there vocl run --interpose $method -- "$scratch/vector_add" > "$scratch/out" 2>&1 || fail "$method: $(cat "$scratch/out")"
    grep -q ', on ' "$scratch/out" || fail "$method: not through VOCL: $(cat "$scratch/out")"
    sed 's/, on .*//' "$scratch/out" | cmp -s - "$scratch/native" || fail "$method: $(cat "$scratch/out")"
done
there vocl topo --help > /dev/null || fail "vocl topo"
there vocl-proxy --help > "$scratch/out" || [ ! -x "$VOCL_LIBEXECDIR/vocl-poold" ] || fail "vocl-proxy"
[ ! -x "$VOCL_LIBEXECDIR/vocl-poold" ] || grep -qF "$(value sysconfdir)/vocl/proxy.conf" "$scratch/out" || fail "another configuration"

make -s --no-print-directory -C "$top_builddir" uninstall DESTDIR="$root" > "$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
left=$(find "$root" -type f | grep -v '/proxy.conf$')
[ -z "$left" ] || fail "uninstalled, but there are:" $left
exit 0
