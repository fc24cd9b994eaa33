/*
 * delay NAMESPACE DEVICE NAMESPACE DEVICE MICROSECONDS [MORE [MBIT]]: a cable between two network namespaces, which
 * delays every packet by MICROSECONDS, each way. With MORE, each connection's packets take up to MORE microseconds
 * longer, a value that changes every tenth of a second: connections overtake each other, and each stalls now and then.
 * With MBIT, each way carries that many Mbit/s: faster traffic waits in a router's queue, which holds what the link has
 * under way in a round trip, and drops the rest. Makes both devices, prints "ready", and holds the devices until it is
 * killed. SIGUSR1 cuts the way from the first to the second, and restores it the next time, without notice to either
 * end; SIGUSR2 does so with the way back.
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
enum { IP = sizeof(struct virtio_net_hdr) + 14 }; /* offset of the IP header in a packet */

struct packet {
    long due; /* ns */
    size_t length;
    char *bytes;
};

/* A queue of packets that stay in order. */
struct lane {
    struct packet packets[MOST];
    size_t first, count;
    long last; /* the last packet's due */
};

/* The packets under way to one end. */
struct way {
    int from, to;
    volatile sig_atomic_t cut;
    long free_at; /* ns: when the link will have carried all packets of the queue */
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

/* Makes a TAP device in a namespace, where it stays; this process stays in the last namespace. Like veth, the device
 * passes TCP's segments of up to 64 KiB as one packet; otherwise the measure would be the processor and not the
 * network. */
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

/* Both directions of a connection have the same lane. */
static unsigned lane_of(const char *bytes, size_t length)
{
    const unsigned char *ip = (const unsigned char *)bytes + IP, *ports = ip + 20;

    if (!more || length < IP + 24 || ip[0] != 0x45)
        return 0;
    return (ports[0] * 5 + ports[1] + ports[2] * 5 + ports[3]) % LANES;
}

/* Returns the lane's additional delay, in ns, for this tenth of a second. */
static long draw(unsigned lane, long at)
{
    unsigned long x = (unsigned long)(at / SLOT) * LANES + lane + 1;

    x = (x ^ x >> 31) * 0x7fb5d329728ea185;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44d;
    return more ? (long)((x >> 11) % (unsigned long)more) : 0;
}

/* Returns when the link will have carried a packet that comes now, in ns, or -1 if the queue is full. */
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
        return; /* lost, as on a cable */
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

/* Sends the packets that are due; returns when the next will be, or a time in an hour. */
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
