/* Holding devices: see hold.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "proxy/launch/hold.h"

#define TURN_MS 200
#define AGAIN_MS 1000

static int hold_part(struct attended *node, const struct poolfile *pool, char *why, size_t why_size)
{
    json_t *message = json_pack("{s:s, s:s}", "do", "hold", "session", node->part), *answer = NULL;
    int error = client_connect(&node->client, pool, node->address, why, why_size);

    if (!error) {
        client_beat(&node->client); /* from here on the daemon misses it */
        error = client_call(&node->client, message, &answer, why, why_size);
    }
    json_decref(message);
    if (error)
        client_close(&node->client);
    else
        json_decref(answer);
    return error;
}

int hold_all(struct attended *nodes, unsigned count, const struct poolfile *pool, char *why, size_t why_size)
{
    for (unsigned i = 0; i < count; i++) {
        const int error = hold_part(&nodes[i], pool, why, why_size);

        if (error)
            return error;
    }
    return 0;
}

/* A daemon that was lost may be there again, and remember the reservation for some seconds. */
static void look_at(struct attended *node, const struct poolfile *pool)
{
    json_t *message = NULL;
    char why[256];
    int error;

    if (node->over)
        return;
    if (node->client.fd < 0) {
        if (clock_ms() - node->client.looked_ms < AGAIN_MS)
            return;
        error = hold_part(node, pool, why, sizeof(why));
        node->over = error == -EPROTO; /* it knows nothing of it */
        node->client.looked_ms = clock_ms();
        return;
    }
    error = client_receive(&node->client, &message, 0);
    if (!error)
        node->over = json_object_get(message, "ended") != NULL;
    json_decref(message);
    if (error == -ETIMEDOUT)
        error = client_beat(&node->client);
    if (error)
        client_close(&node->client);
}

void hold_until(pid_t process, struct attended *nodes, unsigned count, const struct poolfile *pool)
{
    struct pollfd ends = {process_open(process), POLLIN, 0};
    bool some = true;

    while (some && ends.fd >= 0 && poll(&ends, 1, TURN_MS) <= 0) {
        some = false;
        for (unsigned i = 0; i < count; i++) {
            look_at(&nodes[i], pool);
            some |= !nodes[i].over;
        }
    }
    for (unsigned i = 0; i < count; i++)
        client_close(&nodes[i].client); /* what is held goes back */
}
