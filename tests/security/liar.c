/*
 * A worker that lies: it serves a session as vocl-proxy --worker does, whose place it takes in lies.sh, but changes its
 * messages to the program. VOCL_LIE names one lie, or is the seed of many; without it the worker does not lie.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include "base/log.h"
#include "executor/executor.h"
#include "tests/draw.h"
#include "transport/transport.h"
#include "wire/tables.h"
#include "wire/wire.h"

struct liar {
    struct transport *transport;
    struct executor *executor;
    struct wire_buffer notes;
    const char *lie;       /* NULL: random lies */
    uint64_t random, odds; /* odds: one message in so many is changed at random */
    bool over;
};

static bool lies(const struct liar *liar, const char *lie)
{
    return liar->lie && !strcmp(liar->lie, lie);
}

/* ---- named lies ---- */

/* Removes the ends of all texts in answers of all lengths. */
static void endless_infos(struct wire_buffer *out, const void *infos, uint32_t length)
{
    struct wire_cursor in = wire_cursor(infos, length);
    const void *value;
    uint32_t param, size;

    while (wire_get_info(&in, &param, &value, &size)) {
        uint8_t *copy = malloc(size + 1);

        memcpy(copy, value, size);
        if (size > 8 && !copy[size - 1]) {
            for (uint32_t i = 0; i < size; i++)
                copy[i] = copy[i] ? copy[i] : 'x';
        }
        wire_put_info(out, param, copy, size);
        free(copy);
    }
}

/* Lies in a node's description: in each info table of devices, and with platforms in those of platforms. */
static bool lie_in_node(struct liar *liar, struct wire_cursor *fields, bool platforms,
                        void (*lie)(struct wire_buffer *, const void *, uint32_t))
{
    struct wire_describe_node_reply reply;
    struct wire_buffer description = {0}, table = {0};
    struct wire_cursor in;

    if (!wire_get_describe_node_reply(fields, &reply))
        return false;
    in = wire_cursor(reply.description, reply.description_length);
    while (in.left && !in.failed) {
        uint32_t length, count;
        const void *infos = wire_get_blob(&in, &length);

        table.length = 0;
        if (platforms)
            lie(&table, infos, length);
        else
            wire_put_bytes(&table, infos, length);
        wire_put_blob(&description, table.bytes, table.length);
        count = wire_get_u32(&in);
        wire_put_u32(&description, count);
        for (uint32_t i = 0; i < count && !in.failed; i++) {
            wire_put_u32(&description, wire_get_u32(&in));
            infos = wire_get_blob(&in, &length);
            table.length = 0;
            lie(&table, infos, length);
            wire_put_blob(&description, table.bytes, table.length);
        }
    }
    reply.description = description.bytes;
    reply.description_length = (uint32_t)description.length;
    wire_put_describe_node_reply(&liar->notes, &reply);
    wire_buffer_free(&description);
    wire_buffer_free(&table);
    return true;
}

/* Lies in answers to queries; long answers are not numbers. */
static bool lie_in_info(struct liar *liar, struct wire_cursor *fields)
{
    static uint8_t many[1 << 20];
    struct wire_get_info_reply reply;
    uint64_t size = sizeof(many) - 8;

    if (!wire_get_get_info_reply(fields, &reply) || reply.error)
        return false;
    memset(many, 'x', sizeof(many));
    if (lies(liar, "binary") && reply.value_length > 256) {
        memcpy(many, &size, sizeof(size));
        reply.value = many;
        reply.value_length = sizeof(many);
    } else if (lies(liar, "text") && reply.value_length > 8) {
        reply.value = many;
    }
    wire_put_get_info_reply(&liar->notes, &reply);
    return true;
}

static bool lie_in_count(struct liar *liar, struct wire_cursor *fields, bool again)
{
    struct wire_create_sub_devices_reply reply;

    if (!wire_get_create_sub_devices_reply(fields, &reply))
        return false;
    reply.count = again ? 100000 : 2;
    reply.error = 0;
    reply.infos_length /= 2;
    wire_put_create_sub_devices_reply(&liar->notes, &reply);
    return true;
}

/* Sets numbers to 0, such as alignments and dimensions. */
static void zero_infos(struct wire_buffer *out, const void *infos, uint32_t length)
{
    struct wire_cursor in = wire_cursor(infos, length);
    const uint8_t zeroes[64] = {0};
    const void *value;
    uint32_t param, size;

    while (wire_get_info(&in, &param, &value, &size))
        wire_put_info(out, param,
                      size > 8 || param == CL_DEVICE_TYPE || param == CL_DEVICE_MAX_MEM_ALLOC_SIZE ? value : zeroes,
                      size);
}

/* Answers a read twice, and announces it as bulk data as well. */
static bool lie_twice(struct liar *liar, struct wire_cursor *fields)
{
    struct wire_read_data data;
    struct wire_read_ready ready;

    if (!wire_get_read_data(fields, &data))
        return false;
    ready.tag = data.tag;
    wire_put_read_data(&liar->notes, &data);
    wire_put_read_data(&liar->notes, &data);
    wire_put_read_ready(&liar->notes, &ready);
    return true;
}

/* Sends a status of success with an unknown number. */
static bool lie_of_status(struct liar *liar, struct wire_cursor *fields)
{
    struct wire_read_data data;

    if (!wire_get_read_data(fields, &data))
        return false;
    data.status = 1;
    data.data_length = 1;
    wire_put_read_data(&liar->notes, &data);
    return true;
}

