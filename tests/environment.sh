# Sets the environment of every test, whether make runs it (run-test) or a person does (lib.sh): `. environment.sh`,
# with $VOCL_LIBEXECDIR set. No test depends on the user's own caches, settings or home.
environment_builddir=${VOCL_LIBEXECDIR%/libexec}

# Reads the compilers, the commands that start MPI programs (empty where VOCL was built without that MPI), and the
# sanitizer.
. "$environment_builddir/tests/configured.sh"

# Paths below $TMPDIR go through sed and into configuration files.
case $TMPDIR in
*[!A-Za-z0-9/._-]*) unset TMPDIR ;;
esac
[ -z "$TMPDIR" ] || [ -d "$TMPDIR" ] || unset TMPDIR

# The tests' own home, and messages in the language that the tests read.
environment_own=${TMPDIR:-/tmp}/vocl-tests-$(id -u)
mkdir -p -m 700 "$environment_own" && mkdir -p "$environment_own/home" || exit 99
HOME=$environment_own/home LC_ALL=C
export HOME LC_ALL
unset XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR LANGUAGE

# The native run and the runs through VOCL share caches of compiled kernels. A user who may not write there has his own.
for environment_cache in POCL_CACHE_DIR:pocl-cache VOCL_CACHE:vocl-cache; do
    environment_folder=$environment_builddir/tests/${environment_cache#*:}
    if ! mkdir -p "$environment_folder" 2> /dev/null || [ ! -w "$environment_folder" ]; then
        environment_folder=$environment_own/${environment_cache#*:}
        mkdir -p "$environment_folder" || exit 99
    fi
    export "${environment_cache%:*}=$environment_folder"
done

# Open MPI counts cores and refuses root; a test machine may be small, and in a container the user is often root.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# A loaded machine may keep a process from running for a long time. Tests that are not about silence therefore wait
# long; the others call about_silence of lib.sh.
: "${VOCL_PEER_TIMEOUT:=120}" "${VOCL_START_TIMEOUT:=120}"
export VOCL_PEER_TIMEOUT VOCL_START_TIMEOUT

# Parity programs use their largest sizes (parity_modest()) only where they are tested themselves: in run-parity, which
# unsets this, and in make check-stress. For the dozens of runs whose sessions are disturbed, smaller sizes will do.
[ "${VOCL_TEST_ROUNDS:-1}" != 1 ] || : "${VOCL_TEST_MODEST=1}"
export VOCL_TEST_MODEST
