/*
 * The executor, with the native OpenCL, against commands that are nearly right: valid ones of every kind in any order,
 * half of them with a number or two replaced by another object's, by an invalid one or by one at which sums wrap
 * around. The executor may refuse any of them, and continues with the next, so that many objects accumulate. usage:
 * mutate SEED COMMANDS
 */
#include <errno.h>
#include <stdio.h>
#include <sched.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include "executor/executor.h"
#include "tests/wire/client.h"
#include "wire/tables.h"

#define PEER 2 /* another worker, which never answers */
#define TAG 9
#define MOST_DONE 4096

static const char source[] = "kernel void touch(global int *data, int value, local int *part)\n"
                             "{\n"
                             "    if (data && get_global_id(0) < 16)\n"
                             "        data[get_global_id(0)] = value;\n"
                             "}\n";
static uint8_t bytes[65536];
static uint64_t address;                                 /* of a shared virtual memory allocation */
static const uint64_t chosen = UINT64_C(0x21f000000000); /* an address that no native allocation has */
static uint32_t fresh = OBJECT(1000);
static struct executor *executor;
static unsigned refused, sum; /* sum: of the data read */

/* ---- the executor's host: transfers complete at once, but not within the call that starts them ---- */

static struct {
    void (*done)(void *, int);
    void *argument;
} done[MOST_DONE];
static unsigned done_count;

static void host_send(void *owner, const void *command, size_t length)
{
    struct wire_cursor frame = wire_cursor(command, length), fields;
    struct wire_svm_alloc_reply reply;
    uint16_t number;

    (void)owner;
    while (wire_next(&frame, &number, &fields) == 1) {
        if (number == (WIRE_svm_alloc | WIRE_REPLY) && wire_get_svm_alloc_reply(&fields, &reply) && !reply.error &&
            reply.address != chosen)
            address = reply.address;
    }
}

static int host_send_peer(void *owner, unsigned peer, const void *command, size_t length)
{
    (void)owner, (void)command, (void)length;
    return peer == PEER ? 0 : -ECONNRESET;
}

static int later(void (*function)(void *, int), void *argument)
{
    if (done_count == MOST_DONE)
        return -ENOMEM;
    done[done_count].done = function;
    done[done_count++].argument = argument;
    return 0;
}

static int host_give(void *owner, unsigned peer, uint32_t tag, const void *memory, size_t length,
                     void (*function)(void *, int), void *argument)
{
    (void)owner, (void)tag;
    for (size_t i = 0; i < length; i += 64)
        sum += ((const uint8_t *)memory)[i];
    return peer == PEER || !peer ? later(function, argument) : -ECONNRESET;
}

static int host_take(void *owner, unsigned peer, uint32_t tag, void *memory, size_t length,
                     void (*function)(void *, int), void *argument)
{
    (void)owner, (void)tag;
    if (length > 16 << 20) /* no peer sends this much */
        return -EIO;
    memset(memory, 7, length);
    return peer == PEER || !peer ? later(function, argument) : -ECONNRESET;
}

static void host_collect(void *owner)
{
    (void)owner;
}

static void host_wake(void *owner)
{
    (void)owner;
}

static void run_done(void)
{
    for (unsigned i = 0; i < done_count; i++) /* a completion may start other transfers */
        done[i].done(done[i].argument, random_next() % 16 ? 0 : -ECONNRESET);
    done_count = 0;
}

/* ---- commands ---- */

#define Q .queue = OBJECT(1 + random_next() % 2)
#define E .event = random_next() % 2 ? ++fresh : 0
#define BUFFER OBJECT(1 + random_next() % 2)
#define IMAGE OBJECT(3)
#define PUT(name, ...)                                                                                                 \
    do {                                                                                                               \
        const struct wire_##name m = {__VA_ARGS__};                                                                    \
        wire_put_##name(out, &m);                                                                                      \
    } while (0)

