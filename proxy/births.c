/* What workers on this host are born with: see births.h. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proxy/births.h"
#include "transport/starter.h"

static size_t count_of(unsigned workers, unsigned each)
{
    return (size_t)BIRTH_KINDS * (workers + 1) + (size_t)each * workers * workers;
}

size_t births_size(unsigned workers, unsigned each)
{
    return sizeof(struct births) + count_of(workers, each) * sizeof(int32_t);
}

struct births *births_new(unsigned workers, bool pairs, unsigned each)
{
    struct births *births = calloc(1, births_size(workers, each));

    if (births) {
        births->workers = workers;
        births->pairs = pairs;
        births->each = each;
    }
    return births;
}

int32_t *births_of(struct births *births, unsigned rank, enum birth kind)
{
    return &births->descriptors[(size_t)kind * (births->workers + 1) + rank];
}

int32_t *births_peer(struct births *births, unsigned rank, unsigned other)
{
    const size_t two = (size_t)(rank - 1) * births->workers + other - 1;

    return &births->descriptors[(size_t)BIRTH_KINDS * (births->workers + 1) + two * births->each];
}

void births_number(const char *name, int number)
{
    char text[32];

    snprintf(text, sizeof(text), "%d", number);
    setenv(name, text, 1);
}

void births_inherit(const char *name, int fd)
{
    if (!fd)
        return;
    fcntl(fd, F_SETFD, 0);
    births_number(name, fd);
}

/* "RANK:DESCRIPTOR,...": of each rank as many as there are. */
static bool take_peers(struct births *births, unsigned rank)
{
    char *list = calloc((size_t)births->each * births->workers + 1, 32), *at = list;

    if (!list)
        return false;
    for (unsigned i = 0; i < births->each * births->workers; i++) {
        const unsigned other = i / births->each + 1;
        const int fd = other == rank ? 0 : births_peer(births, rank, other)[i % births->each];

        if (!fd)
            continue;
        fcntl(fd, F_SETFD, 0);
        at += sprintf(at, "%s%u:%d", at == list ? "" : ",", other, fd);
    }
    if (*list)
        setenv(SESSION_PEERS, list, 1);
    free(list);
    return true;
}

bool births_take(struct births *births, unsigned rank)
{
    births_inherit("PMI_FD", *births_of(births, rank, BIRTH_PMI));
    births_number("PMI_RANK", (int)rank);
    births_number("PMI_SIZE", (int)births->workers + 1);
    births_inherit(SESSION_BELL, *births_of(births, rank, BIRTH_BELL));
    births_inherit(SESSION_BEAT, *births_of(births, rank, BIRTH_BEAT));
    births_inherit(SESSION_BULK, *births_of(births, rank, BIRTH_BULK));
    births_inherit(SESSION_CALLS, *births_of(births, rank, BIRTH_CALLS));
    return take_peers(births, rank);
}

void births_free(struct births *births)
{
    for (size_t i = 0; births && i < count_of(births->workers, births->each); i++) {
        if (births->descriptors[i])
            close(births->descriptors[i]);
    }
    free(births);
}
