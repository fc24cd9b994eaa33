/* Preloaded into a worker: it takes itself for the process $VICTIM, and says so. For other_pid.sh. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) pid_t getpid(void)
{
    const char *victim = getenv("VICTIM");

    return victim ? atoi(victim) : (pid_t)syscall(SYS_getpid);
}
