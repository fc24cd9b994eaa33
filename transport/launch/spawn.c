/* Starts vocl-launcher so that the application does not notice: no child for its wait(), no SIGCHLD. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include "base/log.h"
#include "transport/launch/launch.h"

#define STACK (256u << 10)

struct spawning {
    const char *program;
    char *const *arguments, *const *environment;
    int descriptor, standard_error;
    uint8_t *stack;
    volatile int error;
};

static pid_t branch(int (*run)(void *), struct spawning *start, uint8_t *stack)
{
#if defined(__SANITIZE_THREAD__) /* which does not support two processes in one memory */
    pid_t pid = fork();

    (void)stack;
    if (pid == 0)
        run(start);
    return pid;
#else
    return clone(run, stack, CLONE_VM | CLONE_VFORK, start);
#endif
}

/* The thread sanitizer's _exit() would flush the program's buffered output, which would then appear twice. */
static _Noreturn void leave(int status)
{
    for (;;)
        syscall(SYS_exit_group, status);
}

/* Becomes the launcher. It shares memory with the application until exec: only system calls are allowed. */
static int become(void *argument)
{
    struct spawning *start = argument;
    sigset_t none;
    int null;

    setsid();
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    null = open("/dev/null", O_RDWR);
    if (dup2(start->descriptor, 3) < 0 || null < 0)
        leave(127);
    dup2(null, 0);
    dup2(null, 1);
    if (start->standard_error < 0)
        dup2(null, 2);
    fcntl(3, F_SETFD, 0);
    close_range(4, ~0u, 0);
    execve(start->program, start->arguments, start->environment);
    start->error = errno;
    leave(127);
}

/* The process between the two, so that the launcher is nobody's child. */
static int detach(void *argument)
{
    struct spawning *start = argument;

    if (branch(become, start, start->stack + STACK) < 0)
        start->error = errno;
    leave(0);
}

int spawn_apart(const char *program, char *const *arguments, char *const *environment, int descriptor)
{
    struct spawning start = {program, arguments, environment, descriptor, vocl_log_enabled(LOG_ERROR) ? 2 : -1,
                             NULL,    0};
    uint8_t *stacks = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    sigset_t all, old;
    pid_t pid;

    if (stacks == MAP_FAILED)
        return -errno;
    start.stack = stacks;
    sigfillset(&all); /* a handler of the application must not run in the copies */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid = branch(detach, &start, stacks + 2 * STACK);
    if (pid < 0)
        start.error = errno;
    while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
#if defined(__SANITIZE_ADDRESS__) /* no function on these stacks has returned, so they are poisoned */
    __asan_unpoison_memory_region(stacks, 2 * STACK);
#endif
    munmap(stacks, 2 * STACK);
    return -start.error;
}
