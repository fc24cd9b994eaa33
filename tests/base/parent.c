/* process_end_with() and process_fork(): a child that is to end with its parent does so, also if the parent has ended
 * before. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "tests/expect.h"

/* Returns the status of a child whose parent ends first; the child is then this process's. */
static int status_of_late(void)
{
    const pid_t parent = fork();
    int status;
    pid_t late;

    if (!parent) {
        const pid_t self = getpid();

        if (fork())
            _exit(0);
        while (getppid() == self)
            usleep(1000);
        process_end_with(self, SIGKILL);
        _exit(0);
    }
    EXPECT(waitpid(parent, &status, 0) == parent);
    late = wait(&status);
    EXPECT(late > 0);
    return status;
}

/* Returns the status of a child that waits until it is killed with its parent. */
static int status_of_killed(int number)
{
    int ready[2], status;
    pid_t parent;
    char byte;

    EXPECT(!pipe(ready));
    parent = fork();
    if (!parent) {
        if (!process_fork(number) && write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    EXPECT(read(ready[0], &byte, 1) == 1);
    EXPECT(!kill(parent, SIGKILL) && waitpid(parent, &status, 0) == parent);
    EXPECT(wait(&status) > 0);
    return status;
}

int main(void)
{
    int status;

    EXPECT(!prctl(PR_SET_CHILD_SUBREAPER, 1));
    status = status_of_late();
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 127);
    status = status_of_killed(SIGKILL);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    status = status_of_killed(SIGTERM);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    return 0;
}
