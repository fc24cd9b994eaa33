/* `vocl pool move`, and the moves of several sessions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/pool.h"
#include "tools/progress.h"

#define TICK_MS 200

/* A number of bytes in a daemon's message, or 0 if it is none. */
static uint64_t bytes_of(const json_t *words, const char *name)
{
    const json_int_t bytes = json_integer_value(json_object_get(words, name));

    return bytes > 0 ? (uint64_t)bytes : 0;
}

void pool_show_phase(struct progress *progress, const json_t *words)
{
    const char *text = text_of(words, "text");
    char phase[PROGRESS_PHASE];

    snprintf(phase, sizeof(phase), "%s%s%s", text_of(words, "phase"), *text ? ": " : "", text);
    progress_take(progress, phase, bytes_of(words, "bytes"), bytes_of(words, "total"));
}

static void show_result(const json_t *words)
{
    const double bytes = number_of(words, "bytes"), pause = number_of(words, "pause_us");
    char text[16];

    printf("moved from %s to %s: ", shown(words, "from"), shown(words, "to"));
    if (pause > 0)
        printf("%s, paused for %.1f ms\n", show_bytes(bytes, text), pause / 1000);
    else
        printf("%s\n", shown(words, "text"));
    fflush(stdout);
}

int pool_await(struct client *client, json_t **message)
{
    int error;

    do {
        error = client_receive(client, message, TICK_MS);
        if (error == -ETIMEDOUT && !(error = client_beat(client)))
            error = -EAGAIN;
    } while (error == -EAGAIN);
    return error;
}

static int follow(struct client *client, bool quiet, char *why, size_t why_size)
{
    struct progress progress = progress_new(quiet, true);
    json_t *message = NULL;
    bool over = false;
    int error = 0;

    while (!over && !error) {
        error = pool_await(client, &message);
        if (error) {
            client_explain(client, error, why, why_size);
        } else if (json_object_get(message, "error")) {
            snprintf(why, why_size, "%s", text_of(message, "error"));
            error = -EPROTO;
        } else if (json_object_get(message, "moved")) {
            over = true;
            progress_end(&progress);
            if (!quiet)
                show_result(json_object_get(message, "moved"));
        } else if (json_object_get(message, "moving")) {
            pool_show_phase(&progress, json_object_get(message, "moving"));
        }
        json_decref(message);
        message = NULL;
    }
    progress_end(&progress);
    return error;
}

/* Returns the session whose member of this name has the value, or NULL. */
static json_t *find_by(const json_t *status, const char *member, const char *value)
{
    json_t *node, *session;
    size_t i, j;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            if (!strcmp(text_of(session, member), value))
                return session;
        }
    }
    return NULL;
}

/* After the connection broke: whether the session has been replaced by one in another place. */
static bool has_moved(const struct poolfile *pool, const struct move_wish *wish)
{
    char why[512];
    json_t *status = pool_try_status(pool, why, sizeof(why));
    const json_t *there = find_by(status, "replaces", wish->part), *words = json_object_get(there, "move");
    const bool moved = words && !*text_of(words, "phase") && !find_by(status, "part", wish->part);

    if (moved && !wish->quiet)
        show_result(words);
    json_decref(status);
    return moved;
}

int pool_move(const struct poolfile *pool, const struct move_wish *wish, char *why, size_t why_size)
{
    json_t *question = json_pack("{s:s, s:s, s:s, s:i, s:i, s:b}", "do", "move", "session", wish->part, "to", wish->to,
                                 "device", wish->device, "wait", (int)wish->wait, "any", wish->any);
    struct client client;
    int error = client_connect(&client, pool, wish->address, why, why_size);

    if (!error) {
        error = client_send(&client, question);
        if (error)
            client_explain(&client, error, why, why_size);
        else
            error = follow(&client, wish->quiet, why, why_size);
        client_close(&client);
    }
    json_decref(question);
    if (error && has_moved(pool, wish))
        error = 0;
    return error;
}

/* ---- a session ---- */

/* Counts the parts of running sessions whose names begin with id; sets *part and *where to the last one and its
 * node. from: only on that node. */
static unsigned find_parts(const json_t *status, const char *id, const char *from, const json_t **part,
                           const json_t **where)
{
    const json_t *node, *session;
    unsigned count = 0;
    size_t i, j;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (*from && strcmp(text_of(node, "name"), from))
            continue;
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            if (strncmp(text_of(session, "id"), id, strlen(id)) || strcmp(text_of(session, "state"), "running"))
                continue;
            *part = session;
            *where = node;
            count++;
        }
    }
    return count;
}

static int try_to_move(const struct poolfile *pool, const json_t *status, const char *id, const char *from,
                       struct move_wish wish, char *why, size_t why_size)
{
    const json_t *part = NULL, *node = NULL;
    const unsigned count = find_parts(status, id, from, &part, &node);
    int error = count ? -EINVAL : -ENOENT;

    if (!count) {
        snprintf(why, why_size, "there is no session %s that runs%s%s", id, *from ? " on " : "", from);
    } else if (count > 1) {
        snprintf(why, why_size, "%s has several parts, or moves already: --from says which", id);
    } else {
        wish.part = text_of(part, "part");
        wish.address = text_of(node, "address");
        error = pool_move(pool, &wish, why, why_size);
        error = error == -ENOENT ? -EPROTO : error;
    }
    return error;
}

int pool_move_session(const struct poolfile *pool, const char *id, const char *from, struct move_wish wish)
{
    struct pool_look look = pool_look_for(pool, POOL_NEWS_MS);
    char why[512] = "", visible[600];
    int error = -ENOENT;
    json_t *status;

    while (error == -ENOENT && (status = pool_look_again(&look, why, sizeof(why)))) {
        error = try_to_move(pool, status, id, from, wish, why, sizeof(why));
        json_decref(status);
    }
    pool_look_end(&look);
    if (error)
        fprintf(stderr, "vocl pool: %s\n", text_visible(why, visible, sizeof(visible)));
    return error ? 1 : 0;
}

/* ---- all sessions of a node ---- */

int pool_empty_node(const struct poolfile *pool, const char *name, struct move_wish wish)
{
    json_t *status = pool_status(pool), *node, *session;
    char why[512], visible[600];
    size_t i, j;
    int left = 0;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (strcmp(text_of(node, "name"), name))
            continue;
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            wish.part = text_of(session, "part");
            wish.address = text_of(node, "address");
            if (strcmp(text_of(session, "state"), "running"))
                continue;
            if (!wish.quiet)
                printf("%.12s %s %s:\n", shown(session, "id"), shown(session, "user"), shown(session, "program"));
            if (!pool_move(pool, &wish, why, sizeof(why)))
                continue;
            fprintf(stderr, "vocl pool: %s: %.12s of %s stays: %s\n", name, shown(session, "id"),
                    shown(session, "user"), text_visible(why, visible, sizeof(visible)));
            left++;
        }
    }
    json_decref(status);
    return left;
}
