/* PMI-1: see pmi.h. */
#include <errno.h>
#include <search.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/launch/pmi.h"

#define NAME "vocl" /* of the only key-value space */
#define MOST_KEY 64
#define MOST_VALUE 1024
#define MOST_PUTS 256 /* of one rank; MPICH makes a few */

struct value {
    char key[MOST_KEY], text[MOST_VALUE];
};

struct rank {
    bool begun, waits, ended, lost;
    unsigned puts;
    size_t length;
    char line[PMI_LINE];
};

struct pmi {
    void (*say)(void *owner, unsigned rank, const char *line, size_t length);
    void *owner;
    unsigned size, waiting, lost;
    void *entries; /* a tree of tsearch() */
    char why[128];
    struct rank ranks[];
};

static int compare(const void *one, const void *other)
{
    return strcmp(((const struct value *)one)->key, ((const struct value *)other)->key);
}

struct pmi *pmi_open(unsigned size, void (*say)(void *owner, unsigned rank, const char *line, size_t length),
                     void *owner)
{
    struct pmi *pmi = calloc(1, sizeof(*pmi) + size * sizeof(*pmi->ranks));

    if (!pmi)
        return NULL;
    pmi->say = say;
    pmi->owner = owner;
    pmi->size = size;
    return pmi;
}

void pmi_close(struct pmi *pmi)
{
    if (!pmi)
        return;
    tdestroy(pmi->entries, free);
    free(pmi);
}

const char *pmi_why(const struct pmi *pmi)
{
    return pmi->why;
}

__attribute__((format(printf, 3, 4))) static int answer(struct pmi *pmi, unsigned rank, const char *format, ...)
{
    char line[PMI_LINE];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= (int)sizeof(line) - 1)
        return -EMSGSIZE;
    line[length++] = '\n';
    pmi->say(pmi->owner, rank, line, (size_t)length);
    return 0;
}

static int refuse(struct pmi *pmi, unsigned rank, const char *why)
{
    snprintf(pmi->why, sizeof(pmi->why), "rank %u: %s", rank, why);
    return -EPROTO;
}

/* Copies the word NAME=... of a line, or, if it is the last, the rest of the line. Returns false if it is missing or
 * too long. */
static bool word(const char *line, const char *name, bool last, char *text, size_t size)
{
    const size_t length = strlen(name);
    size_t end;

    for (const char *at = line; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL) {
        if (strncmp(at, name, length) || at[length] != '=')
            continue;
        at += length + 1;
        end = last ? strlen(at) : strcspn(at, " ");
        if (!end || end >= size)
            return false;
        memcpy(text, at, end);
        text[end] = '\0';
        return true;
    }
    return false;
}

static int put(struct pmi *pmi, unsigned rank, const char *line)
{
    struct value *entry, **found;

    if (pmi->ranks[rank].puts++ == MOST_PUTS)
        return refuse(pmi, rank, "it puts too much");
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return -ENOMEM;
    if (!word(line, "key", false, entry->key, sizeof(entry->key)) ||
        !word(line, "value", true, entry->text, sizeof(entry->text))) {
        free(entry);
        return refuse(pmi, rank, "what it puts has no key or value, or a long one");
    }
    found = tsearch(entry, &pmi->entries, compare);
    if (!found || *found != entry) {
        free(entry);
        return found ? refuse(pmi, rank, "it puts a key that already exists") : -ENOMEM;
    }
    return answer(pmi, rank, "cmd=put_result rc=0 msg=success");
}

