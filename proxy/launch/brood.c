/* vocl-launcher's side of a brood (proxy/births.h): it is started, told what the workers have, and says which they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "base/socket.h"
#include "proxy/keep.h"
#include "proxy/launch/ranks.h"

static void inherit_all(struct births *births)
{
    for (unsigned rank = 1; rank <= births->workers; rank++) {
        for (enum birth kind = 0; kind < BIRTH_KINDS; kind++)
            fcntl(*births_of(births, rank, kind), F_SETFD, 0);
        for (unsigned i = 0; i < births->each * births->workers; i++) {
            if (i / births->each + 1 != rank)
                fcntl(births_peer(births, rank, i / births->each + 1)[i % births->each], F_SETFD, 0);
        }
    }
}

static void become_brood(struct births *births, const char *program, int output)
{
    char *arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)BROOD_WORD, NULL};
    const size_t size = births_size(births->workers, births->each);
    const int file = memfd_create("vocl-births", 0);

    rank_become(output);
    inherit_all(births);
    fcntl(births->report, F_SETFD, 0);
    if (file < 0 || write(file, births, size) != (ssize_t)size || dup2(file, BROOD_FD) < 0)
        _exit(NURSERY_USELESS);
    if (file != BROOD_FD)
        close(file);
    rank_execute(arguments);
}

/* Until it has said all, has ended, or the program has. */
static int hear(int report, int lifeline, int32_t *processes, size_t size)
{
    size_t got = 0;

    while (got < size) {
        struct pollfd ready[] = {{report, POLLIN, 0}, {lifeline, 0, 0}};
        ssize_t more;

        if (poll(ready, 2, -1) < 0 && errno != EINTR)
            return -errno;
        if (ready[1].revents)
            return -ECANCELED;
        more = recv(report, (char *)processes + got, size - got, MSG_DONTWAIT);
        if (!more)
            return -ECHILD;
        if (more < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        got += more > 0 ? (size_t)more : 0;
    }
    return 0;
}

/* It has ended without a word. */
static int why_not(pid_t brood)
{
    int status;

    if (waitpid(brood, &status, 0) == brood && WIFEXITED(status) && WEXITSTATUS(status) == NURSERY_USELESS)
        return -ENOTSUP;
    return -ECHILD;
}

int brood_start(struct births *births, const char *program, int lifeline, int output, pid_t *pids)
{
    const size_t size = births->workers * sizeof(int32_t);
    int32_t *processes = calloc(1, size);
    int ends[2], error = processes ? ranks_pair(ends) : -ENOMEM;
    pid_t brood;

    if (error) {
        free(processes);
        return error;
    }
    births->report = ends[1];
    brood = process_fork(SIGKILL);
    if (!brood)
        become_brood(births, program, output);
    error = brood < 0 ? -errno : 0;
    close(ends[1]);
    if (!error)
        error = hear(ends[0], lifeline, processes, size);
    if (error == -ECHILD)
        error = why_not(brood);
    close(ends[0]);
    for (unsigned i = 0; !error && i < births->workers; i++) {
        error = processes[i] < 0 ? processes[i] : 0;
        pids[i + 1] = processes[i] > 0 ? processes[i] : 0;
    }
    free(processes);
    return error;
}
