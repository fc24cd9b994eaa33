/*
 * The executor, with the native OpenCL, while the contents of a new object are under way: this program is the
 * executor's host, and delivers them when it chooses. Commands that do not use the object run meanwhile; those that use
 * it, or an object made from it, wait, however they name it. usage: contents [mapped]
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include "base/hash.h"
#include "executor/executor.h"
#include "tests/wire/client.h"
#include "wire/tables.h"

#define PUT(name, ...) wire_put_##name(&out, &(const struct wire_##name){__VA_ARGS__})
#define WANTED(number) .event = OBJECT(number), .subscribe = 1u << CL_COMPLETE
#define EXPECT(condition)                                                                                              \
    if (!(condition))                                                                                                  \
    fail(#condition, __LINE__)

enum { SIZE = 1 << 20, ACROSS = 64, DOWN = 128, CONTENTS = 7, ROUNDS = 20, PATIENCE = 30000, EVENTS = 4096 };

static const char source[] = "kernel void ends(global const uchar *from, global uchar *to, int size)\n"
                             "{\n"
                             "    to[0] = from[0], to[1] = from[size - 1];\n"
                             "}\n";
static struct executor *executor;
static struct wire_buffer out;
static bool over[EVENTS], answered;
static uint8_t got[64], changed[4];
static uint32_t next_event = 100;

/* ---- the executor's host ---- */

static struct {
    void (*done)(void *, int);
    void *argument, *memory;
    size_t length;
} coming; /* the contents under way, and where they go */

static void fail(const char *what, int line)
{
    printf("contents.c:%d: not %s\n", line, what);
    fflush(stdout);
    _exit(1);
}

static void host_send(void *owner, const void *command, size_t length)
{
    struct wire_cursor frame = wire_cursor(command, length), fields;
    struct wire_event_status status;
    struct wire_read_data data;
    struct wire_changes_reply changes;
    uint16_t number;

    (void)owner;
    while (wire_next(&frame, &number, &fields) == 1) {
        if (number == WIRE_event_status && wire_get_event_status(&fields, &status)) {
            EXPECT(!status.status);
            over[status.event & (EVENTS - 1)] = true;
        } else if (number == WIRE_read_data && wire_get_read_data(&fields, &data)) {
            EXPECT(!data.status && data.data_length <= sizeof(got));
            memcpy(got, data.data, data.data_length);
        } else if (number == (WIRE_changes | WIRE_REPLY) && wire_get_changes_reply(&fields, &changes)) {
            EXPECT(!changes.error && changes.changed_length <= sizeof(changed));
            memcpy(changed, changes.changed, changes.changed_length);
            answered = true;
        }
    }
}

static int host_send_peer(void *owner, unsigned peer, const void *command, size_t length)
{
    (void)owner, (void)peer, (void)command, (void)length;
    return -ECONNRESET;
}

static int host_give(void *owner, unsigned peer, uint32_t tag, const void *memory, size_t length,
                     void (*function)(void *, int), void *argument)
{
    (void)owner, (void)peer, (void)tag, (void)memory, (void)length, (void)function, (void)argument;
    return -EIO;
}

static int host_take(void *owner, unsigned peer, uint32_t tag, void *memory, size_t length,
                     void (*function)(void *, int), void *argument)
{
    (void)owner, (void)peer;
    EXPECT(tag == CONTENTS && !coming.done);
    coming.done = function;
    coming.argument = argument;
    coming.memory = memory;
    coming.length = length;
    return 0;
}

static void nothing(void *owner)
{
    (void)owner;
}

/* ---- the session ---- */

static void run(void)
{
    EXPECT(!executor_run(executor, out.bytes, out.length));
    out.length = 0;
}

static void poll_once(void)
{
    EXPECT(executor_poll(executor) >= 0);
    executor_check(executor);
    usleep(1000);
}

static void until(const bool *condition, const char *what, int line)
{
    for (int i = 0; i < PATIENCE && !*condition; i++)
        poll_once();
    if (!*condition)
        fail(what, line);
}
#define UNTIL(condition) until(&(condition), #condition, __LINE__)
#define IS_OVER(event) over[(event) & (EVENTS - 1)]

