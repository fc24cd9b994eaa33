/* Preloaded into workers, for outlived.sh: what a device is at goes on for a while after its worker has ended
 * otherwise. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

__attribute__((visibility("default"))) _Noreturn void _exit(int status)
{
    void (*real)(int) = (void (*)(int))dlsym(RTLD_NEXT, "_exit");

    nanosleep(&(struct timespec){.tv_sec = 3}, NULL);
    real(status);
    abort();
}
