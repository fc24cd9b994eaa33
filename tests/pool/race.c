/*
 * A client finds the daemon that is there, however many others of the pool accept the connection and reset it: here all
 * of a large pool but the last.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/race.h"
#include "tests/expect.h"

enum { NODES = 700, PATIENCE_MS = 100000 };

static struct poolfile_node nodes[NODES];

/* Listens at a port of its own, and writes its address. */
static int listener(char address[128])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    EXPECT(fd >= 0 && !bind(fd, (struct sockaddr *)&at, length) && !listen(fd, 128));
    EXPECT(!getsockname(fd, (struct sockaddr *)&at, &length));
    snprintf(address, 128, "127.0.0.1:%d", ntohs(at.sin_port));
    return fd;
}

/* In a process of its own: a reset, which is what a close without waiting is, or the first byte of a daemon. */
static pid_t serve(int fd, int resets)
{
    const struct linger at_once = {1, 0};
    pid_t process = fork();

    while (!process) {
        int client = accept(fd, NULL, NULL);

        if (client < 0)
            _exit(1);
        if (!resets && write(client, "", 1) == 1)
            continue;
        setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        close(client);
    }
    return process;
}

int main(void)
{
    const pid_t bad = serve(listener(nodes[0].address), 1), good = serve(listener(nodes[NODES - 1].address), 0);
    unsigned winner = 0;
    char why[256] = "";
    int fd;

    EXPECT(bad > 0 && good > 0);
    for (unsigned i = 1; i + 1 < NODES; i++)
        nodes[i] = nodes[0];
    fd = race_connect(nodes, NODES, NULL, PATIENCE_MS, &winner, why, sizeof(why));
    kill(bad, SIGKILL);
    kill(good, SIGKILL);
    while (wait(NULL) > 0)
        ;
    if (fd < 0)
        fprintf(stderr, "%d: %s\n", fd, why);
    EXPECT(fd >= 0 && winner == NODES - 1);
    return 0;
}
