/* `vocl pool reload`: has daemons read their files again. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/pool.h"

#define NO_NODE 3

static bool is_named(const char *name, char **names)
{
    bool named = !*names;

    for (; *names && !named; names++)
        named = !strcmp(*names, name);
    return named;
}

static bool is_there(const json_t *status, const char *name)
{
    const json_t *node;
    size_t i;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (!strcmp(text_of(node, "name"), name))
            return true;
    }
    return false;
}

/* Returns false, with why, if the daemon does not answer or keeps what it had. */
static bool reload(const struct poolfile *pool, const json_t *node, char *why, size_t why_size)
{
    json_t *question = json_pack("{s:s}", "do", "reload"), *answer = NULL;
    struct client client = {.fd = -1};
    bool good;

    good = !pool_is_lost(node, why, why_size) &&
           !client_ask(&client, pool, text_of(node, "address"), question, &answer, why, why_size);
    client_close(&client);
    json_decref(question);
    if (!good)
        return false;
    if (json_is_true(json_object_get(answer, "restart")))
        fprintf(stderr, "vocl pool: %s: some changes need a restart of its daemon\n", shown(node, "name"));
    json_decref(answer);
    return true;
}

int pool_reload(const struct poolfile *pool, char **names)
{
    json_t *status = pool_status(pool), *node;
    char why[600], visible[700];
    int failed = 0;
    size_t i;

    for (char **name = names; *name; name++) {
        if (is_there(status, *name))
            continue;
        fprintf(stderr, "vocl pool: there is no node %s\n", text_visible(*name, visible, sizeof(visible)));
        json_decref(status);
        return NO_NODE;
    }
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (!is_named(text_of(node, "name"), names) || reload(pool, node, why, sizeof(why)))
            continue;
        failed = 1;
        fprintf(stderr, "vocl pool: %s: %s\n", shown(node, "name"), text_visible(why, visible, sizeof(visible)));
    }
    json_decref(status);
    return failed;
}