static int get(struct pmi *pmi, unsigned rank, const char *line)
{
    struct value wanted, **found;

    if (!word(line, "key", false, wanted.key, sizeof(wanted.key)))
        return refuse(pmi, rank, "it gets what has no key, or a long one");
    if (!strcmp(wanted.key, "PMI_process_mapping")) /* each rank is on a node of its own; see MPIR_CVAR_NOLOCAL */
        return answer(pmi, rank, "cmd=get_result rc=0 msg=success value=(vector,(0,%u,1))", pmi->size);
    found = tfind(&wanted, &pmi->entries, compare);
    if (!found)
        return answer(pmi, rank, "cmd=get_result rc=-1 msg=none value=unknown");
    return answer(pmi, rank, "cmd=get_result rc=0 msg=success value=%s", (*found)->text);
}

static int barrier(struct pmi *pmi, unsigned rank)
{
    if (pmi->ranks[rank].waits)
        return refuse(pmi, rank, "it is in the barrier already");
    if (pmi->lost)
        return refuse(pmi, rank, "another rank is gone");
    pmi->ranks[rank].waits = true;
    if (++pmi->waiting < pmi->size)
        return 0;
    pmi->waiting = 0;
    for (unsigned i = 0; i < pmi->size; i++)
        pmi->ranks[i].waits = false;
    for (unsigned i = 0; i < pmi->size; i++)
        answer(pmi, i, "cmd=barrier_out");
    return 0;
}

static int obey(struct pmi *pmi, unsigned number, const char *line)
{
    struct rank *rank = &pmi->ranks[number];
    char command[32], name[32];

    if (strncmp(line, "cmd=", 4) || !word(line, "cmd", false, command, sizeof(command)))
        return refuse(pmi, number, "no command");
    if (rank->ended || rank->begun == !strcmp(command, "init"))
        return refuse(pmi, number, rank->begun ? "a command too late" : "a command before init");
    if (rank->waits)
        return refuse(pmi, number, "a command inside the barrier");
    if (word(line, "kvsname", false, name, sizeof(name)) && strcmp(name, NAME))
        return refuse(pmi, number, "another space of keys");
    if (!strcmp(command, "init")) {
        rank->begun = true;
        return answer(pmi, number, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
    }
    if (!strcmp(command, "get_maxes"))
        return answer(pmi, number, "cmd=maxes kvsname_max=256 keylen_max=%d vallen_max=%d", MOST_KEY, MOST_VALUE);
    if (!strcmp(command, "get_appnum"))
        return answer(pmi, number, "cmd=appnum appnum=0");
    if (!strcmp(command, "get_my_kvsname"))
        return answer(pmi, number, "cmd=my_kvsname kvsname=" NAME);
    if (!strcmp(command, "get_universe_size"))
        return answer(pmi, number, "cmd=universe_size size=%u", pmi->size);
    if (!strcmp(command, "put"))
        return put(pmi, number, line);
    if (!strcmp(command, "get"))
        return get(pmi, number, line);
    if (!strcmp(command, "barrier_in"))
        return barrier(pmi, number);
    if (!strcmp(command, "finalize")) {
        rank->ended = true;
        return answer(pmi, number, "cmd=finalize_ack");
    }
    return refuse(pmi, number, strcmp(command, "abort") ? "a command that there is not" : "it gives up");
}

int pmi_hear(struct pmi *pmi, unsigned number, const char *bytes, size_t length)
{
    struct rank *rank = &pmi->ranks[number];

    for (size_t i = 0; i < length; i++) {
        int error;

        if (bytes[i] != '\n') {
            if ((unsigned char)bytes[i] < ' ' || rank->length == PMI_LINE - 1)
                return refuse(pmi, number, "no line of PMI");
            rank->line[rank->length++] = bytes[i];
            continue;
        }
        rank->line[rank->length] = '\0';
        rank->length = 0;
        error = obey(pmi, number, rank->line);
        if (error)
            return error;
    }
    return 0;
}

int pmi_lose(struct pmi *pmi, unsigned rank)
{
    if (pmi->ranks[rank].lost)
        return 0;
    pmi->ranks[rank].lost = true;
    pmi->lost++;
    return pmi->waiting ? refuse(pmi, rank, "it is gone while others wait for it") : 0;
}