static void put_arguments(struct wire_buffer *out, bool launch)
{
    struct wire_buffer list = {0};
    const uint32_t value = 7, memory = BUFFER;
    const uint64_t local = 64;

    for (uint32_t i = 0; i < 3; i++) {
        wire_put_u32(&list, i);
        wire_put_u32(&list, i == 0 ? WIRE_ARGUMENT_MEMORY : i == 1 ? WIRE_ARGUMENT_VALUE : WIRE_ARGUMENT_LOCAL);
        if (i == 2)
            wire_put_blob(&list, &local, sizeof(local));
        else
            wire_put_blob(&list, i ? &value : &memory, sizeof(value));
    }
    if (launch)
        PUT(enqueue_ndrange, Q, E, .kernel = OBJECT(1), .global_count = 1, .global = {16}, .local_count = 1,
            .local = {4}, .arguments = list.bytes, .arguments_length = (uint32_t)list.length);
    else
        PUT(set_arguments, OBJECT(1), list.bytes, (uint32_t)list.length);
    wire_buffer_free(&list);
}

static void put_buffer_command(struct wire_buffer *out, unsigned which)
{
    switch (which) {
    case 0:
        PUT(write_buffer, Q, E, .buffer = BUFFER, .offset = 64, .size = 64, .data = bytes, .data_length = 64);
        break;
    case 1:
        PUT(write_buffer, Q, E, .buffer = BUFFER, .size = 4096, .tag = TAG);
        break;
    case 2:
        PUT(read_buffer, Q, E, .buffer = BUFFER, .offset = 64, .size = 512, .tag = TAG);
        break;
    case 3:
        PUT(read_buffer, Q, E, .buffer = OBJECT(5), .size = 3 << 20, .tag = 0x80000000u | TAG);
        break;
    case 4:
        PUT(copy_buffer, Q, E, .source = OBJECT(1), .target = OBJECT(2), .source_offset = 8, .size = 256);
        break;
    case 5:
        PUT(fill_buffer, Q, E, .buffer = BUFFER, .pattern = bytes, .pattern_length = 4, .offset = 16, .size = 64);
        break;
    case 6:
        PUT(write_rect, Q, E, .buffer = BUFFER, .part = {WIRE_RECT, 16, {4, 1, 0}, {4, 4, 1}, {64, 256}}, .data = bytes,
            .data_length = 16);
        break;
    case 7:
        PUT(read_rect, Q, E, .buffer = BUFFER, .part = {WIRE_RECT, 128, {4, 1, 0}, {16, 4, 2}, {64, 256}}, .tag = TAG);
        break;
    case 8:
        PUT(copy_rect, Q, E, .source = OBJECT(1), .target = OBJECT(2), .source_origin = {0, 1, 0},
            .target_origin = {4, 0, 1}, .region = {16, 4, 2}, .source_row_pitch = 32, .source_slice_pitch = 256,
            .target_row_pitch = 64, .target_slice_pitch = 256);
        break;
    case 9:
        PUT(map_buffer, Q, E, .buffer = BUFFER, .flags = 3, .offset = 128, .size = 256);
        break;
    case 10:
        PUT(unmap_buffer, Q, E, .buffer = BUFFER, .address = (uintptr_t)bytes);
        break;
    case 11:
        PUT(write_buffer, Q, E, .buffer = OBJECT(5), .size = 3 << 20, .tag = 0x80000000u | TAG);
        break;
    }
}

