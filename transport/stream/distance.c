/* The distance of another member, and the sizes that follow from it: see distance.h. */
#include "transport/stream/distance.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define RATE 1250u /* bytes per microsecond: the assumed rate of a link, which is unknown before it is used */
#define FEW 2      /* connections, if the peer is near */
#define NEAR_US 1000
/* Bytes of all connections together: a link of 10 Gbit/s carries as many while the sender sleeps. */
#define UNSENT (4u << 20)
#define UNSENT_LEAST (128u << 10)

long distance_us(int fd)
{
    struct tcp_info info;
    socklen_t length = sizeof(info);

    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length))
        return 0;
    return info.tcpi_min_rtt && info.tcpi_min_rtt < info.tcpi_rtt ? info.tcpi_min_rtt : info.tcpi_rtt;
}

/* Returns the last of three numbers in a file of the system's. */
static uint64_t most_of(const char *path, uint64_t fallback)
{
    FILE *file = fopen(path, "re");
    unsigned long least, first, most;

    if (!file)
        return fallback;
    if (fscanf(file, "%lu %lu %lu", &least, &first, &most) != 3)
        most = fallback;
    fclose(file);
    return most;
}

/* Returns the bytes that a connection may have under way: the system also counts its overhead. */
static uint64_t window_of_one(void)
{
    const uint64_t out = most_of("/proc/sys/net/ipv4/tcp_wmem", 4 << 20) / 2;
    const uint64_t in = most_of("/proc/sys/net/ipv4/tcp_rmem", 6 << 20) / 2;
    const uint64_t window = out < in ? out : in;

    return window < 65536 ? 65536 : window;
}

unsigned distance_streams(long us, unsigned most)
{
    const uint64_t needed = us < NEAR_US ? 0 : RATE * (uint64_t)us / window_of_one();

    return needed > most - FEW ? most : FEW + (unsigned)needed;
}

/* Twice the bytes under way, so that a higher rate can be noticed. */
unsigned distance_streams_at(uint64_t rate, long us, unsigned most)
{
    const uint64_t needed = FEW + 2 * rate / 1000 * (uint64_t)us / 1000 / window_of_one();

    return needed > most ? most : (unsigned)needed;
}

/* The system enlarges a connection's buffer as it learns what it needs, and until then a writer waits for round trips.
 * A size that is set stays fixed, so it is not set where it would be less. */
void distance_make_room(int fd, long us)
{
    const uint64_t most = most_of("/proc/sys/net/ipv4/tcp_wmem", 4 << 20);
    const int half = (int)(most / 2); /* which the system doubles */
    FILE *file = us < NEAR_US ? NULL : fopen("/proc/sys/net/core/wmem_max", "re");
    unsigned long allowed = 0;

    if (!file)
        return;
    if (fscanf(file, "%lu", &allowed) == 1 && allowed >= most / 2)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &half, sizeof(half));
    fclose(file);
}

void distance_share(int fd, unsigned count)
{
    const unsigned share = UNSENT / count;
    const int most = (int)(share < UNSENT_LEAST ? UNSENT_LEAST : share);

    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof(most));
}

uint64_t distance_window(long us, uint64_t least, uint64_t most)
{
    const uint64_t needed = 2 * RATE * (uint64_t)us;

    return needed < least ? least : needed > most ? most : needed;
}
