/*
 * delay NAMESPACE DEVICE NAMESPACE DEVICE MICROSECONDS: a cable between two network namespaces that every packet takes
 * so long to pass, each way. Makes both devices, says "ready", and holds them until it is killed. SIGUSR1 cuts the way
 * from the first to the second, and mends it the next time, without a word to either end; SIGUSR2 the way back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 16, PACKET = sizeof(struct virtio_net_hdr) + 65536 + 64 };

struct packet {
    long due; /* ns */
    size_t length;
    char *bytes;
};

/* What is on its way to one end. */
struct way {
    int from, to;
    volatile sig_atomic_t cut;
    struct packet packets[MOST];
    size_t first, count;
};

static struct way there, back;

static void on_signal(int number)
{
    struct way *way = number == SIGUSR1 ? &there : &back;

    way->cut = !way->cut;
}

static long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* A device made in a namespace stays there; this process goes on in the last one. As veth does it takes what TCP has
 * together, up to 64 KiB, as one packet, or the cable would be the processor's measure and not the network's. */
static int end_open(const char *space, const char *device)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    char path[256];
    int fd;

    snprintf(path, sizeof(path), "/var/run/netns/%s", space);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET))
        die(path);
    close(fd);
    fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) || ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6))
        die("/dev/net/tun");
    return fd;
}

static void take_in(struct way *way, long delay)
{
    static char bytes[PACKET];
    ssize_t length;

    while (way->count < MOST && (length = read(way->from, bytes, sizeof(bytes))) > 0) {
        struct packet *packet = &way->packets[(way->first + way->count) % MOST];

        if (way->cut)
            continue;
        *packet = (struct packet){now() + delay, (size_t)length, malloc((size_t)length)};
        if (!packet->bytes)
            die("malloc");
        memcpy(packet->bytes, bytes, (size_t)length);
        way->count++;
    }
}

/* When the next is due, or in an hour. */
static long let_out(struct way *way)
{
    while (way->count) {
        struct packet *packet = &way->packets[way->first];

        if (packet->due > now())
            return packet->due;
        if (write(way->to, packet->bytes, packet->length) < 0 && errno == EAGAIN)
            return now() + 100000;
        free(packet->bytes);
        way->first = (way->first + 1) % MOST;
        way->count--;
    }
    return now() + 3600000000000L;
}

int main(int count, char **words)
{
    long delay;

    if (count != 6) {
        fprintf(stderr, "usage: delay NAMESPACE DEVICE NAMESPACE DEVICE MICROSECONDS\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    there.from = back.to = end_open(words[1], words[2]);
    there.to = back.from = end_open(words[3], words[4]);
    delay = atol(words[5]) * 1000;
    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, on_signal);
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd ends[2] = {{there.from, there.count < MOST ? POLLIN : 0, 0},
                                 {back.from, back.count < MOST ? POLLIN : 0, 0}};
        long first = let_out(&there), second = let_out(&back), wait = (first < second ? first : second) - now();
        struct timespec timeout = {wait > 0 ? wait / 1000000000 : 0, wait > 0 ? wait % 1000000000 : 0};

        if (ppoll(ends, 2, &timeout, NULL) < 0 && errno != EINTR)
            die("ppoll");
        take_in(&there, delay);
        take_in(&back, delay);
    }
}