static void put_image_command(struct wire_buffer *out, unsigned which)
{
    switch (which) {
    case 0:
        PUT(write_image, Q, E, .image = IMAGE, .part = {WIRE_IMAGE, 64, {1, 2, 0}, {4, 4, 1}, {0}}, .data = bytes,
            .data_length = 64);
        break;
    case 1:
        PUT(read_image, Q, E, .image = IMAGE, .part = {WIRE_IMAGE, 128, {1, 2, 0}, {8, 4, 1}, {0}}, .tag = TAG);
        break;
    case 2:
        PUT(copy_image, Q, E, .source = IMAGE, .target = IMAGE, .source_origin = {8, 0, 0}, .target_origin = {0, 4, 0},
            .region = {4, 4, 1});
        break;
    case 3:
        PUT(fill_image, Q, E, .image = IMAGE, .colour = bytes, .colour_length = 16, .origin = {1, 2, 0},
            .region = {4, 4, 1});
        break;
    case 4:
        PUT(copy_image_to_buffer, Q, E, .source = IMAGE, .target = BUFFER, .origin = {1, 2, 0}, .region = {4, 4, 1},
            .offset = 64);
        break;
    case 5:
        PUT(copy_buffer_to_image, Q, E, .source = BUFFER, .target = IMAGE, .offset = 64, .origin = {1, 2, 0},
            .region = {4, 4, 1});
        break;
    case 6:
        PUT(create_image, .image = ++fresh, .context = OBJECT(1), .flags = 1, .order = CL_RGBA,
            .type = CL_UNSIGNED_INT8, .object_type = CL_MEM_OBJECT_IMAGE2D, .width = 4, .height = 4, .bytes = 64,
            .data = bytes, .data_length = 64);
        break;
    case 7:
        PUT(create_image, .image = ++fresh, .context = OBJECT(1), .flags = 1, .order = CL_RGBA,
            .type = CL_UNSIGNED_INT8, .object_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .width = 64, .bytes = 256,
            .buffer = OBJECT(1));
        break;
    }
}

static void put_object_command(struct wire_buffer *out, unsigned which)
{
    const uint32_t device = 1, wait = OBJECT(1);

    switch (which) {
    case 0:
        PUT(create_buffer, ++fresh, OBJECT(1), 1, 256, 0, 0, bytes, 256);
        break;
    case 1:
        PUT(create_buffer, ++fresh, OBJECT(1), 1, 256, TAG, 0, NULL, 0);
        break;
    case 2:
        PUT(create_sub_buffer, ++fresh, OBJECT(1), 1, 1024, 256);
        break;
    case 3:
        PUT(create_pipe, ++fresh, OBJECT(1), 0, 64, 16);
        break;
    case 4:
        PUT(create_sampler, ++fresh, OBJECT(1), 1, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST);
        break;
    case 5:
        PUT(create_user_event, ++fresh, OBJECT(1));
        break;
    case 6:
        PUT(set_user_event, fresh, 0);
        break;
    case 7:
        PUT(subscribe_event, fresh, 1);
        break;
    case 8:
        PUT(release, WIRE_MEMORY, fresh);
        break;
    case 9:
        PUT(release_watched, 7, WIRE_MEMORY, fresh);
        break;
    case 10:
        PUT(outcome, 7, WIRE_EVENT, fresh);
        break;
    case 11:
        PUT(create_queue, ++fresh, OBJECT(1), 1, 0, (uint64_t[]){0x1096, 1}, 16);
        break;
    case 12:
        PUT(create_context, ++fresh, &device, 1);
        break;
    case 13:
        PUT(enqueue_marker, Q, E, .wait = &wait, .wait_count = 1);
        PUT(enqueue_place, Q, .event = ++fresh, .wait = &wait, .wait_count = 1);
        break;
    case 14:
        PUT(enqueue_barrier, Q, E);
        break;
    case 15:
        PUT(migrate, Q, E, .objects = &wait, .objects_count = 1);
        break;
    case 16:
        PUT(set_content_size, OBJECT(1), OBJECT(2));
        break;
    case 17:
        PUT(clone_kernel, ++fresh, OBJECT(1));
        break;
    case 18:
        PUT(create_kernel, ++fresh, OBJECT(1), "touch", 5);
        break;
    case 19:
        PUT(flush, OBJECT(1));
        break;
    case 20:
        PUT(timeline, 1);
        break;
    case 21:
        PUT(timeline_ask, 1);
        break;
    case 22:
        PUT(timeline_end, 7);
        break;
    }
}

