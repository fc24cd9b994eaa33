/*
 * cross_memory LIE: a worker (this program in vocl-proxy's place) announces where bulk data are that the program takes,
 * and the announcement is false: prints "taken" or "not taken". cross_memory names: lists the lies, of which the first
 * is the truth.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/session/both_sides.h"
#include "transport/stream/stream.h"

enum { LENGTH = 100000, TAG = 77, PATIENCE_MS = 20000 };

static const char *const lies[] = {"truth", "nowhere", "around", "nonce", "witness", "no id",   "nothing", "more",
                                   "huge",  "far",     "twice",  "short", "long",    "took it", "beyond",  "too late"};

static bool ended, taken;
static uint8_t buffer[LENGTH + 16], nonce[CROSS_MEMORY_WITNESS] = "a good witness";

static bool is(const char *lie, const char *one)
{
    return !strcmp(lie, one);
}

static void turn(void)
{
    if (transport_poll(t))
        return;
    transport_announce(t);
    if (!transport_poll(t))
        transport_sleep(t, -1, 100000);
}

/* ---- the worker ---- */

static void change(struct cross_memory_offer *offer, const char *lie)
{
    struct cross_memory_place *place = &offer->place;

    place->address = is(lie, "nowhere")  ? 4096
                     : is(lie, "around") ? UINT64_MAX - LENGTH / 2
                     : is(lie, "beyond") ? (uint64_t)1 << 56
                                         : place->address;
    place->witness = is(lie, "witness") ? 4096 : place->witness;
    place->nonce[0] ^= is(lie, "nonce");
    offer->id = !is(lie, "no id");
    offer->length = is(lie, "nothing") ? 0 : is(lie, "more") ? LENGTH + 1 : is(lie, "huge") ? UINT64_MAX : LENGTH;
    offer->turn = is(lie, "far") ? 1u << 30 : is(lie, "too late") ? UINT32_MAX : 0;
}

static void lie_about(const char *lie)
{
    struct cross_memory_offer offer[2] = {{.tag = TAG + (is(lie, "twice") ? WAY_BUCKETS : 0)}};
    size_t length = sizeof(*offer);

    offer->place.address = (uintptr_t)buffer;
    offer->place.witness = (uintptr_t)nonce;
    memcpy(offer->place.nonce, nonce, sizeof(nonce));
    memset(buffer, 7, sizeof(buffer));
    change(offer, lie);
    length = is(lie, "short") ? length - 1 : is(lie, "long") ? length + 1 : length;
    for (int i = 0; i < 1 + is(lie, "twice"); i++)
        link_say(t, 0, is(lie, "took it") ? FRAME_TOOK : FRAME_THERE, offer, is(lie, "took it") ? 8 : length);
}

static int worker_frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    uint32_t number;

    (void)owner;
    if (peer || length != sizeof(number))
        return -EBADMSG;
    memcpy(&number, bytes, sizeof(number));
    lie_about(lies[number]);
    return 0;
}

static int work(void)
{
    if (!open_worker(worker_frame))
        return 1;
    while (!over)
        turn();
    _exit(0);
}

/* ---- the program ---- */

static void done(void *argument, int status)
{
    (void)argument;
    ended = true;
    taken = !status;
}

static int try(uint32_t number)
{
    const long until = clock_ms() + PATIENCE_MS;
    bool right = true;

    if (!open_program())
        return 1;
    if (transport_send(t, 1, &number, sizeof(number)) || transport_take(t, 1, TAG, buffer, LENGTH, done, NULL))
        return puts("nothing can be sent or taken"), 1;
    while (!ended && clock_ms() < until)
        turn();
    for (size_t i = 0; i < sizeof(buffer); i++)
        right &= buffer[i] == (i < LENGTH ? 7 : 0);
    for (size_t i = LENGTH; i < sizeof(buffer); i++)
        ended &= !buffer[i]; /* nothing is written beyond the buffer */
    puts(!ended ? "hangs" : !taken ? "not taken" : right ? "taken" : "wrong");
    transport_close(t);
    return 0;
}

int main(int count, char **arguments)
{
    const uint32_t all = sizeof(lies) / sizeof(*lies);

    if (count > 1 && is(arguments[1], "--worker"))
        return work();
    for (uint32_t i = 0; count > 1 && i < all; i++) {
        if (is(arguments[1], "names"))
            puts(lies[i]);
        else if (is(arguments[1], lies[i]))
            return try(i);
    }
    return count < 2;
}
