/* `vocl pool wait`, and the polling of a pool for other commands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/pool.h"

#define MOST_NUMBER 1000000

/* ---- polling ---- */

struct pool_look pool_look_for(const struct poolfile *pool, long milliseconds)
{
    return (struct pool_look){.pool = pool, .client = {.fd = -1}, .look = look_for(milliseconds)};
}

/* Asks on the existing connection, or on a new one if that has ended. */
static json_t *ask(struct pool_look *look, char *why, size_t why_size)
{
    json_t *question = json_pack("{s:s}", "do", "status"), *answer = NULL;

    if (look->client.fd >= 0 && client_call(&look->client, question, &answer, why, why_size))
        client_close(&look->client);
    if (look->client.fd < 0 && client_ask(&look->client, look->pool, NULL, question, &answer, why, why_size))
        client_close(&look->client);
    json_decref(question);
    return answer;
}

json_t *pool_look_again(struct pool_look *look, char *why, size_t why_size)
{
    json_t *status = NULL;

    while (!status && look_again(&look->look))
        status = ask(look, why, why_size);
    return status;
}

void pool_look_end(struct pool_look *look)
{
    client_close(&look->client);
}

/* ---- conditions ---- */

struct condition {
    const char *text;
    const struct count *count; /* NULL: it is about a node's state */
    char node[64];             /* "": all nodes */
    char compare;              /* '=', '>' or '<', the latter two also when equal */
    long number;
    const char *state; /* NULL: drained */
};

struct known {
    const json_t *status;
    const char *user; /* counts only this user's, or NULL */
};

static const char *const states[] = {"up", "draining", "failing", "outdated", "lost", "other-version"};

/* Counts the entries of the nodes' lists with this name. state: only those in it, or NULL. */
static long count_in(const struct known *known, const char *name, const char *list, const char *state)
{
    const json_t *node, *entry;
    long count = 0;
    size_t i, j;

    json_array_foreach(json_object_get(known->status, "nodes"), i, node)
    {
        if (*name && strcmp(text_of(node, "name"), name))
            continue;
        json_array_foreach(json_object_get(node, list), j, entry)
        {
            count += (!state || !strcmp(text_of(entry, "state"), state)) &&
                     (!known->user || !strcmp(text_of(entry, "user"), known->user));
        }
    }
    return count;
}

/* As `vocl pool sessions` lists them: suspended sessions are on no node. */
static long count_sessions(const struct known *known, const char *node)
{
    return count_in(known, node, "sessions", NULL) + (*node ? 0 : count_in(known, "", "suspended", NULL));
}

static long count_running(const struct known *known, const char *node)
{
    return count_in(known, node, "sessions", "running");
}

static long count_suspended(const struct known *known, const char *all)
{
    return count_in(known, all, "suspended", NULL);
}

static long count_nodes(const struct known *known, const char *all)
{
    const json_t *node;
    long count = 0;
    size_t i;

    (void)all;
    json_array_foreach(json_object_get(known->status, "nodes"), i, node)
    {
        count += !strcmp(text_of(node, "state"), "up");
    }
    return count;
}

static long count_queue(const struct known *known, const char *all)
{
    const json_t *request;
    long count = 0;
    size_t i;

    (void)all;
    json_array_foreach(json_object_get(known->status, "queue"), i, request)
    {
        count += !known->user || !strcmp(text_of(request, "user"), known->user);
    }
    return count;
}

static const struct count {
    const char *name;
    long (*count)(const struct known *known, const char *node);
    bool on_nodes; /* may also count on one node */
} counts[] = {{"sessions", count_sessions, true},    {"running", count_running, true},
              {"suspended", count_suspended, false}, {"resting", count_suspended, false}, /* the former name */
              {"nodes", count_nodes, false},         {"queue", count_queue, false}};

static bool read_node(struct condition *c, const char *from, size_t length)
{
    if (!length || length >= sizeof(c->node))
        return false;
    snprintf(c->node, sizeof(c->node), "%.*s", (int)length, from);
    return true;
}

/* Parses sessions=0, running>=2, sessions@n1<=3. */
static bool read_count(struct condition *c, const char *text)
{
    const size_t name = strcspn(text, "@=<>"), end = strcspn(text, "=<>");
    const char *at = text + end;
    uint64_t number;

    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        if (strlen(counts[i].name) == name && !strncmp(counts[i].name, text, name))
            c->count = &counts[i];
    }
    if (!c->count || (name < end && (!c->count->on_nodes || !read_node(c, text + name + 1, end - name - 1))))
        return false;
    c->compare = *at;
    if (*at == '>' || *at == '<')
        at++;
    if (*at++ != '=' || !text_read_number(at, 0, MOST_NUMBER, &number))
        return false;
    c->number = (long)number;
    return true;
}

