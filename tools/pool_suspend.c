/* `vocl pool suspend` and `vocl pool resume` of a session. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/pool.h"
#include "tools/progress.h"

/* Finds the session whose name begins with id, in the nodes' lists of that name. Returns how many sessions match. */
static unsigned find(const json_t *status, const char *list, const char *id, const json_t **found, const json_t **where)
{
    const json_t *node, *session;
    unsigned count = 0;
    size_t i, j;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        json_array_foreach(json_object_get(node, list), j, session)
        {
            if (strncmp(text_of(session, "id"), id, strlen(id)) || !strcmp(text_of(session, "state"), "ending"))
                continue;
            count += !*found || strcmp(text_of(session, "id"), text_of(*found, "id"));
            *found = session;
            *where = node;
        }
    }
    return count;
}

/* Sends the question and waits for an answer with that word. Returns 0, or a negative errno with why. */
static int ask(const struct poolfile *pool, const char *address, json_t *question, const char *word, bool quiet,
               char *why, size_t why_size)
{
    struct progress progress = progress_new(quiet, true);
    struct client client;
    json_t *message = NULL;
    bool over = false;
    int error = client_connect(&client, pool, address, why, why_size);

    if (!error && (error = client_send(&client, question)))
        client_explain(&client, error, why, why_size);
    json_decref(question);
    while (!error && !over) {
        error = pool_await(&client, &message);
        if (error) {
            client_explain(&client, error, why, why_size);
        } else if (json_object_get(message, "error")) {
            snprintf(why, why_size, "%s", text_of(message, "error"));
            error = -EPROTO;
        } else if (json_object_get(message, "moving")) {
            pool_show_phase(&progress, json_object_get(message, "moving"));
        } else {
            over = json_object_get(message, word) != NULL;
        }
        json_decref(message);
        message = NULL;
    }
    progress_end(&progress);
    client_close(&client);
    return error;
}

static int complain(const char *why)
{
    char visible[600];

    fprintf(stderr, "vocl pool: %s\n", text_visible(why, visible, sizeof(visible)));
    return 1;
}

/* Asks a session of that list to do what; returns -ENOENT if there is none. */
static int try_to_change(const struct poolfile *pool, const json_t *status, const char *id, const char *list,
                         const char *what, const char *word, bool quiet, char *why, size_t why_size)
{
    const json_t *session = NULL, *node = NULL;
    const unsigned count = find(status, list, id, &session, &node);
    int error = count ? -EINVAL : -ENOENT;

    if (count > 1)
        snprintf(why, why_size, "more than one session begins with %s", id);
    else if (!count)
        snprintf(why, why_size, "there is no session %s that %s", id, *what == 's' ? "runs" : "is suspended");
    else
        error = ask(pool, text_of(node, "address"),
                    json_pack("{s:s, s:s}", "do", what, "session", text_of(session, "id")), word, quiet, why, why_size);
    return error;
}

/* Whether to try again: the daemon that was asked may have an old status of another one, which no longer has the
 * session suspended. */
static bool may_pass(int error, const char *what)
{
    return error == -ENOENT || (error == -EPROTO && !strcmp(what, "resume session"));
}

/* Returns the exit status. */
static int change(const struct poolfile *pool, const char *id, const char *list, const char *what, const char *word,
                  bool quiet)
{
    struct pool_look look = pool_look_for(pool, POOL_NEWS_MS);
    char why[512] = "";
    int error = -ENOENT;
    json_t *status;

    while (may_pass(error, what) && (status = pool_look_again(&look, why, sizeof(why)))) {
        error = try_to_change(pool, status, id, list, what, word, quiet, why, sizeof(why));
        json_decref(status);
    }
    pool_look_end(&look);
    return error ? complain(why) : 0;
}

int pool_suspend(const struct poolfile *pool, const char *id, bool quiet)
{
    return change(pool, id, "sessions", "suspend", "suspended", quiet);
}

int pool_resume(const struct poolfile *pool, const char *id)
{
    return change(pool, id, "suspended", "resume session", "resumed", true);
}