static void put_far_command(struct wire_buffer *out, unsigned which)
{
    const uint32_t after = OBJECT(2);

    switch (which) {
    case 0:
        PUT(migrate_out, OBJECT(1), PEER, ++fresh, .part = PIECE(0, 512), .after = &after, .after_count = 1);
        break;
    case 1:
        PUT(migrate_out, IMAGE, PEER, ++fresh, .part = {WIRE_IMAGE, 64, {0, 1, 0}, {4, 4, 1}, {0}});
        break;
    case 2:
        PUT(migrate_out, OBJECT(1), PEER, ++fresh, .part = {WIRE_RECT, 128, {0, 1, 0}, {16, 4, 2}, {64, 512}});
        break;
    case 3:
        PUT(migrate_in, .queue = OBJECT(1), .memory = OBJECT(2), .event = ++fresh, .peer = PEER, .part = PIECE(0, 512));
        break;
    case 4:
        PUT(migrate_in, .queue = OBJECT(1), .memory = OBJECT(5), .event = ++fresh, .peer = PEER,
            .part = PIECE(0, 2 << 20));
        break;
    case 5:
        PUT(export_event, OBJECT(2), PEER);
        break;
    case 6:
        PUT(import_event, ++fresh, OBJECT(1));
        break;
    case 7:
        PUT(bring, OBJECT(1), PIECE(128, 64), .data = bytes, .data_length = 64);
        break;
    case 8:
        PUT(bring, IMAGE, {WIRE_IMAGE, 1024, {0}, {16, 16, 1}, {0}}, .tag = TAG);
        break;
    case 9:
        PUT(take, OBJECT(1), PIECE(128, 64), .tag = TAG);
        break;
    case 10:
        PUT(changes, 7, OBJECT(1), 0, 4096, bytes, 8);
        break;
    case 11:
        PUT(lose_worker, PEER);
        break;
    case 12:
        PUT(keep, OBJECT(1), ++fresh, PIECE(128, 64));
        break;
    case 13:
        PUT(keep_too, ++fresh, PEER, 64);
        break;
    case 14:
        PUT(keep, OBJECT(1), ++fresh, PIECE(128, 64));
        PUT(bring_kept, OBJECT(1), fresh, PIECE(128, 64));
        break;
    case 15:
        PUT(keep_no_more, fresh);
        break;
    }
}

static void put_address_command(struct wire_buffer *out, unsigned which)
{
    switch (which) {
    case 0:
        PUT(svm_alloc, 7, OBJECT(1), 0, 1, 4096, 64);
        break;
    case 1:
        PUT(write_svm, Q, E, .address = address, .size = 64, .data = bytes, .data_length = 64);
        break;
    case 2:
        PUT(read_svm, Q, E, .address = address + 64, .size = 256, .tag = TAG);
        break;
    case 3:
        PUT(copy_svm, Q, E, .target = address, .source = address + 1024, .size = 512);
        break;
    case 4:
        PUT(fill_svm, Q, E, .address = address, .size = 512, .pattern = bytes, .pattern_length = 4);
        break;
    case 5:
        PUT(usm_alloc, 7, OBJECT(1), 1, WIRE_USM_DEVICE, 4096, 64, bytes, 16);
        break;
    case 6:
        PUT(hint_usm, Q, E, .what = WIRE_HINT_MIGRATE, .address = address, .size = 64);
        break;
    case 7:
        PUT(create_addressed_buffer, 7, ++fresh, OBJECT(1), 1, 4096);
        break;
    case 8:
        PUT(set_svm_pointers, OBJECT(1), &address, 8);
        break;
    case 9:
        PUT(set_exec_info, OBJECT(1), 0x4203, &address, 8);
        break;
    case 10:
        PUT(read_shared, Q, E, .memory = OBJECT(1), .part = PIECE(0, 64), .address = address);
        break;
    case 11:
        PUT(bring_svm, chosen + 64, 128, 0, bytes, 128);
        break;
    case 12:
        PUT(bring_svm, chosen, 4096, TAG, NULL, 0);
        break;
    case 13:
        PUT(take_svm, chosen + 32, 512, TAG);
        break;
    case 14:
        PUT(write_shared, Q, E, .memory = IMAGE, .part = {WIRE_IMAGE, 64, {0}, {4, 4, 1}, {0}}, .address = address,
            .shared_pitch_count = 2, .shared_pitch = {64, 256});
        break;
    }
}

