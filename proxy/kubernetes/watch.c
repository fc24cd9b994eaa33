/* Watches the pool: how many of its devices containers could get, and how many are free. */
#include <fnmatch.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/thread.h"
#include "pool/client.h"
#include "proxy/kubernetes/kubernetes.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct watched seen;

static long long number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* Whether a container may get the device, when it is free. */
static bool fits(const json_t *device)
{
    uint64_t memory = 0;

    if (options.memory && !text_read_bytes(options.memory, &memory))
        return false;
    return strcmp(text_of(device, "mode"), "hidden") &&
           (!options.type || !strcmp(options.type, text_of(device, "type"))) &&
           (!options.name || !fnmatch(options.name, text_of(device, "name"), 0)) &&
           (uint64_t)number_of(device, "memory") >= memory;
}

static void count_device(const json_t *device, struct watched *all)
{
    const long long most = number_of(device, "most"), used = number_of(device, "sessions");
    const unsigned places = most > 0 && most < options.places ? (unsigned)most : options.places;

    if (!fits(device))
        return;
    all->places += places;
    if (!json_is_true(json_object_get(device, "taken")) && used < places)
        all->free += places - (unsigned)(used < 0 ? 0 : used);
}

static void count(const json_t *answer, struct watched *all)
{
    const json_t *node, *device;
    size_t i, k;

    json_array_foreach(json_object_get(answer, "nodes"), i, node)
    {
        if (strcmp(text_of(node, "state"), "up") && strcmp(text_of(node, "state"), "outdated"))
            continue;
        json_array_foreach(json_object_get(node, "devices"), k, device) count_device(device, all);
    }
}

/* Asks over the connection, or over a new one if that is lost. */
static int ask(struct client *client, const json_t *question, json_t **answer, char *why, size_t why_size)
{
    if (client->fd >= 0 && !client_call(client, question, answer, why, why_size))
        return 0;
    if (client->fd >= 0)
        client_close(client);
    return client_ask(client, &pool, NULL, question, answer, why, why_size);
}

static void *watch(void *argument)
{
    json_t *question = json_pack("{s:s}", "do", "status"), *answer;
    struct client client = {.fd = -1};
    bool was_known = true;
    char why[512];

    for (;; sleep(options.poll_seconds)) {
        struct watched now = {.known = !ask(&client, question, &answer, why, sizeof(why))};

        if (now.known) {
            count(answer, &now);
            json_decref(answer);
        }
        if (now.known != was_known)
            say(now.known ? "the pool answers again" : "the pool does not answer: %s", why);
        was_known = now.known;
        pthread_mutex_lock(&lock);
        seen = now;
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

void watch_begin(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, watch, NULL))
        say("no thread to watch the pool: nothing is offered");
}

struct watched watch_look(void)
{
    struct watched now;

    pthread_mutex_lock(&lock);
    now = seen;
    pthread_mutex_unlock(&lock);
    return now;
}
