#!/bin/sh
# Checks the recipes in packaging/ as far as this machine can: Spack's is run with a stand-in for Spack; shells parse
# what Docker and Apptainer would run; the spec file names exactly the files that `make install` installs, and rpm
# parses it and makes a source package. packaging/check builds the packages themselves.
. "$(dirname "$0")/lib.sh"
need python3 python3
packaging=$top_srcdir/packaging
version=$(sed -n 's/^AC_INIT(\[[^]]*\], *\[\([^]]*\)\].*/\1/p' "$top_srcdir/configure.ac")
[ -n "$version" ] || fail "configure.ac has no version"

# ---- Spack: each choice of variants becomes options that configure has ----

mkdir -p "$scratch/spack"
cat > "$scratch/spack/__init__.py" < /dev/null
cat > "$scratch/spack/package.py" <<'END'
"""What of Spack's a recipe uses: directives are kept, a spec has the variants that are on."""
variants, dependencies, versions = {}, {}, []
def version(name, **_): versions.append(name)
def variant(name, default=False, description="", when=None): variants[name] = when
def depends_on(spec, type=None, when=None): dependencies[spec.split("@")[0]] = when
class Executable:
    def __init__(self, path): self.path = path
class AutotoolsPackage:
    def with_or_without(self, name): return [f"--{'with' if name in self.on else 'without'}-{name}"]
    def enable_or_disable(self, name): return [f"--{'enable' if name in self.on else 'disable'}-{name}"]
class Place(str):
    def __getattr__(self, name): return Place(f"{self}/{name}")
class Spec:
    def __init__(self, on): self.on = on
    def satisfies(self, what): return what[0] == "+" and what[1:] in self.on
    def __getitem__(self, name):
        assert name in dependencies, f"{name} is no dependency"
        package = Spec(set())
        package.prefix = Place(f"/opt/{name}")
        return package
END
cat > "$scratch/choose.py" <<'END'
import itertools, sys
sys.path.insert(0, sys.argv[1])
import spack.package as stand_in
scope = {}
exec(compile(open(sys.argv[2]).read(), sys.argv[2], "exec"), scope)
package = scope["Vocl"]()
assert stand_in.versions and package.__doc__
for when in list(stand_in.variants.values()) + list(stand_in.dependencies.values()):
    assert when is None or when[1:] in stand_in.variants, f"{when} is no variant"
for size in range(len(stand_in.variants) + 1):
    for on in itertools.combinations(stand_in.variants, size):
        package.on, package.spec = set(on), stand_in.Spec(set(on))
        print(*package.configure_args())
END
PYTHONDONTWRITEBYTECODE=1 python3 "$scratch/choose.py" "$scratch" "$packaging/spack/package.py" > "$scratch/options" 2> "$scratch/err" ||
    fail "Spack's recipe: $(cat "$scratch/err")"
"$top_srcdir/configure" --help > "$scratch/help"
tr ' ' '\n' < "$scratch/options" | sed -e 's/=.*//' -e 's/^--with\(out\)*-//' -e 's/^--\(en\|dis\)able-//' -e '/^[A-Z]/d' | sort -u | while read -r option; do
    grep -qE -e "^ +--(with|without|enable|disable)-$option([=[ ]|\$)" "$scratch/help" || { echo "FAILED: configure has nothing about $option"; exit 1; }
done || exit 1

# ---- libraries: those that configure looks for by pkg-config, and what each recipe calls them ----