static void put_query(struct wire_buffer *out, unsigned which)
{
    const uint64_t flags = CL_MEM_READ_WRITE;

    switch (which) {
    case 0:
        PUT(get_info, 7, WIRE_INFO_MEMORY, OBJECT(1), 0, CL_MEM_SIZE, NULL, 0);
        break;
    case 1:
        PUT(get_info, 7, WIRE_INFO_IMAGE, IMAGE, 0, CL_IMAGE_WIDTH, NULL, 0);
        break;
    case 2:
        PUT(get_info, 7, WIRE_INFO_BUILD, OBJECT(1), 1, CL_PROGRAM_BUILD_LOG, NULL, 0);
        break;
    case 3:
        PUT(get_info, 7, WIRE_INFO_KERNEL, OBJECT(1), 0, CL_KERNEL_NUM_ARGS, NULL, 0);
        break;
    case 4:
        PUT(get_info, 7, WIRE_INFO_KERNEL_ARGUMENT, OBJECT(1), 1, CL_KERNEL_ARG_NAME, NULL, 0);
        break;
    case 5:
        PUT(get_info, 7, WIRE_INFO_WORK_GROUP, OBJECT(1), 1, CL_KERNEL_WORK_GROUP_SIZE, NULL, 0);
        break;
    case 6:
        PUT(get_info, 7, WIRE_INFO_IMAGE_FORMATS, OBJECT(1), CL_MEM_OBJECT_IMAGE2D, 0, &flags, sizeof(flags));
        break;
    case 7:
        PUT(get_info, 7, WIRE_INFO_TIMERS, 1, 0, 0, NULL, 0);
        break;
    case 8:
        PUT(get_info, 7, WIRE_INFO_BINARIES, OBJECT(1), 0, 0, NULL, 0);
        break;
    case 9:
        PUT(get_info, 7, WIRE_INFO_EVENT, OBJECT(2), 0, CL_EVENT_COMMAND_EXECUTION_STATUS, NULL, 0);
        break;
    case 10:
        PUT(describe_device, 7, 1);
        PUT(describe_node, 8, 0);
        break;
    }
}

static void put_plain(struct wire_buffer *out)
{
    switch (random_next() % 7) {
    case 0:
    case 1:
        put_buffer_command(out, (unsigned)random_next() % 12);
        break;
    case 2:
        put_image_command(out, (unsigned)random_next() % 8);
        break;
    case 3:
        put_object_command(out, (unsigned)random_next() % 23);
        break;
    case 4:
        put_far_command(out, (unsigned)random_next() % 16);
        break;
    case 5:
        put_address_command(out, (unsigned)random_next() % 15);
        break;
    case 6:
        put_query(out, (unsigned)random_next() % 11);
        break;
    }
}

/* ---- changes ---- */

static void change(struct wire_buffer *out, size_t from)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       2,
                                       4095,
                                       4097,
                                       UINT32_MAX,
                                       UINT32_MAX - 7,
                                       INT32_MAX,
                                       OBJECT(1),
                                       OBJECT(2),
                                       OBJECT(3),
                                       OBJECT(77),
                                       0x80000001u,
                                       UINT64_MAX,
                                       UINT64_MAX - 7,
                                       UINT64_C(1) << 63,
                                       (UINT64_C(1) << 63) - 16,
                                       UINT64_C(1) << 40,
                                       UINT64_C(1) << 32};
    const size_t words = (out->length - from) / 4;

    for (uint64_t changes = 1 + random_next() % 2; words && changes; changes--) {
        const size_t at = from + random_next() % words * 4;
        const uint64_t number = numbers[random_next() % (sizeof(numbers) / sizeof(*numbers))];

        memcpy(out->bytes + at, &number, random_next() % 2 && at + 8 <= out->length ? 8 : 4);
    }
}

/* Puts a recorded command, which may be changed as well. */
static void put_recorded(struct wire_buffer *out)
{
    struct wire_buffer command = {0};
    const uint32_t object = OBJECT(1 + random_next() % 4);

    if (random_next() % 8 == 0)
        PUT(create_command_buffer, object, OBJECT(1), random_next() % 2);
    if (random_next() % 3)
        put_buffer_command(&command, 4 + (unsigned)random_next() % 5);
    else
        put_image_command(&command, 2 + (unsigned)random_next() % 4);
    if (command.length > WIRE_HEADER && random_next() % 2)
        change(&command, WIRE_HEADER);
    PUT(record, object, NULL, 0, command.bytes, (uint32_t)command.length);
    wire_buffer_free(&command);
    if (random_next() % 8 == 0)
        PUT(finalize_command_buffer, 7, object);
    if (random_next() % 8 == 0)
        PUT(enqueue_command_buffer, .queue = OBJECT(1), .command_buffer = object);
}

