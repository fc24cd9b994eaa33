/* Holding devices: see hold.h. */
#include <poll.h>
#include <unistd.h>

#include "base/process.h"
#include "base/socket.h"
#include "proxy/launch/hold.h"

#define TURN_MS 200

/* A daemon that was restarted remembers the reservation for some seconds. */
static json_t *question(const struct attended *node)
{
    return json_pack("{s:s, s:s}", "do", "hold", "session", node->place.part);
}

/* The hold is over, or the daemon does not know it. */
static void hear(struct inquiry *inquiry, const json_t *message)
{
    if (json_object_get(message, "ended") || json_object_get(message, "error"))
        inquiry_end(inquiry);
}

int hold_all(char *why, size_t why_size)
{
    static struct inquiry_kind kind = {.reach_ms = REACH_MS, .again_ms = AGAIN_MS, .hear = hear};

    for (unsigned i = 0; i < session.count; i++) {
        struct attended *node = &session.nodes[i];
        int error;

        inquiry_open(&node->inquiry, &kind, &session.pool);
        error = session_begin(node, question(node), question(node), why, why_size);
        if (error)
            return error;
    }
    return 0;
}

void hold_until(pid_t process)
{
    struct inquiry *list[SESSION_FIRST];
    struct pollfd ready[1 + SESSION_FIRST] = {{process_open(process), POLLIN, 0}};
    bool some = true;

    for (unsigned i = 0; i < session.count; i++)
        list[i] = &session.nodes[i].inquiry;
    while (some && ready[0].fd >= 0 && !ready[0].revents) {
        inquiries_poll(list, session.count, ready + 1);
        socket_poll(ready, 1 + session.count, TURN_MS);
        inquiries_turn(list, session.count, ready + 1);
        some = false;
        for (unsigned i = 0; i < session.count; i++)
            some |= list[i]->question != NULL;
    }
    for (unsigned i = 0; i < session.count; i++)
        inquiry_end(list[i]); /* the devices are returned */
}
