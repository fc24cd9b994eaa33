/*
 * large_trace FOLDER N: writes to FOLDER the trace that a program of 2 N launches would leave, which would take long to
 * produce: N launches by calls of one thread, each with a kernel object of its own, and N by a thread that makes no
 * calls.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timeline.h"

#define AT_ONCE 100
#define KERNELS 1000 /* the IDs of kernels' names begin here */

static uint64_t launches;
static uint64_t began;

static void tell_sent(enum timeline_kind kind, uint64_t from, uint64_t number)
{
    const struct timeline_call sent = {number, 1, 1};

    timeline_put(kind, 0, from, from + 1, &sent, sizeof(sent));
}

static void *send_without_calls(void *unused)
{
    for (uint64_t i = 0; i < launches; i++)
        tell_sent(TIMELINE_SENT, began + 10 * i, launches + i);
    return unused;
}

/* Records in the form in which a worker sends them. */
struct note {
    uint8_t bytes[TIMELINE_MOST - 64];
    size_t length;
};

static void add(struct note *note, uint16_t kind, uint32_t which, uint64_t to, const void *more, size_t length)
{
    const size_t whole = (sizeof(struct timeline_record) + length + 7) & ~(size_t)7;
    const struct timeline_record head = {kind, (uint16_t)(whole / 8), which, began, to};

    memcpy(note->bytes + note->length, &head, sizeof(head));
    memcpy(note->bytes + note->length + sizeof(head), more, length);
    note->length += whole;
}

static void tell_commands(struct note *note, uint64_t first)
{
    note->length = 0;
    for (uint64_t i = first; i < first + AT_ONCE && i < 2 * launches; i++) {
        const uint64_t at = began + 10 * i;
        const struct timeline_command command = {.number = i,
                                                 .before = at,
                                                 .after = at + 1,
                                                 .times = {at, at + 1, at + 2, at + 5},
                                                 .queue = 1,
                                                 .name = 1,
                                                 .kernel = KERNELS + (uint32_t)i};

        const char *name = i % 2 ? "odd" : "even";

        add(note, TIMELINE_NAME, command.kernel, began, name, strlen(name) + 1);
        add(note, TIMELINE_COMMAND, 0, at + 6, &command, sizeof(command));
    }
    timeline_put(TIMELINE_WORKER, 1, began, began, note->bytes, note->length);
}

int main(int count, char **words)
{
    static struct note note;
    pthread_t thread;
    uint64_t there;

    if (count < 3 || timeline_start(words[1]))
        return 1;
    launches = strtoull(words[2], NULL, 10);
    there = began = timeline_on ? (uint64_t)clock_ns() : 0;
    timeline_put(TIMELINE_MEMBER, 1, began, began, "far", 4);
    timeline_put(TIMELINE_CLOCK, 1, began, began, &there, sizeof(there));
    add(&note, TIMELINE_NAME, 1, began, "enqueue_ndrange", 16);
    add(&note, TIMELINE_DEVICE, 0, began, "a device", 9);
    timeline_put(TIMELINE_WORKER, 1, began, began, note.bytes, note.length);
    if (pthread_create(&thread, NULL, send_without_calls, NULL))
        return 1;
    for (uint64_t i = 0; i < launches; i++)
        tell_sent(TIMELINE_CALL, began + 10 * i, i);
    for (uint64_t i = 0; i < 2 * launches; i += AT_ONCE)
        tell_commands(&note, i);
    pthread_join(thread, NULL);
    timeline_stop();
    return 0;
}
