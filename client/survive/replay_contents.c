/* What a node had at its last checkpoint is given to the new worker, when all objects are made again. */
#include "base/log.h"
#include "client/core/session.h"
#include "client/data/contents.h"
#include "client/survive/keep.h"
#include "client/survive/recover.h"
#include "client/survive/replaying.h"

static void restore_kept(struct replay *r, const struct saved *saved)
{
    if (!saved->now.kept || !keep_restore(saved->now.kept, saved->memory))
        return;
    vocl_log(LOG_ERROR, "what object %u held is not to be had from who kept it", saved->memory);
    r->failed = true;
}

static void restore(struct replay *r, const struct saved *saved)
{
    if (saved->waits)
        return;
    restore_kept(r, saved);
    for (size_t at = 0; saved->now.bytes && at < saved->whole.size && !replay_has_failed(r);) {
        struct wire_bring m = {.memory = saved->memory, .part = region_piece(&saved->whole, at)};

        if (m.part.size > WIRE_MAX_INLINE) {
            m.tag = wire_tag(atomic_fetch_add(&session_under_way(r->node->session)->last_tag, 1));
        } else {
            m.data = saved->now.bytes + at;
            m.data_length = (uint32_t)m.part.size;
        }
        wire_put_bring(&r->out, &m);
        if (m.tag)
            replay_give(r, m.tag, saved->now.bytes + at, m.part.size);
        if (m.tag || r->out.length > REPLAY_FRAME)
            replay_flush(r);
        at += m.part.size;
    }
}

static void restore_svm_part(struct replay *r, uint64_t address, const uint8_t *bytes, size_t size)
{
    struct wire_bring_svm m = {.address = address, .size = size};

    if (size > WIRE_MAX_INLINE) {
        m.tag = wire_tag(atomic_fetch_add(&session_under_way(r->node->session)->last_tag, 1));
    } else {
        m.data = bytes;
        m.data_length = (uint32_t)size;
    }
    wire_put_bring_svm(&r->out, &m);
    if (m.tag)
        replay_give(r, m.tag, bytes, size);
    if (m.tag || r->out.length > REPLAY_FRAME)
        replay_flush(r);
}

static void restore_svm(struct replay *r, const struct svm_saved *saved)
{
    const uint8_t *bytes;
    uint64_t address;
    unsigned part = 0;
    size_t size;

    while (!replay_has_failed(r) && (bytes = svm_saved_next(saved, &part, &address, &size))) {
        for (size_t at = 0; at < size && !replay_has_failed(r); at += CONTENTS_PIECE)
            restore_svm_part(r, address + at, bytes + at, size - at < CONTENTS_PIECE ? size - at : CONTENTS_PIECE);
    }
}

void replay_restore(struct replay *r)
{
    for (unsigned i = 0; i < JOURNAL_LISTS; i++) {
        for (const struct saved *saved = r->j->saved[i]; saved && !replay_has_failed(r); saved = saved->after)
            restore(r, saved);
        for (const struct svm_saved *saved = r->j->svm[i]; saved && !replay_has_failed(r); saved = saved->next)
            restore_svm(r, saved);
    }
}
