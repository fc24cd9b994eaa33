/*
 * vocl-proxy --workers: the workers of a session on this host, where they are many, begin as copies of this process,
 * which has loaded what each of them would load for itself: in less time, and their memory holds it once. They are to
 * be children of who started this process, and wait until it has ended and they are.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "base/socket.h"
#include "proxy/births.h"
#include "proxy/keep.h"
#include "proxy/worker/worker.h"

static int compare(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

/* All but what is this worker's own: what is left open in another one would keep whoever is at the other end waiting.
 */
static bool close_others(struct births *births, unsigned rank, int wait)
{
    int *own = calloc(births->each * births->workers + BIRTH_KINDS + 2, sizeof(*own)), last = 2;
    unsigned count = 0;

    if (!own)
        return false;
    own[count++] = wait;
    for (enum birth kind = 0; kind < BIRTH_KINDS; kind++)
        own[count++] = *births_of(births, rank, kind);
    for (unsigned i = 0; i < births->each * births->workers; i++) {
        if (i / births->each + 1 != rank)
            own[count++] = births_peer(births, rank, i / births->each + 1)[i % births->each];
    }
    qsort(own, count, sizeof(*own), compare);
    for (unsigned i = 0; i < count; i++) {
        if (own[i] > last + 1)
            close_range((unsigned)last + 1, (unsigned)own[i] - 1, 0);
        last = own[i] > last ? own[i] : last;
    }
    close_range((unsigned)last + 1, ~0u, 0);
    free(own);
    return true;
}

/* Until the parent is who it is to be. */
static void become_child(int wait, pid_t parent, pid_t wanted)
{
    char byte;

    while (read(wait, &byte, 1) < 0 && errno == EINTR)
        ;
    close(wait);
    while (getppid() == parent) /* it is ending */
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    process_end_with(wanted, SIGKILL);
}

static void be_worker(struct births *births, unsigned rank, int wait, pid_t parent, pid_t wanted)
{
    setpgid(0, 0);
    if (!close_others(births, rank, wait) || !births_take(births, rank))
        _exit(1);
    munmap(births, births_size(births->workers, births->each));
    become_child(wait, parent, wanted);
    _exit(worker_as_copy());
}

static struct births *take_births(void)
{
    struct births *births;
    struct stat file;

    if (fstat(BROOD_FD, &file) || file.st_size < (off_t)sizeof(*births))
        return NULL;
    births = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, BROOD_FD, 0);
    return births != MAP_FAILED && (size_t)file.st_size == births_size(births->workers, births->each) ? births : NULL;
}

int brood_run(char *word)
{
    struct births *births = take_births();
    const pid_t self = getpid(), parent = getppid();
    int32_t *processes = births ? calloc(births->workers, sizeof(*processes)) : NULL;
    int wait[2];

    if (!processes || pipe(wait))
        return 1;
    if (!worker_load(word, !births->pairs))
        return NURSERY_USELESS;
    for (unsigned i = 0; i < births->workers; i++) {
        processes[i] = fork();
        if (!processes[i]) {
            close(wait[1]);
            be_worker(births, i + 1, wait[0], self, parent);
        }
        if (processes[i] < 0) {
            processes[i] = -errno;
            break;
        }
    }
    socket_write_all(births->report, processes, births->workers * sizeof(*processes));
    return 0;
}
