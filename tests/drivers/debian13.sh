#!/bin/sh
# Debian 13's drivers of a node, PoCL 6 and rusticl on llvmpipe, and its ICD loader: in a chroot of Debian 13, programs
# print the same as natively with both interposition methods. The same for programs on this system with their worker
# there, as on another host. `./quickstart test` makes the chroot in build/debian13 (make-debian13).
. "$(dirname "$0")/../lib.sh"
at_most 1800
need_foreign_programs
[ "$SANITIZER" = no ] || skip "Debian 13 is made without the libraries of sanitizers"
system=$top_builddir/debian13
[ -e "$system/etc/OpenCL" ] ||
    skip "no Debian 13: $(tail -n 1 "$top_builddir/debian13.why" 2> /dev/null | grep . || echo "./quickstart test makes it")"
[ "$(id -u)" = 0 ] || skip "only root can change into another system"
unset VOCL_HOSTS VOCL_WORKERS VOCL_LOCAL VOCL_MPI VOCL_POOL
export VOCL_NETWORK=auto
mkdir "$scratch/pocl" "$scratch/rusticl"
cp "$system/etc/OpenCL/vendors/pocl.icd" "$scratch/pocl/"
cp "$system/etc/OpenCL/vendors/rusticl.icd" "$scratch/rusticl/"
parity=$top_builddir/tests/parity

# there DRIVER COMMAND...: runs the command in Debian 13, where nodes have this driver
there()
{
    driver=$1
    shift
    env RUSTICL_ENABLE=llvmpipe OCL_ICD_VENDORS="$scratch/$driver" "$top_srcdir/tests/drivers/in-debian13" "$system" "$@"
}
! command -v spirv-as > /dev/null || # for il
    spirv-as --target-env spv1.2 -o "$scratch/scale.spv" "$top_srcdir/tests/drivers/scale.spvasm" || fail "spirv-as"
[ ! -e "$scratch/scale.spv" ] || export VOCL_TEST_IL="$scratch/scale.spv"
there pocl "$parity/vector_add" > "$scratch/out" 2>&1 || skip "Debian 13 does not run here: $(tail -n 3 "$scratch/out")"

# Not in these lists: programs that crash, hang or fail natively on the driver, and those whose output differs in what
# OpenCL leaves open; doc/user/opencl-support.md has the reasons.
pocl="device_info command_buffer extensions argument_sizes blocking_writes buffer_ops build_callback callback_ends
    callback_waits callbacks contents descriptors effects errors_buffer errors_context errors_event errors_image
    errors_kernel errors_pipe errors_platform_device errors_program errors_queue errors_svm events events_over
    exit_variants first_calls halo host_access host_pointer host_pointer_devices host_pointer_life image_creation
    images includes info_queries kernel_info kernel_printf large_moves long_lists many_copies many_devices
    many_launches map_unmap native_kernel nbody no_release one_device one_place profiling programs reduction relay
    several_contexts sgemm smith_waterman sub_devices svm threads transpose unused user_events vector_add"
rusticl="device_info callbacks includes blocking_writes build_callback contents descriptors errors_pipe exit_variants
    first_calls halo host_pointer_life il kernel_printf large_moves nbody no_release
    one_device one_place profiling reduction several_contexts sgemm smith_waterman sub_devices threads transpose
    unused vector_add"

for driver in pocl rusticl; do
    eval "programs=\$$driver"
    for name in $(few 3 $programs); do
        there $driver "$top_srcdir/tests/run-parity" "$parity/$name" > "$scratch/tap" 2>&1
        [ "$(grep -c '^ok [12] - [a-z]*$' "$scratch/tap")" = 2 ] || fail "$driver: $name: $(cat "$scratch/tap")"
    done
done

# elsewhere HOST COMMAND: stands for ssh to a host with Debian 13, whose own variable enables rusticl
cat > "$scratch/elsewhere" <<END
#!/bin/sh
export RUSTICL_ENABLE=llvmpipe
exec "$top_srcdir/tests/drivers/in-debian13" "$system" sh -c "\$2"
END
chmod +x "$scratch/elsewhere"

for driver in pocl rusticl; do
    for name in $(few 1 vector_add contents map_unmap nbody sgemm transpose reduction smith_waterman large_moves many_launches); do
        there $driver "$parity/$name" > "$scratch/native" 2> "$scratch/err" || fail "$driver: $name natively: $(cat "$scratch/err")"
        for method in preload icd; do
            env VOCL_RSH="$scratch/elsewhere" VOCL_SHARE=0 RUSTICL_ENABLE=none VOCL_NATIVE_ICD_VENDORS="$scratch/$driver" \
                vocl run --hosts debian13 --network ssh --interpose $method -- "$parity/$name" > "$scratch/out" 2> "$scratch/err" ||
                fail "$driver: the worker of $name is there, $method: $(cat "$scratch/err")"
            diff "$scratch/native" "$scratch/out" || fail "$driver: the worker of $name is there, $method: prints something else"
        done
    done
done