static bool read_state(struct condition *c, const char *text)
{
    const char *colon = strrchr(text, ':');

    if (!strncmp(text, "drained=", 8))
        return read_node(c, text + 8, strlen(text + 8));
    if (strncmp(text, "state=", 6) || !colon || !read_node(c, text + 6, (size_t)(colon - text - 6)))
        return false;
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        if (!strcmp(states[i], colon + 1))
            c->state = states[i];
    }
    return c->state != NULL;
}

static const char *state_of(const struct known *known, const char *name)
{
    const json_t *node;
    size_t i;

    json_array_foreach(json_object_get(known->status, "nodes"), i, node)
    {
        if (!strcmp(text_of(node, "name"), name))
            return text_of(node, "state");
    }
    return "unknown";
}

/* Whether the condition holds; if not, adds the actual state to why. */
static bool holds(const struct condition *c, const struct known *known, char *why, size_t why_size)
{
    const long count = c->count ? c->count->count(known, c->node) : count_sessions(known, c->node);
    const char *state = c->count ? "" : state_of(known, c->node);
    const size_t length = strlen(why);
    bool good;

    if (c->count)
        good = c->compare == '=' ? count == c->number : c->compare == '>' ? count >= c->number : count <= c->number;
    else
        good = !strcmp(state, c->state ? c->state : "draining") && (c->state || !count);
    if (good)
        return true;
    if (c->count)
        snprintf(why + length, why_size - length, "%snot %s, but %ld", length ? "; " : "", c->text, count);
    else
        snprintf(why + length, why_size - length, "%snot %s: %s is %s, with %ld sessions", length ? "; " : "", c->text,
                 c->node, state, count);
    return false;
}

static bool all_hold(const struct condition *all, unsigned count, const struct known *known, char *why, size_t why_size)
{
    bool good = true;

    *why = '\0';
    for (unsigned i = 0; i < count; i++)
        good &= holds(&all[i], known, why, why_size);
    return good;
}

static bool wait_for(const struct poolfile *pool, const struct condition *all, unsigned count, const char *user,
                     long milliseconds, char *why, size_t why_size)
{
    struct pool_look look = pool_look_for(pool, milliseconds);
    bool good = false;
    json_t *status;

    while (!good && (status = pool_look_again(&look, why, why_size))) {
        good = all_hold(all, count, &(struct known){status, user}, why, why_size);
        json_decref(status);
    }
    pool_look_end(&look);
    return good;
}

bool pool_await_empty(const struct poolfile *pool, const char *node, long seconds, char *why, size_t why_size)
{
    struct pool_look look = pool_look_for(pool, seconds * 1000);
    long left = 1;
    json_t *status;

    while (left && (status = pool_look_again(&look, why, why_size))) {
        left = count_in(&(struct known){status, NULL}, node, "sessions", NULL);
        snprintf(why, why_size, "%s has %ld sessions still", node, left);
        json_decref(status);
    }
    pool_look_end(&look);
    return !left;
}

int pool_wait(const struct poolfile *pool, char **words, const char *user, long seconds)
{
    struct condition all[WAIT_MOST];
    char why[1024], visible[1100];
    unsigned count = 0;

    for (; *words; words++, count++) {
        if (count == WAIT_MOST) {
            fprintf(stderr, "vocl pool: wait takes %d conditions at most\n", WAIT_MOST);
            return 2;
        }
        all[count] = (struct condition){.text = *words};
        if (read_count(&all[count], *words) || read_state(&all[count], *words))
            continue;
        fprintf(stderr,
                "vocl pool: \"%s\" is no condition; there are sessions, running, suspended, nodes and queue with =, >= "
                "or <=\n"
                "and a number, sessions@NODE and running@NODE; drained=NODE; and state=NODE:STATE with the states up,\n"
                "draining, failing, outdated, lost and other-version\n",
                text_visible(*words, visible, sizeof(visible)));
        return 2;
    }
    if (!count) {
        fputs("vocl pool: wait needs a condition; try `vocl pool --help`\n", stderr);
        return 2;
    }
    if (wait_for(pool, all, count, user, seconds < 0 ? -1 : seconds * 1000, why, sizeof(why)))
        return 0;
    fprintf(stderr, "vocl pool: %s\n", text_visible(why, visible, sizeof(visible)));
    return 1;
}
