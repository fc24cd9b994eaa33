/* Holding devices: see hold.h. */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process.h"
#include "base/socket.h"
#include "proxy/launch/hold.h"

#define TURN_MS 200

/* A daemon that was restarted remembers the reservation for some seconds. */
static json_t *question(const struct attended *node, unsigned keep_seconds)
{
    return json_pack("{s:s, s:s, s:i}", "do", "hold", "session", node->place.part, "keep", (int)keep_seconds);
}

/* The hold is over, or the daemon does not know it. */
static void hear(struct inquiry *inquiry, const json_t *message)
{
    if (json_object_get(message, "ended") || json_object_get(message, "error"))
        inquiry_end(inquiry);
}

int hold_all(unsigned keep_seconds, char *why, size_t why_size)
{
    static struct inquiry_kind kind = {.reach_ms = REACH_MS, .again_ms = AGAIN_MS, .hear = hear};

    for (unsigned i = 0; i < session.count; i++) {
        struct attended *node = &session.nodes[i];
        int error;

        inquiry_open(&node->inquiry, &kind, &session.pool);
        error = session_begin(node, question(node, keep_seconds), question(node, keep_seconds), why, why_size);
        if (error)
            return error;
    }
    return 0;
}

/* Returns when the descriptor becomes readable, or nothing is held any more. */
static void hold_while_silent(int fd)
{
    struct inquiry *list[SESSION_FIRST];
    struct pollfd ready[1 + SESSION_FIRST] = {{fd, POLLIN, 0}};
    bool some = true;

    for (unsigned i = 0; i < session.count; i++)
        list[i] = &session.nodes[i].inquiry;
    while (some && fd >= 0 && !ready[0].revents) {
        inquiries_poll(list, session.count, ready + 1);
        socket_poll(ready, 1 + session.count, TURN_MS);
        inquiries_turn(list, session.count, ready + 1);
        some = false;
        for (unsigned i = 0; i < session.count; i++)
            some |= list[i]->question != NULL;
    }
}

/* A hold that is not kept ends with its connections. */
static void end_inquiries(void)
{
    for (unsigned i = 0; i < session.count; i++)
        inquiry_end(&session.nodes[i].inquiry);
}

void hold_until(pid_t process)
{
    hold_while_silent(process_open(process));
    end_inquiries();
}

void hold_until_told(int control)
{
    bool returns;
    char word;

    hold_while_silent(control);
    returns = recv(control, &word, 1, MSG_DONTWAIT) == 1;
    for (unsigned i = 0; returns && i < session.count; i++)
        inquiry_say(&session.nodes[i].inquiry, json_pack("{s:s, s:s}", "do", "end", "why", "it is returned"));
    end_inquiries();
}
