# What every test has in its environment, whether make runs it (run-test) or somebody by hand (lib.sh): `. environment.sh`,
# with $VOCL_LIBEXECDIR set. No test depends on the user's own caches, settings or home.
environment_builddir=${VOCL_LIBEXECDIR%/libexec}

# Compilers, what starts MPI's programs (empty where VOCL was built without that MPI), and the sanitizer.
. "$environment_builddir/tests/configured.sh"

# Kernels compiled once serve the native run and the runs through VOCL alike. Who may not write there has folders of his own.
for environment_cache in POCL_CACHE_DIR:pocl-cache VOCL_CACHE:vocl-cache; do
    environment_folder=$environment_builddir/tests/${environment_cache#*:}
    if ! mkdir -p "$environment_folder" 2> /dev/null || [ ! -w "$environment_folder" ]; then
        environment_folder=${TMPDIR:-/tmp}/vocl-tests-$(id -u)/${environment_cache#*:}
        mkdir -p "$environment_folder" || exit 99
    fi
    export "${environment_cache%:*}=$environment_folder"
done

# Open MPI counts cores and asks who runs it; a test machine may be small and a container is often root.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# A busy machine may keep a process from running for a long time. Tests that are not about silence are patient; lib.sh has
# about_silence for the others.
: "${VOCL_PEER_TIMEOUT:=120}" "${VOCL_START_TIMEOUT:=120}"
export VOCL_PEER_TIMEOUT VOCL_START_TIMEOUT