static void run(struct wire_buffer *out)
{
    refused += executor_run(executor, out->bytes, out->length) != 0;
    out->length = 0;
}

static void step(struct wire_buffer *out)
{
    if (random_next() % 8 == 0) {
        put_recorded(out);
    } else if (random_next() % 8 == 0) { /* unchanged: PoCL ends the process for some wrong sizes */
        put_arguments(out, random_next() % 2);
    } else {
        put_plain(out);
        if (out->length > WIRE_HEADER && random_next() % 2)
            change(out, WIRE_HEADER);
    }
    run(out);
    run_done();
    executor_poll(executor);
    executor_check(executor);
}

static void prologue(struct wire_buffer *out)
{
    const uint32_t device = 1;

    PUT(list_platforms, 1);
    PUT(describe_platform, 2, 0);
    PUT(create_context, OBJECT(1), &device, 1);
    PUT(create_queue, OBJECT(1), OBJECT(1), 1, 0, NULL, 0);
    PUT(create_queue, OBJECT(2), OBJECT(1), 1, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL, 0);
    PUT(create_buffer, OBJECT(1), OBJECT(1), 1, 4096, 0, 0, NULL, 0);
    PUT(create_buffer, OBJECT(2), OBJECT(1), 1, 4096, 0, 0, NULL, 0);
    PUT(create_image, .image = OBJECT(3), .context = OBJECT(1), .flags = 1, .order = CL_RGBA, .type = CL_UNSIGNED_INT8,
        .object_type = CL_MEM_OBJECT_IMAGE2D, .width = 16, .height = 16, .bytes = 1024);
    PUT(create_sub_buffer, OBJECT(4), OBJECT(1), 1, 1024, 256);
    PUT(create_buffer, OBJECT(5), OBJECT(1), 1, 3 << 20, 0, 0, NULL, 0);
    PUT(create_program, OBJECT(1), OBJECT(1), source, sizeof(source) - 1);
    PUT(build_program, .call = 3, .program = OBJECT(1), .devices = &device, .devices_count = 1, .with_options = 1);
    PUT(create_user_event, OBJECT(1), OBJECT(1));
    PUT(set_user_event, OBJECT(1), 0);
    PUT(enqueue_marker, .queue = OBJECT(1), .event = OBJECT(2));
    PUT(svm_alloc, 7, OBJECT(1), 0, 1, 4096, 64);
    PUT(svm_alloc, 7, OBJECT(1), chosen, 1, 8192, 0);
    run(out);
    for (int i = 0; i < 20000 && executor_poll(executor) == 0; i++) /* the build */
        usleep(1000);
    PUT(create_kernel, OBJECT(1), OBJECT(1), "touch", 5);
    run(out);
}

int main(int count, char **arguments)
{
    const struct executor_host host = {.send = host_send,
                                       .send_peer = host_send_peer,
                                       .give = host_give,
                                       .take = host_take,
                                       .collect = host_collect,
                                       .wake = host_wake,
                                       .zero_copy = count > 3,
                                       .memory = 64 << 20,
                                       .members = 3,
                                       .own = 1,
                                       .pipeline = 2};
    const long commands = count > 2 ? strtol(arguments[2], NULL, 10) : 0;
    struct wire_buffer out = {0};

    if (commands <= 0)
        return 99;
    setenv("VOCL_WORKER", "1", 1);
    random_seed(strtoull(arguments[1], NULL, 10));
    if (executor_open(&host, &executor))
        return 1;
    prologue(&out);
    if (refused)
        return 1;
    for (long i = 0; i < commands; i++)
        step(&out);
    printf("%ld commands, %u refused\n", commands, refused);
    fflush(stdout);
    _exit(0); /* without the native OpenCL's teardown */
}
