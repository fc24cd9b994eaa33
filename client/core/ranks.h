/*
 * The locks of the client and of libvocl, in the order in which a thread may take them. doc/internals/locks.md says
 * what each guards, and which others are taken while it is held. No two locks of one rank are held together.
 */
#ifndef VOCL_CLIENT_CORE_RANKS_H
#define VOCL_CLIENT_CORE_RANKS_H

#include "base/lock.h"
#include "base/mutex.h"

enum {
    RANK_START = 1,
    RANK_MEMBERS,
    RANK_SUSPEND,
    RANK_PAUSE,
    RANK_RESTORE,
    RANK_KERNEL,
    RANK_COMMAND_BUFFER,
    RANK_PROGRAM,
    RANK_HOSTED_WORK,
    RANK_MEMORY,
    RANK_HOSTED,
    RANK_SHARING,
    RANK_SESSION, /* locks before it may be held while a node is waited for, locks after it may not */
    RANK_ADDRESSED,
    RANK_SVM_PLACED,
    RANK_SVM_REMOTE,
    RANK_USM,
    RANK_EXCHANGE,
    RANK_BLOCKS,
    RANK_ARENA,
    RANK_HALT,
    RANK_HANDLES,
    RANK_ANSWERS,
    RANK_SITES
};

#endif