static bool lie_as_named(struct liar *liar, uint16_t number, struct wire_cursor *fields)
{
    static unsigned counts;

    switch (number) {
    case WIRE_describe_node | WIRE_REPLY:
        return lies(liar, "text") ? lie_in_node(liar, fields, true, endless_infos)
                                  : lies(liar, "zero") && lie_in_node(liar, fields, false, zero_infos);
    case WIRE_get_info | WIRE_REPLY:
        return (lies(liar, "binary") || lies(liar, "text")) && lie_in_info(liar, fields);
    case WIRE_create_sub_devices | WIRE_REPLY:
        return lies(liar, "count") && lie_in_count(liar, fields, counts++ >= 2);
    case WIRE_read_data:
        return lies(liar, "twice") ? lie_twice(liar, fields) : lies(liar, "status") && lie_of_status(liar, fields);
    }
    return false;
}

/* ---- random lies ---- */

static void change(struct liar *liar, uint8_t *bytes, size_t length)
{
    static const uint32_t words[] = {0,          1,     2,  0x7fffffff, 0x80000000, UINT32_MAX, UINT32_MAX - 3,
                                     0x01000001, 65536, 255};
    const size_t count = length / 4;

    for (uint64_t changes = 1 + draw(&liar->random) % 3; count && changes; changes--) {
        const size_t at = draw(&liar->random) % count * 4;
        const uint32_t word = words[draw(&liar->random) % (sizeof(words) / sizeof(*words))];

        if (draw(&liar->random) % 2)
            memcpy(bytes + at, &word, sizeof(word));
        else
            bytes[draw(&liar->random) % length] ^= (uint8_t)(1u << draw(&liar->random) % 8);
    }
}

static void lie_at_random(struct liar *liar, const uint8_t *command, size_t length)
{
    const size_t before = liar->notes.length;

    wire_put_bytes(&liar->notes, command, length);
    if (draw(&liar->random) % liar->odds)
        return;
    switch (draw(&liar->random) % 8) {
    case 0: /* sent twice */
        wire_put_bytes(&liar->notes, command, length);
        break;
    case 1: /* not sent */
        liar->notes.length = before;
        break;
    default: /* half of the call's number stays, so that the program waits for it */
        if (!liar->notes.failed && length > WIRE_HEADER + 4)
            change(liar, liar->notes.bytes + before + WIRE_HEADER + (draw(&liar->random) % 8 ? 4 : 0),
                   length - WIRE_HEADER - 4);
    }
}

/* ---- the worker ---- */

static void host_send(void *owner, const void *command, size_t length)
{
    struct wire_cursor frame = wire_cursor(command, length), fields, copy;
    struct liar *liar = owner;
    const uint8_t *at = command;
    uint16_t number;

    while (wire_next(&frame, &number, &fields) == 1) {
        copy = fields;
        if (!liar->lie)
            lie_at_random(liar, at, (size_t)(frame.at - at));
        else if (!lie_as_named(liar, number, &copy))
            wire_put_bytes(&liar->notes, at, (size_t)(frame.at - at));
        at = frame.at;
    }
}

static int host_send_peer(void *owner, unsigned peer, const void *command, size_t length)
{
    (void)owner, (void)peer, (void)command, (void)length;
    return -ECONNRESET;
}

static int host_give(void *owner, unsigned peer, uint32_t tag, const void *memory, size_t length,
                     void (*done)(void *, int), void *argument)
{
    return transport_give(((struct liar *)owner)->transport, peer, tag, memory, length, done, argument);
}

static int host_take(void *owner, unsigned peer, uint32_t tag, void *memory, size_t length, void (*done)(void *, int),
                     void *argument)
{
    return transport_take(((struct liar *)owner)->transport, peer, tag, memory, length, done, argument);
}

static void host_collect(void *owner)
{
    (void)owner;
}

static void host_wake(void *owner)
{
    transport_wake(((struct liar *)owner)->transport);
}

static int on_frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    return peer ? -EBADMSG : executor_run(((struct liar *)owner)->executor, bytes, length);
}

static void on_lost(void *owner, unsigned peer, const char *why)
{
    (void)peer, (void)why;
    ((struct liar *)owner)->over = true;
}

int main(void)
{
    const char *named = getenv("VOCL_LIE"), *lie = named ? named : "none";
    struct liar liar = {.lie = *lie < '0' || *lie > '9' ? lie : NULL,
                        .random = strtoull(lie, NULL, 10) * 0x9e3779b97f4a7c15u};
    const struct transport_callbacks callbacks = {.owner = &liar, .frame = on_frame, .lost = on_lost};
    struct executor_host host = {.owner = &liar,
                                 .send = host_send,
                                 .send_peer = host_send_peer,
                                 .give = host_give,
                                 .take = host_take,
                                 .collect = host_collect,
                                 .wake = host_wake,
                                 .zero_copy = true,
                                 .pipeline = 2,
                                 .members = 2,
                                 .own = 1};
    const struct timespec nap = {0, 100000};
    char why[512] = "";

    liar.odds = 4 + draw(&liar.random) % 120; /* some runs get far before the first lie */
    setenv("VOCL_WORKER", "1", 1);
    if (executor_open(&host, &liar.executor) || transport_open_worker(&callbacks, why, sizeof(why), &liar.transport)) {
        fprintf(stderr, "liar: %s\n", why);
        return 1;
    }
    while (!liar.over) {
        if (transport_poll(liar.transport) + executor_poll(liar.executor) == 0)
            nanosleep(&nap, NULL);
        executor_check(liar.executor);
        if (liar.notes.length && transport_send(liar.transport, 0, liar.notes.bytes, liar.notes.length) != -EAGAIN)
            liar.notes.length = 0;
    }
    transport_close(liar.transport);
    _exit(0);
}
