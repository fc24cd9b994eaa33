#!/bin/sh
# A session lacks a resource, from the beginning or from some moment on: the program gets an error or right results, and
# nothing is left. VOCL_SILENT=all: tests more phases.
. "$(dirname "$0")/silent-lib.sh"
need_foreign_programs
need prlimit util-linux
with_own_memory

few_descriptors()
{
    begin $1 2 sh -c "ulimit -n $2; exec \"\$@\"" sh vocl run --workers 2 --
    since=$(uptime_of)
    go 3
    ended_with 0 1 2 3 126 127 -- "$2 descriptors"
    nothing_left "$2 descriptors"
}
for limit in 8 12 20 28 40 64; do
    for phase in $(every start launches); do
        beside few_descriptors $phase $limit
    done
done
little_memory()
{
    begin $1 2 unshare -m sh -c "mount -t tmpfs -o size=${2}k none /dev/shm && exec \"\$@\"" sh vocl run --workers 2 --
    since=$(uptime_of)
    go 3
    ended_with 0 1 3 32 -- "$2 KiB of /dev/shm"
    nothing_left "$2 KiB of /dev/shm"
}
for kilobytes in 4 64 1024; do
    for phase in $(every launches nodes); do
        beside little_memory $phase $kilobytes
    done
done
# from now on no process gets more than it has
no_more()
{
    begin $1 2 vocl run --workers 2 --
    since=$(uptime_of)
    for victim in $(processes $3); do
        now=4
        [ $2 != as ] || now=$(awk '/^VmSize/ { print $2 * 1024 + 4194304 }' "/proc/$victim/status")
        prlimit --pid "$victim" "--$2=$now"
    done
    go 5
    ended_with 0 3 134 139 -- "no more $2 for $3"
    nothing_left "no more $2 for $3"
}
for what in as nofile nproc; do
    for name in phases vocl-proxy; do
        for phase in $(every read build); do
            beside no_more $phase $what $name
        done
    done
done
well_beside

no_files_left
exit 0
