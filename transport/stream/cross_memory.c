/*
 * Bulk data of two members of one host that are connected by sockets, by cross-memory copies (cross memory attach): the
 * giver announces the address in its memory, and the taker has the kernel copy the data from there into its own memory
 * (process_vm_readv), once, instead of through a socket. So no process writes to another's memory. The kernel reports,
 * with the bytes on the socket (plain.c), whose memory is read: a lying member cannot make the taker read another
 * process's.
 *
 * Data that cannot be copied go through the sockets after all: the system may forbid it (Yama, seccomp, another user or
 * namespace), and a device's memory may not be readable. Each time the taker also reads, after the bytes, a secret that
 * only the giver has: its witness. The giver erases it before memory that was given and not taken returns to its owner,
 * so a taker that finds the witness has read valid bytes.
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

#define LEAST (16u << 10)  /* bytes; fewer go through a socket as fast */
#define AT_ONCE (4u << 20) /* bytes, before other work has its turn */
#define PIECE (1u << 20)

/* The taker's answer to a struct cross_memory_offer: it has copied the data, or failed to. */
struct cross_memory_answer {
    uint32_t id, failed;
};

/* ---- the witness ---- */

/* With Yama only a parent, or one process that was named, may read: any process of this user is allowed, as without
 * Yama. MPI does the same. */
static void let_others_read(void)
{
    static bool done;

    if (!done && prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0))
        vocl_log(LOG_DEBUG, "there is no Yama");
    done = true;
}

