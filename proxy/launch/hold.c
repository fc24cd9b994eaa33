/* Holding devices: see hold.h. */
#include <poll.h>
#include <unistd.h>

#include "base/process.h"
#include "base/socket.h"
#include "proxy/launch/hold.h"

#define TURN_MS 200

static const char *address(struct inquiry *inquiry, bool lost)
{
    (void)lost;
    return ((struct attended *)inquiry)->place.address;
}

/* A daemon that was lost may be there again, and remember the reservation for some seconds. */
static json_t *question(struct inquiry *inquiry)
{
    return json_pack("{s:s, s:s}", "do", "hold", "session", ((struct attended *)inquiry)->place.part);
}

/* That it is over, or the daemon knows nothing of it. */
static void hear(struct inquiry *inquiry, const json_t *message)
{
    if (json_object_get(message, "ended") || json_object_get(message, "error"))
        inquiry_end(inquiry);
}

int hold_all(char *why, size_t why_size)
{
    static struct inquiry_kind kind = {REACH_MS, AGAIN_MS, 0, address, question, hear, NULL};

    for (unsigned i = 0; i < session.count; i++) {
        struct inquiry *inquiry = &session.nodes[i].inquiry;
        int error;

        inquiry_open(inquiry, &kind, &session.pool);
        error = client_connect(&inquiry->client, &session.pool, address(inquiry, false), why, why_size);
        if (!error)
            error = inquiry_begin_with(inquiry, question(inquiry), why, why_size);
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
            some |= list[i]->on;
    }
    for (unsigned i = 0; i < session.count; i++)
        inquiry_end(list[i]); /* what is held goes back */
}
