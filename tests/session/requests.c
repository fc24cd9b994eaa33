/* A program whose session answers requests of users, sent by tests/session/requests.sh. It uses the transport alone. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "transport/transport.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int on_frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    (void)owner, (void)peer, (void)bytes, (void)length;
    return 0;
}

static void on_lost(void *owner, unsigned peer, const char *why)
{
    (void)owner;
    printf("lost %u: %s\n", peer, why ? why : "");
}

static void on_request(void *context, const char *request, struct answer *answer)
{
    char *context_text = context;

    if (!strncmp(request, "move to ", 8) && !strcmp(request + 8, "echo")) {
        answer_progress(answer, "one");
        answer_progress(answer, "two\nlines");
        answer_end(answer, true, "%s: %s", context_text, request);
        answer_end(answer, false, "this comes too late");
    } else if (!strcmp(request, "move to count")) {
        answer_progress(answer, "phase one");
        answer_progress(answer, "phase two 5 much");
        answer_progress(answer, "phase \033[2Jthree -1 -2");
        answer_progress(answer, "phase four 0 1048576");
        answer_progress(answer, "phase four 1048576 1048575");
        answer_end(answer, true, "counted");
    } else if (!strcmp(request, "move to nowhere")) {
        answer_end(answer, false, "there is no nowhere");
    } else if (!strcmp(request, "move to wait")) {
        printf("asked\n");
        fflush(stdout);
        for (int i = 0; i < 30000 && answer_is_wanted(answer); i++)
            usleep(10000);
        printf("who asked is gone\n");
        fflush(stdout);
    } else if (!strcmp(request, "move to flood")) {
        for (int i = 0; i < 20000; i++)
            answer_progress(answer, "%d %0900d", i, i);
    }
}

int main(void)
{
    const struct transport_callbacks callbacks = {.frame = on_frame, .lost = on_lost};
    struct transport *t;
    char why[512] = "";

    if (transport_open_client(&callbacks, why, sizeof(why), &t)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    transport_on_request(t, on_request, (char[]){"answered"});
    puts("ready");
    fflush(stdout);
    for (const long until = clock_ms() + 280000; clock_ms() < until && access(getenv("REQUESTS_END"), F_OK);) {
        pthread_mutex_lock(&lock);
        transport_poll(t);
        transport_announce(t);
        transport_poll(t);
        pthread_mutex_unlock(&lock);
        transport_sleep(t, -1, 20000);
    }
    transport_close(t);
    return 0;
}