/* Runs commands that do not use the contents, in a queue of their own. */
static void others_go_on(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        const uint32_t event = ++next_event;

        PUT(fill_buffer, .queue = OBJECT(3), .buffer = OBJECT(9), WANTED(event), .pattern = "abcd", .pattern_length = 4,
            .size = 4096);
        run();
        UNTIL(IS_OVER(event));
    }
}

static void contents_arrive(uint8_t first)
{
    for (int i = 0; i < PATIENCE && !coming.done; i++)
        poll_once();
    EXPECT(coming.done);
    for (size_t i = 0; i < coming.length; i++)
        ((uint8_t *)coming.memory)[i] = (uint8_t)(first + i % 251);
    coming.done(coming.argument, 0);
    coming.done = NULL;
}

static void new_buffer(uint32_t id)
{
    PUT(create_buffer, .buffer = OBJECT(id), .context = OBJECT(1), .flags = 1, .size = SIZE, .tag = CONTENTS);
}

static uint8_t expected(uint8_t first, size_t at)
{
    return (uint8_t)(first + at % 251);
}

static void read_try(uint32_t memory, uint32_t queue, uint8_t first, size_t from)
{
    const uint32_t event = ++next_event;

    memset(got, 0, sizeof(got));
    PUT(read_buffer, .queue = OBJECT(queue), .buffer = OBJECT(memory), WANTED(event), .offset = 16, .size = 32,
        .tag = 11);
    run();
    others_go_on();
    EXPECT(!IS_OVER(event));
    contents_arrive(first);
    UNTIL(IS_OVER(event));
    for (size_t i = 0; i < 32; i++)
        EXPECT(got[i] == expected(first, from + 16 + i));
}

static void objects_try(void)
{
    for (uint32_t queue = 1; queue <= 2; queue++) {
        new_buffer(20 + queue);
        read_try(20 + queue, queue, (uint8_t)queue, 0);
        new_buffer(30 + queue);
        PUT(create_sub_buffer, .buffer = OBJECT(40 + queue), .parent = OBJECT(30 + queue), .flags = 1, .origin = 4096,
            .size = 4096);
        read_try(40 + queue, queue, (uint8_t)(3 * queue), 4096);
    }
}

static void image_try(void)
{
    const uint32_t event = ++next_event;

    PUT(create_image, RGBA_IMAGE(OBJECT(50), ACROSS, DOWN), .bytes = 4 * ACROSS * DOWN, .tag = CONTENTS);
    PUT(read_image, .queue = OBJECT(1), .image = OBJECT(50), WANTED(event), .tag = 11,
        .part = {.kind = WIRE_IMAGE, .size = 32, .origin = {0, 1, 0}, .region = {8, 1, 1}});
    run();
    others_go_on();
    EXPECT(!IS_OVER(event));
    contents_arrive(77);
    UNTIL(IS_OVER(event));
    for (size_t i = 0; i < 32; i++)
        EXPECT(got[i] == expected(77, 4 * ACROSS + i));
}

/* The first launch sets the arguments, and later ones keep them. */
static void launch(uint32_t event, bool with_arguments)
{
    const uint32_t from = OBJECT(60), to = OBJECT(61), size = SIZE;
    const uint32_t *const values[] = {&from, &to, &size};
    struct wire_buffer list = {0};

    for (uint32_t i = 0; i < 3 && with_arguments; i++) {
        wire_put_u32(&list, i);
        wire_put_u32(&list, i < 2 ? WIRE_ARGUMENT_MEMORY : WIRE_ARGUMENT_VALUE);
        wire_put_blob(&list, values[i], sizeof(uint32_t));
    }
    PUT(enqueue_ndrange, .queue = OBJECT(with_arguments ? 1 : 2), .kernel = OBJECT(1), WANTED(event), .global_count = 1,
        .global = {1}, .arguments = list.bytes, .arguments_length = (uint32_t)list.length);
    wire_buffer_free(&list);
}

