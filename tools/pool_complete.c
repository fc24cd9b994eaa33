/* `vocl pool complete WHAT`, for shells: prints a line for each possible word, followed by a tab and a description.
 * It must be quick for a user who presses a key, and prints no errors, as these are no words. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/pool.h"

#define MOST_SECONDS 2

static void give_up(int number)
{
    (void)number;
    _exit(0);
}

static bool is_in(const char *what, const char *const *list)
{
    for (; *list; list++) {
        if (!strcmp(what, *list))
            return true;
    }
    return false;
}

/* Prints the nodes that the command may be used for. */
static void print_nodes(const json_t *status, const char *what)
{
    json_t *node;
    size_t i;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        const bool drains =
            json_array_size(json_object_get(node, "drains")) || json_object_size(json_object_get(node, "drains"));
        char why[512];

        if (pool_is_lost(node, why, sizeof(why)) && strcmp(what, "nodes"))
            continue;
        if (!strcmp(what, "resume") && !drains)
            continue;
        printf("%s\t%s, %zu devices, %zu sessions\n", shown(node, "name"), shown(node, "state"),
               json_array_size(json_object_get(node, "devices")), json_array_size(json_object_get(node, "sessions")));
    }
}

/* Prints the running or the suspended sessions; one on several nodes is one. */
static void print_sessions(const json_t *status, const char *kind)
{
    json_t *seen = json_object(), *node, *session;
    size_t i, k;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        json_array_foreach(json_object_get(node, kind), k, session)
        {
            if (json_object_get(seen, text_of(session, "id")))
                continue;
            json_object_set_new(seen, text_of(session, "id"), json_true());
            printf("%.12s\t%s of %s, %s\n", shown(session, "id"), shown(session, "program"), shown(session, "user"),
                   shown(session, "state"));
        }
    }
    json_decref(seen);
}

int pool_complete(const struct poolfile *pool, const char *what)
{
    static const char *const of_nodes[] = {"drain", "resume", "reload", "nodes", NULL};
    static const char *const of_running[] = {"kill", "move", "suspend", NULL};
    static const char *const of_suspended[] = {"kill", "resume", NULL};
    json_t *status = NULL;
    char why[512];

    signal(SIGALRM, give_up);
    alarm(MOST_SECONDS);
    if (is_in(what, of_nodes) || is_in(what, of_running))
        status = pool_try_status(pool, why, sizeof(why));
    if (is_in(what, of_nodes))
        print_nodes(status, what);
    if (is_in(what, of_running))
        print_sessions(status, "sessions");
    if (is_in(what, of_suspended))
        print_sessions(status, "suspended");
    json_decref(status);
    return 0;
}