cat > "$scratch/names" <<'END'
OpenCL ocl-icd-opencl-dev ocl-icd-devel ocl-icd
avahi-client libavahi-client-dev avahi-devel avahi
grpc_unsecure libgrpc-dev grpc-devel grpc
hwloc libhwloc-dev hwloc-devel hwloc@2:
jansson libjansson-dev jansson-devel jansson
libconfig libconfig-dev libconfig-devel libconfig
libcrypto libssl-dev openssl-devel openssl@3:
libdw libdw-dev elfutils-devel elfutils
libevent_core libevent-dev libevent-devel libevent
libevent_extra libevent-dev libevent-devel libevent
libmicrohttpd libmicrohttpd-dev libmicrohttpd-devel libmicrohttpd
libprotobuf-c libprotobuf-c-dev protobuf-c-devel protobuf-c
libsodium libsodium-dev libsodium-devel libsodium
libssl libssl-dev openssl-devel openssl@3:
libzstd libzstd-dev libzstd-devel zstd
munge libmunge-dev munge-devel munge
ncursesw libncurses-dev ncurses-devel ncurses
END
sed -n -e 's/^ *VOCL_OPTIONAL(\[[A-Z]*\], \[\([^]]*\)\].*/\1/p' -e 's/^ *PKG_CHECK_MODULES(\[[A-Z]*\], \[\([^] ]*\).*/\1/p' \
    "$top_srcdir/configure.ac" | tr ' ' '\n' | grep '^[A-Za-z]' | LC_ALL=C sort -u > "$scratch/modules"
cut -d ' ' -f 1 "$scratch/names" | diff "$scratch/modules" - || fail "configure looks for these libraries, recipes for those"
while read -r module debian fedora spack; do
    grep -q "^ $debian,\$" "$top_srcdir/debian/control" || fail "$module: debian/control has no $debian"
    grep -qwF -e "$debian" "$top_srcdir/quickstart" || fail "$module: quickstart has no $debian"
    grep -q "^BuildRequires:.* $fedora\( \|\$\)" "$packaging/vocl.spec" || fail "$module: the spec file has no $fedora"
    grep -q "depends_on(\"$spack\"" "$packaging/spack/package.py" || fail "$module: Spack's recipe has no $spack"
done < "$scratch/names"

# ---- Docker, Apptainer ----

# joins continued lines: one instruction a line
sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' "$packaging/Dockerfile" | grep -v -e '^#' -e '^ *$' > "$scratch/Dockerfile"
! grep -vE '^(ARG|FROM|ENV|COPY|RUN|USER|CMD) ' "$scratch/Dockerfile" || fail "no instructions of Docker's"
sed -n 's/^RUN //p' "$scratch/Dockerfile" > "$scratch/run"
[ -s "$scratch/run" ] && sh -n "$scratch/run" 2> "$scratch/err" || fail "Dockerfile: $(cat "$scratch/err")"
sed -n 's/^CMD //p' "$scratch/Dockerfile" | python3 -c 'import json, sys; assert isinstance(json.load(sys.stdin), list)' || fail "CMD is no list"
[ "$(grep -c '^FROM.* AS build$' "$scratch/Dockerfile")" = 1 ] && grep -q '^COPY --from=build ' "$scratch/Dockerfile" || fail "stages"
[ "$(grep -v '^ *$' "$packaging/vocl.def" | grep -v '^#' | head -n 2 | cut -d : -f 1 | tr '\n' ' ')" = "Bootstrap From " ] ||
    fail "no header of Apptainer's"
! grep '^%' "$packaging/vocl.def" | grep -vxE '%(files|post|environment|runscript|startscript|test|labels|help|setup)( .*)?' ||
    fail "no sections of Apptainer's"
for section in post runscript 'test'; do
    awk -v section="%$section" '/^%/ { in_it = $1 == section; next } in_it' "$packaging/vocl.def" > "$scratch/run"
    [ -s "$scratch/run" ] && sh -n "$scratch/run" 2> "$scratch/err" || fail "vocl.def, $section: $(cat "$scratch/err")"
done
# both install the command, and exactly those of our packages that it needs
needed=vocl
for round in 1 2 3; do
    needed=$(for package in $needed; do
        echo "$package"
        sed -n "/^Package: $package\$/,/^\$/s/^Depends: //p" "$top_srcdir/debian/control" | tr ',' '\n' | sed -n 's/^ *\([a-z0-9-]*\) (= ${binary:Version}).*/\1/p'
    done | sort -u)
done
[ "$(echo "$needed" | wc -l)" -gt 1 ] || fail "what vocl needs is not found: $needed"
for file in "$scratch/Dockerfile" "$packaging/vocl.def"; do
    [ "$(grep -o '\.\./[a-z0-9-]*_\*\.deb' "$file" | sed 's,^\.\./\(.*\)_.*,\1,' | sort -u)" = "$needed" ] ||
        fail "$file installs other packages of ours than $(echo $needed)"
    ! grep -E '(\.\.|/build)/\*\.deb' "$file" || fail "$file installs all packages"