/* Creates the witness, in a page that a child does not inherit. */
static bool have_witness(struct streams *streams)
{
    void *page;

    if (streams->cross_memory.witness)
        return true;
    page = mmap(NULL, CROSS_MEMORY_WITNESS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    if (madvise(page, CROSS_MEMORY_WITNESS, MADV_WIPEONFORK) ||
        getrandom(page, CROSS_MEMORY_WITNESS, 0) != CROSS_MEMORY_WITNESS) {
        munmap(page, CROSS_MEMORY_WITNESS);
        return false;
    }
    streams->cross_memory.witness = page;
    let_others_read();
    return true;
}

static void drop_witness(struct streams *streams)
{
    streams->cross_memory.able = false;
    if (!streams->cross_memory.witness)
        return;
    explicit_bzero(streams->cross_memory.witness, CROSS_MEMORY_WITNESS);
    __sync_synchronize(); /* like atomic_thread_fence(), which the thread sanitizer refuses here */
}

/* ---- giving ---- */

/* A TCP socket does not tell the peer's user, and another user's memory must not be read. */
static bool is_within_host(const struct streams *streams)
{
    return streams->frames.by == &plain_plugin && !streams->tunnelled && socket_same_user(streams->frames.socket.fd);
}

void cross_memory_open(struct streams *streams)
{
    streams->cross_memory.within_host = is_within_host(streams);
    streams->cross_memory.able = streams->cross_memory.within_host && settings_number(SETTING_CROSS_MEMORY);
    TAILQ_INIT(&streams->cross_memory.given);
    TAILQ_INIT(&streams->cross_memory.taking);
}

void cross_memory_close(struct streams *streams)
{
    if (streams->cross_memory.witness)
        munmap(streams->cross_memory.witness, CROSS_MEMORY_WITNESS);
    streams->cross_memory.witness = NULL;
}

void cross_memory_expect(struct transport *t, struct bulk *bulk)
{
    if (bulk->near || !streams_of(t, bulk->peer)->cross_memory.able || bulk->length < LEAST)
        return;
    bulk->near = true;
    t->near_bulks++;
}

bool cross_memory_give(struct transport *t, struct bulk *bulk)
{
    struct streams *streams = streams_of(t, bulk->peer);
    struct cross_memory_offer offer = {.id = bulk->tls.id,
                                       .tag = bulk->tag,
                                       .turn = bulk->tls.turn,
                                       .length = bulk->length,
                                       .place = {.address = (uintptr_t)bulk->memory}};

    if (!bulk->near || !have_witness(streams))
        return false;
    offer.place.witness = (uintptr_t)streams->cross_memory.witness;
    memcpy(offer.place.nonce, streams->cross_memory.witness, CROSS_MEMORY_WITNESS);
    if (link_say(t, bulk->peer, FRAME_THERE, &offer, sizeof(offer)))
        return false;
    bulk_list(bulk, &streams->cross_memory.given);
    return true;
}

static bool answered(struct transport *t, unsigned peer, const uint8_t *bytes, size_t length)
{
    struct streams *streams = t->peers[peer].provider == &provider_tls ? streams_of(t, peer) : NULL;
    struct cross_memory_answer answer;
    struct bulk *bulk;

    if (!streams || length != sizeof(answer))
        return false;
    memcpy(&answer, bytes, sizeof(answer));
    TAILQ_FOREACH (bulk, &streams->cross_memory.given, tls.entry) {
        if (bulk->tls.id == answer.id)
            break;
    }
    if (!bulk)
        return false;
    if (answer.failed) {
        if (streams->cross_memory.able)
            vocl_log(LOG_INFO, "%u cannot read this process's memory: bulk data go by sockets", peer);
        streams->cross_memory.able = false;
        tls_bulk_send(t, bulk);
        return true;
    }
    streams->cross_memory.bytes += bulk->length;
    bulk_list(bulk, NULL);
    bulk->complete = true;
    bulk_over(t, bulk);
    return true;
}

void cross_memory_drop(struct transport *t, const struct bulk *bulk)
{
    struct streams *streams = streams_of(t, bulk->peer);

    if (bulk->tls.in == &streams->cross_memory.given)
        drop_witness(streams);
    if (bulk->tls.in == &streams->cross_memory.taking && bulk->tls.chunks)
        copiers_forget(t, bulk);
}

/* ---- taking ---- */

static bool offered(struct transport *t, unsigned peer, const uint8_t *bytes, size_t length)
{
    struct streams *streams = t->peers[peer].provider == &provider_tls ? streams_of(t, peer) : NULL;
    struct cross_memory_offer offer;

    if (!streams || streams->broken || !streams->cross_memory.within_host || length != sizeof(offer))
        return false;
    memcpy(&offer, bytes, sizeof(offer));
    return tls_bulk_offered(t, peer, &offer);
}

bool cross_memory_copy(const struct copy *copy)
{
    const struct cross_memory_place *place = &copy->place;
    uint8_t witness[CROSS_MEMORY_WITNESS];
    const struct iovec here[] = {{copy->into, copy->length}, {witness, sizeof(witness)}};
    const struct iovec there[] = {{(void *)(uintptr_t)(place->address + copy->offset), copy->length},
                                  {(void *)(uintptr_t)place->witness, sizeof(witness)}};
    const ssize_t got = process_vm_readv(copy->giver, here, 2, there, 2, 0);

    return got == (ssize_t)(copy->length + sizeof(witness)) && !memcmp(witness, place->nonce, sizeof(witness));
}

/* If it failed, the data come through the sockets, from the beginning. */
static int answer(struct transport *t, struct bulk *bulk, bool failed)
{
    const struct cross_memory_answer words = {bulk->tls.id, failed};
    const int error = link_say(t, bulk->peer, FRAME_TOOK, &words, sizeof(words));

    if (error == -EAGAIN)
        return 0;
    if (error)
        t->peers[bulk->peer].bell.lost = true;
    tls_bulk_took(t, bulk, failed);
    return 1;
}

/* Returns the first operation of which a piece has yet to begin, or NULL. */
static struct bulk *has_more(const struct streams *streams)
{
    struct bulk *bulk;

    TAILQ_FOREACH (bulk, &streams->cross_memory.taking, tls.entry) {
        if (!bulk->tls.failed && bulk->tls.begun < bulk->length)
            return bulk;
    }
    return NULL;
}

/* Begins the next piece. False: all have begun. */
static bool next_piece(struct streams *streams, struct copy *copy)
{
    const pid_t giver = plain_process(streams->frames.tls);
    struct bulk *bulk;

    while ((bulk = has_more(streams)) && giver <= 0)
        bulk->tls.failed = true;
    if (!bulk)
        return false;
    *copy = (struct copy){.bulk = bulk,
                          .giver = giver,
                          .place = bulk->tls.place,
                          .offset = bulk->tls.begun,
                          .into = bulk->memory + bulk->tls.begun,
                          .length = bulk->length - bulk->tls.begun};
    if (copy->length > PIECE)
        copy->length = PIECE;
    bulk->tls.begun += copy->length;
    bulk->tls.chunks++;
    return true;
}

static void piece_over(const struct copy *copy)
{
    struct bulk *bulk = copy->bulk;

    bulk->tls.chunks--;
    bulk->tls.failed |= copy->failed;
    bulk->tls.arrived += copy->failed ? 0 : copy->length;
}

static void copy_here(struct copy *copy)
{
    copy->failed = !cross_memory_copy(copy);
    piece_over(copy);
}

static int answer_all(struct transport *t, struct streams *streams)
{
    struct bulk *bulk = TAILQ_FIRST(&streams->cross_memory.taking), *next;
    int count = 0;

    for (; bulk; bulk = next) {
        next = TAILQ_NEXT(bulk, tls.entry);
        if (bulk->tls.chunks || (!bulk->tls.failed && bulk->tls.arrived < bulk->length))
            continue;
        if (!answer(t, bulk, bulk->tls.failed))
            break;
        count++;
    }
    return count;
}

/* The first piece is copied here, and those that follow at the same time, if there are threads for them. */
int cross_memory_turn(struct transport *t, unsigned peer)
{
    struct streams *streams = streams_of(t, peer);
    struct copy copy, other;
    size_t moved = 0;
    int count = 0;

    for (; copiers_next(t, &copy); count++)
        piece_over(&copy);
    for (; moved < AT_ONCE && next_piece(streams, &copy); count++) {
        while (has_more(streams) && copiers_are_free(t) && next_piece(streams, &other)) {
            if (!copiers_give(t, &other))
                copy_here(&other);
        }
        copy_here(&copy);
        moved += copy.length;
    }
    return count + answer_all(t, streams);
}

bool cross_memory_frame(struct transport *t, unsigned peer, uint32_t kind, const uint8_t *bytes, size_t length)
{
    return kind == FRAME_THERE ? offered(t, peer, bytes, length) : answered(t, peer, bytes, length);
}
