/*
 * delay NAMESPACE DEVICE NAMESPACE DEVICE MICROSECONDS [MORE [MBIT]]: a cable between two network namespaces that every
 * packet takes so long to pass, each way. With MORE those of a connection take up to so many microseconds longer, each
 * connection another time for each tenth of a second: what several carry overtakes, and each of them stalls now and
 * then. With MBIT each way carries so many Mbit/s: what comes faster waits in a router's queue, as much as the link has
 * under way in a round trip, and beyond that is lost. Makes both devices, says "ready", and holds them until it is
 * killed. SIGUSR1 cuts the way from the first to the second, and mends it the next time, without a word to either end;
 * SIGUSR2 the way back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST = 1 << 16,
    PACKET = sizeof(struct virtio_net_hdr) + 65536 + 64,
    LANES = 16,
    SLOT = 100000000,
    LEAST_WAIT = 10000000
};
enum { IP = sizeof(struct virtio_net_hdr) + 14 }; /* in a packet */

struct packet {
    long due; /* ns */
    size_t length;
    char *bytes;
};

/* In order. */
struct lane {
    struct packet packets[MOST];
    size_t first, count;
    long last; /* due */
};

/* What is on its way to one end. */
struct way {
    int from, to;
    volatile sig_atomic_t cut;
    long free_at; /* ns: the link, when all that is in the queue is through */
    struct lane lanes[LANES];
};

static struct way there, back;
static long delay, more, most_wait; /* ns */
static double ns_per_byte;          /* of the link, or 0: it has no rate */

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

/* A connection has the same both ways. */
static unsigned lane_of(const char *bytes, size_t length)
{
    const unsigned char *ip = (const unsigned char *)bytes + IP, *ports = ip + 20;

    if (!more || length < IP + 24 || ip[0] != 0x45)
        return 0;
    return (ports[0] * 5 + ports[1] + ports[2] * 5 + ports[3]) % LANES;
}

/* How much longer the lane takes, for a while. */
static long draw(unsigned lane, long at)
{
    unsigned long x = (unsigned long)(at / SLOT) * LANES + lane + 1;

    x = (x ^ x >> 31) * 0x7fb5d329728ea185;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44d;
    return more ? (long)((x >> 11) % (unsigned long)more) : 0;
}

/* When the link has carried it, if it comes now; -1: the queue is full. */
static long carried_at(struct way *way, long at, size_t length)
{
    const long begin = way->free_at > at ? way->free_at : at;

    if (!ns_per_byte)
        return at;
    if (begin - at > most_wait)
        return -1;
    way->free_at = begin + (long)((double)length * ns_per_byte);
    return way->free_at;
}

static void put(struct way *way, const char *bytes, size_t length)
{
    const unsigned number = lane_of(bytes, length);
    struct lane *lane = &way->lanes[number];
    struct packet *packet = &lane->packets[(lane->first + lane->count) % MOST];
    const long at = now(), through = carried_at(way, at, length - sizeof(struct virtio_net_hdr));
    const long due = through + delay + draw(number, at);

    if (lane->count == MOST || through < 0)
        return; /* lost, as cables do */
    lane->last = due > lane->last ? due : lane->last;
    *packet = (struct packet){lane->last, length, malloc(length)};
    if (!packet->bytes)
        die("malloc");
    memcpy(packet->bytes, bytes, length);
    lane->count++;
}

static bool has_room(const struct way *way)
{
    return way->lanes[0].count < MOST;
}

static void take_in(struct way *way)
{
    static char bytes[PACKET];
    ssize_t length;

    while (has_room(way) && (length = read(way->from, bytes, sizeof(bytes))) > 0) {
        if (!way->cut)
            put(way, bytes, (size_t)length);
    }
}

/* When the next is due, or in an hour. */
static long let_out_lane(struct way *way, struct lane *lane)
{
    while (lane->count) {
        struct packet *packet = &lane->packets[lane->first];

        if (packet->due > now())
            return packet->due;
        if (write(way->to, packet->bytes, packet->length) < 0 && errno == EAGAIN)
            return now() + 100000;
        free(packet->bytes);
        lane->first = (lane->first + 1) % MOST;
        lane->count--;
    }
    return now() + 3600000000000L;
}

static long let_out(struct way *way)
{
    long first = let_out_lane(way, &way->lanes[0]), next;

    for (unsigned i = 1; more && i < LANES; i++) {
        next = let_out_lane(way, &way->lanes[i]);
        first = next < first ? next : first;
    }
    return first;
}

int main(int count, char **words)
{
    if (count < 6 || count > 8) {
        fprintf(stderr, "usage: delay NAMESPACE DEVICE NAMESPACE DEVICE MICROSECONDS [MORE [MBIT]]\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    there.from = back.to = end_open(words[1], words[2]);
    there.to = back.from = end_open(words[3], words[4]);
    delay = atol(words[5]) * 1000;
    more = count > 6 ? atol(words[6]) * 1000 : 0;
    ns_per_byte = count > 7 && atol(words[7]) ? 8e3 / (double)atol(words[7]) : 0;
    most_wait = 2 * delay > LEAST_WAIT ? 2 * delay : LEAST_WAIT;
    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, on_signal);
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd ends[2] = {{there.from, has_room(&there) ? POLLIN : 0, 0},
                                 {back.from, has_room(&back) ? POLLIN : 0, 0}};
        long first = let_out(&there), second = let_out(&back), wait = (first < second ? first : second) - now();
        struct timespec timeout = {wait > 0 ? wait / 1000000000 : 0, wait > 0 ? wait % 1000000000 : 0};

        if (ppoll(ends, 2, &timeout, NULL) < 0 && errno != EINTR)
            die("ppoll");
        take_in(&there);
        take_in(&back);
    }
}