done

# ---- Kubernetes ----

kubernetes=$packaging/kubernetes
sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' "$kubernetes/Dockerfile" | sed -n 's/^RUN //p' > "$scratch/run"
[ -s "$scratch/run" ] && sh -n "$scratch/run" 2> "$scratch/err" || fail "the Dockerfile for Kubernetes: $(cat "$scratch/err")"
for python in python3 /usr/bin/python3; do
    "$python" -c 'import yaml' 2> /dev/null && break
    python=
done
if [ -n "$python" ]; then
    "$python" - "$kubernetes" <<'END' > "$scratch/err" 2>&1 || fail "manifests for Kubernetes: $(cat "$scratch/err")"
import glob, re, subprocess, sys, yaml
folder = sys.argv[1]

def container_scripts(text):
    for document in yaml.safe_load_all(text):
        pod = document.get("spec", {}) if document["kind"] == "Pod" else document.get("spec", {}).get("template", {}).get("spec", {})
        volumes = {volume["name"] for volume in pod.get("volumes", [])}
        for container in pod.get("initContainers", []) + pod.get("containers", []):
            used = {mount["name"] for mount in container.get("volumeMounts", [])}
            assert used <= volumes, f"{container['name']} mounts {used - volumes}"
            yield container["command"][-1]

def check(text):
    for script in container_scripts(text):
        subprocess.run(["sh", "-n", "-c", script], check=True)

for path in glob.glob(f"{folder}/*.yaml"):
    check(open(path).read())
# The chart, for which Helm would be needed: every value that a template uses exists, and the rest is YAML.
values = yaml.safe_load(open(f"{folder}/chart/values.yaml"))
assert yaml.safe_load(open(f"{folder}/chart/Chart.yaml"))["apiVersion"] == "v2"
for path in glob.glob(f"{folder}/chart/templates/*.yaml"):
    text = open(path).read()
    for name in re.findall(r"\.Values\.(\w+)", text):
        assert name in values, f"{path}: no value {name}"
    assert len(re.findall(r"{{-? *(?:range|with|if)\b", text)) == len(re.findall(r"{{-? *end\b", text)), f"{path}: no end"
    text = re.sub(r"^ *{{-.*}}\n", "", text, flags=re.M)
    check(re.sub(r"{{.*?}}", "x", text))
END
else
    echo "the manifests for Kubernetes were not read: no YAML for Python (package python3-yaml)"
fi

# ---- RPM ----

# value NAME: prints a variable of the build's Makefile
value()
{
    "$top_srcdir/packaging/value" "$top_builddir" "$1"
}
# also under another make, with jobs and options about folders
printf 'all:\n\t@"%s" "%s" VERSION > "%s"\n' "$packaging/value" "$top_builddir" "$scratch/version" | make -w -j2 -f - > "$scratch/out" 2>&1 ||
    fail "a value under make: $(cat "$scratch/out")"
[ "$(cat "$scratch/version")" = "$version" ] && [ "$(value VERSION)" = "$version" ] || fail "the version is $(cat "$scratch/version")"
[ -z "$(value NO_SUCH_VARIABLE)" ] || fail "a variable that there is not has a value"
grep -q "^Version: *$version\$" "$packaging/vocl.spec" || fail "the spec file is not of version $version"
head -n 1 "$top_srcdir/debian/changelog" | grep -qF "($version" || fail "debian/changelog is not of version $version"
make -s --no-print-directory -C "$top_builddir" install DESTDIR="$scratch/all" > "$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
(cd "$scratch/all" && find . ! -type d ! -name '*.la' ! -name '*openmpi*' ! -name vocl-placeholder | sed 's/^\.//' | sort) > "$scratch/files"
{
    for name in bindir libdir libexecdir datadir mandir includedir sysconfdir; do
        echo "%{_$name} $(value $name)"
    done
    echo "%{_docdir} $(dirname "$(value docdir)")"
    echo "%{_unitdir} $(value systemdsystemunitdir)"
    echo "%{_sysusersdir} /usr/lib/sysusers.d"
    echo "%{_tmpfilesdir} /usr/lib/tmpfiles.d"
    echo "%{name} vocl"
} > "$scratch/macros"
# What Debian's helpers install by file name the spec file installs itself: a group, folders, log rotation.
for file in "$top_srcdir"/debian/vocl-proxy.sysusers "$top_srcdir"/debian/vocl-proxy.tmpfiles "$top_srcdir"/debian/vocl-proxy.logrotate; do
    place=$(sed -n "s,^install -D -p -m 644 debian/${file##*/} %{buildroot}\(.*\),\1,p" "$packaging/vocl.spec")
    [ -n "$place" ] && [ -s "$file" ] || fail "the spec file has nothing of ${file##*/}"
    while read -r macro at; do
        place=$(echo "$place" | sed "s,$macro,$at,g")
    done < "$scratch/macros"
    echo "$place" >> "$scratch/files"