static void launches_try(void)
{
    const uint32_t first = ++next_event, second = ++next_event, read = ++next_event;

    PUT(create_buffer, .buffer = OBJECT(61), .context = OBJECT(1), .flags = 1, .size = 64);
    new_buffer(60);
    launch(first, true);
    launch(second, false);
    run();
    others_go_on();
    EXPECT(!IS_OVER(first) && !IS_OVER(second));
    contents_arrive(99);
    UNTIL(IS_OVER(first));
    UNTIL(IS_OVER(second));
    PUT(read_buffer, .queue = OBJECT(1), .buffer = OBJECT(61), WANTED(read), .size = 2, .tag = 11);
    run();
    UNTIL(IS_OVER(read));
    EXPECT(got[0] == expected(99, 0) && got[1] == expected(99, SIZE - 1));
}

/* A command without a queue is answered when the contents have arrived, and later commands wait, too. */
static void changes_try(void)
{
    static uint8_t same[WIRE_GRANULE];
    const uint32_t event = ++next_event;
    uint64_t hashes[2];

    for (size_t i = 0; i < sizeof(same); i++)
        same[i] = expected(5, i);
    hashes[0] = hash_bytes(same, sizeof(same));
    hashes[1] = ~hash_bytes(same, sizeof(same));
    new_buffer(70);
    PUT(changes, .call = 5, .memory = OBJECT(70), .size = 2 * WIRE_GRANULE, .hashes = hashes,
        .hashes_length = sizeof(hashes));
    PUT(enqueue_marker, .queue = OBJECT(3), WANTED(event));
    run();
    for (int i = 0; i < ROUNDS; i++)
        poll_once();
    EXPECT(!answered && !IS_OVER(event));
    contents_arrive(5);
    UNTIL(answered);
    UNTIL(IS_OVER(event));
    EXPECT(!changed[0] && changed[1]);
}

/* The contents of a released object complete all the same, and nothing waits for them. */
static void released_try(void)
{
    new_buffer(80);
    PUT(release, .kind = WIRE_MEMORY, .object = OBJECT(80));
    run();
    others_go_on();
    contents_arrive(1);
    others_go_on();
}

static void prologue(void)
{
    const uint32_t device = 1;

    PUT(list_platforms, .call = 1);
    PUT(describe_platform, .call = 2);
    PUT(create_context, .context = OBJECT(1), .devices = &device, .devices_count = 1);
    PUT(create_queue, .queue = OBJECT(1), .context = OBJECT(1), .device = 1);
    PUT(create_queue, .queue = OBJECT(2), .context = OBJECT(1), .device = 1,
        .properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    PUT(create_queue, .queue = OBJECT(3), .context = OBJECT(1), .device = 1);
    PUT(create_buffer, .buffer = OBJECT(9), .context = OBJECT(1), .flags = 1, .size = 4096);
    PUT(create_program, .program = OBJECT(1), .context = OBJECT(1), .source = source,
        .source_length = sizeof(source) - 1);
    PUT(build_program, .call = 3, .program = OBJECT(1), .devices = &device, .devices_count = 1, .with_options = 1);
    PUT(enqueue_marker, .queue = OBJECT(1), WANTED(2));
    run();
    UNTIL(over[2]);
    for (int i = 0; i < PATIENCE && executor_poll(executor) == 0; i++) /* the build */
        usleep(1000);
    PUT(create_kernel, .kernel = OBJECT(1), .program = OBJECT(1), .name = "ends", .name_length = 4);
    run();
}

int main(int count, char **arguments)
{
    const struct executor_host host = {.send = host_send,
                                       .send_peer = host_send_peer,
                                       .give = host_give,
                                       .take = host_take,
                                       .collect = nothing,
                                       .wake = nothing,
                                       .zero_copy = count > 1,
                                       .memory = 256 << 20,
                                       .members = 2,
                                       .own = 1,
                                       .pipeline = 2};

    (void)arguments;
    setenv("VOCL_WORKER", "1", 1);
    if (executor_open(&host, &executor))
        return 1;
    prologue();
    others_go_on();
    objects_try();
    image_try();
    launches_try();
    changes_try();
    released_try();
    printf("%u commands went on meanwhile\n", next_event - 100);
    fflush(stdout);
    _exit(0); /* without the native OpenCL's teardown */
}
