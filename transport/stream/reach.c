/*
 * Bulk data of two members of one host that have sockets between them, by cross memory attach: the giver says where in
 * its memory they are, and the taker has the kernel copy them from there into its own memory (process_vm_readv), once
 * instead of through a socket. So nobody writes to another's memory. Whose memory is read the kernel says, with what
 * comes through the socket (plain.c): a member that lies has the taker read nobody else's.
 *
 * What cannot be read so goes through the sockets after all: the system may forbid it (Yama, seccomp, another user or
 * namespace), and a device's memory may not be such as can be read. Each time the taker also reads, after the bytes,
 * what only the giver has: its witness. It is gone before memory that was given is its owner's again without having
 * been taken, so whoever finds it has read what was meant.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/socket.h"
#include "transport/stream/plain.h"
#include "transport/stream/stream.h"

#define LEAST (16u << 10)  /* what is less goes through a socket as fast */
#define AT_ONCE (4u << 20) /* bytes, and then there is something else to be looked at */

/* Frames: of who gives; and of who has taken it, or could not. */
struct reach_answer {
    uint32_t id, failed;
};

/* ---- the witness ---- */

/* Yama lets nobody read but who has started a process, or was named by it, and there is room for one name: anybody of
 * this user, as without Yama. MPI does the same. */
static void let_others_read(void)
{
    static bool done;

    if (!done && prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0))
        vocl_log(LOG_DEBUG, "there is no Yama");
    done = true;
}