done
for other in "$top_srcdir"/debian/vocl*.cron* "$top_srcdir"/debian/vocl*.udev "$top_srcdir"/debian/vocl*.default; do
    [ ! -e "$other" ] || fail "the spec file knows nothing of ${other##*/}"
done
group=$(sed -n 's/^g \([a-z]*\) .*/\1/p' "$top_srcdir/debian/vocl-proxy.sysusers")
grep -q "groupadd --system $group\$" "$packaging/vocl.spec" || fail "the spec file makes no group $group"
python3 - "$packaging/vocl.spec" "$scratch/files" "$scratch/macros" <<'END' || fail "what the spec file names is not what is installed"
import fnmatch, re, sys
macros = dict(line.split() for line in open(sys.argv[3]) if len(line.split()) == 2)
files = open(sys.argv[2]).read().split()
patterns, listing = [], False
for line in open(sys.argv[1]):
    if re.match(r"%\w", line) and line.split()[0] in ("%files", "%package", "%description", "%prep", "%build", "%install", "%changelog"):
        listing = line.startswith("%files")
        continue
    words = line.split()
    if not listing or not words or words[0] in ("%license", "%dir", "%ghost"):
        continue
    pattern = words[-1]
    for _ in range(3):
        for macro, value in macros.items():
            pattern = pattern.replace(macro, value)
    patterns.append((line.strip(), pattern))
missing = {file for file in files if not any(fnmatch.fnmatch(file, p) or file.startswith(p + "/") or
                                              fnmatch.fnmatch(file, p + "/*") for _, p in patterns)}
idle = [line for line, p in patterns if not any(fnmatch.fnmatch(f, p) or f.startswith(p + "/") for f in files)]
for file in sorted(missing):
    print("not in the spec file:", file)
for line in idle:
    print("names nothing:", line)
# without a pool there is no unit, and no configuration
sys.exit(bool(missing) or not all("unitdir" in line or "sysconfdir" in line for line in idle))
END

if command -v rpmspec > /dev/null; then
    rpmspec --parse "$packaging/vocl.spec" > "$scratch/parsed" 2> "$scratch/err" || fail "rpmspec: $(cat "$scratch/err")"
    [ "$(rpmspec --query --queryformat '%{name} %{version}\n' "$packaging/vocl.spec" 2> "$scratch/err" | sort | tr '\n' ' ')" = \
        "vocl $version vocl-devel $version " ] || fail "rpmspec: $(cat "$scratch/err")"
else
    echo "rpm has not read the spec file: no rpmspec (package rpm)"
fi
if command -v rpmbuild > /dev/null && git -C "$top_srcdir" rev-parse HEAD > /dev/null 2>&1; then
    mkdir -p "$scratch/rpm/SOURCES"
    git -C "$top_srcdir" archive --prefix="vocl-$version/" HEAD | gzip -1 > "$scratch/rpm/SOURCES/vocl-$version.tar.gz"
    rpmbuild -bs --nodeps --define "_topdir $scratch/rpm" "$packaging/vocl.spec" > "$scratch/out" 2>&1 || fail "rpmbuild: $(cat "$scratch/out")"
    [ -s "$scratch/rpm/SRPMS/vocl-$version-1.src.rpm" ] || fail "no source package: $(cat "$scratch/out")"
else
    echo "no source package was made: no rpmbuild (package rpm), or no repository"
fi
exit 0
