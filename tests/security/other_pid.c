/* Preloaded into a worker: the worker reports the PID of process $VICTIM as its own. For other_pid.sh. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) pid_t getpid(void)
{
    const char *victim = getenv("VICTIM");

    return victim ? atoi(victim) : (pid_t)syscall(SYS_getpid);
}