/* In a page that no child has. */
static bool have_witness(struct streams *streams)
{
    void *page;

    if (streams->reach.witness)
        return true;
    page = mmap(NULL, REACH_WITNESS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    if (madvise(page, REACH_WITNESS, MADV_WIPEONFORK) || getrandom(page, REACH_WITNESS, 0) != REACH_WITNESS) {
        munmap(page, REACH_WITNESS);
        return false;
    }
    streams->reach.witness = page;
    let_others_read();
    return true;
}

static void drop_witness(struct streams *streams)
{
    streams->reach.able = false;
    if (!streams->reach.witness)
        return;
    explicit_bzero(streams->reach.witness, REACH_WITNESS);
    __sync_synchronize(); /* as atomic_thread_fence(), which the thread sanitizer refuses here */
}

/* ---- giving ---- */

/* A socket of TCP has nobody's user, and another user's memory is not to be read. */
static bool is_within_host(const struct streams *streams)
{
    return streams->frames.by == &plain_plugin && !streams->tunnelled && socket_same_user(streams->frames.socket.fd);
}

void reach_open(struct streams *streams)
{
    streams->reach.within_host = is_within_host(streams);
    streams->reach.able = streams->reach.within_host && settings_number(SETTING_CROSS_MEMORY);
    TAILQ_INIT(&streams->reach.given);
    TAILQ_INIT(&streams->reach.taking);
}

void reach_close(struct streams *streams)
{
    if (streams->reach.witness)
        munmap(streams->reach.witness, REACH_WITNESS);
    streams->reach.witness = NULL;
}

void reach_expect(struct transport *t, struct bulk *bulk)
{
    if (bulk->near || !streams_of(t, bulk->peer)->reach.able || bulk->length < LEAST)
        return;
    bulk->near = true;
    t->near_bulks++;
}

bool reach_give(struct transport *t, struct bulk *bulk)
{
    struct streams *streams = streams_of(t, bulk->peer);
    struct reach_offer offer = {.id = bulk->tls.id,
                                .tag = bulk->tag,
                                .turn = bulk->tls.turn,
                                .length = bulk->length,
                                .place = {.address = (uintptr_t)bulk->memory}};

    if (!bulk->near || !have_witness(streams))
        return false;
    offer.place.witness = (uintptr_t)streams->reach.witness;
    memcpy(offer.place.nonce, streams->reach.witness, REACH_WITNESS);
    if (link_say(t, bulk->peer, FRAME_THERE, &offer, sizeof(offer)))
        return false;
    bulk_list(bulk, &streams->reach.given);
    return true;
}

static bool answered(struct transport *t, unsigned peer, const uint8_t *bytes, size_t length)
{
    struct streams *streams = t->peers[peer].provider == &provider_tls ? streams_of(t, peer) : NULL;
    struct reach_answer answer;
    struct bulk *bulk;

    if (!streams || length != sizeof(answer))
        return false;
    memcpy(&answer, bytes, sizeof(answer));
    TAILQ_FOREACH (bulk, &streams->reach.given, tls.entry) {
        if (bulk->tls.id == answer.id)
            break;
    }
    if (!bulk)
        return false;
    if (answer.failed) {
        if (streams->reach.able)
            vocl_log(LOG_INFO, "%u cannot read this process's memory: bulk data go by sockets", peer);
        streams->reach.able = false;
        tls_bulk_send(t, bulk);
        return true;
    }
    streams->reach.bytes += bulk->length;
    bulk_list(bulk, NULL);
    bulk->complete = true;
    bulk_over(t, bulk);
    return true;
}

void reach_drop(struct streams *streams, const struct bulk *bulk)
{
    if (bulk->tls.in == &streams->reach.given)
        drop_witness(streams);
}

/* ---- taking ---- */

static bool offered(struct transport *t, unsigned peer, const uint8_t *bytes, size_t length)
{
    struct streams *streams = t->peers[peer].provider == &provider_tls ? streams_of(t, peer) : NULL;
    struct reach_offer offer;

    if (!streams || streams->broken || !streams->reach.within_host || length != sizeof(offer))
        return false;
    memcpy(&offer, bytes, sizeof(offer));
    return tls_bulk_offered(t, peer, &offer);
}

/* How much came, up to so much: 0 is nothing, or not what was meant. */
static size_t read_from(pid_t process, const struct reach_place *place, uint64_t offset, uint8_t *into, size_t length)
{
    uint8_t witness[REACH_WITNESS];
    const struct iovec here[] = {{into, length}, {witness, sizeof(witness)}};
    const struct iovec there[] = {{(void *)(uintptr_t)(place->address + offset), length},
                                  {(void *)(uintptr_t)place->witness, sizeof(witness)}};
    const ssize_t got = process_vm_readv(process, here, 2, there, 2, 0);

    if (got != (ssize_t)(length + sizeof(witness)) || memcmp(witness, place->nonce, sizeof(witness)))
        return 0;
    return length;
}

/* What comes by the sockets instead begins anew. */
static int answer(struct transport *t, struct bulk *bulk, bool failed)
{
    const struct reach_answer words = {bulk->tls.id, failed};
    const int error = link_say(t, bulk->peer, FRAME_TOOK, &words, sizeof(words));

    if (error == -EAGAIN)
        return 0;
    if (error)
        t->peers[bulk->peer].bell.lost = true;
    tls_bulk_took(t, bulk, failed);
    return 1;
}

int reach_turn(struct transport *t, unsigned peer)
{
    struct streams *streams = streams_of(t, peer);
    struct bulk *bulk = TAILQ_FIRST(&streams->reach.taking);
    const pid_t giver = bulk ? plain_process(streams->frames.tls) : 0;
    size_t moved = 0;
    int count = 0;

    while (bulk && moved < AT_ONCE) {
        const size_t left = bulk->length - bulk->tls.arrived, most = left < AT_ONCE ? left : AT_ONCE;
        const size_t got = left && giver > 0 ? read_from(giver, &bulk->tls.place, bulk->tls.arrived,
                                                         bulk->memory + bulk->tls.arrived, most)
                                             : 0;

        bulk->tls.arrived += got;
        moved += got;
        count += got != 0;
        if (got == most && bulk->tls.arrived < bulk->length)
            break;
        if (!answer(t, bulk, bulk->tls.arrived < bulk->length))
            break;
        count++;
        bulk = TAILQ_FIRST(&streams->reach.taking);
    }
    return count;
}

bool reach_frame(struct transport *t, unsigned peer, uint32_t kind, const uint8_t *bytes, size_t length)
{
    return kind == FRAME_THERE ? offered(t, peer, bytes, length) : answered(t, peer, bytes, length);
}
