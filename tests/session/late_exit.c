/* Preloaded into workers, for outlived.sh: _exit() takes 3 s, as if a device were still busy after its worker has
 * otherwise ended. */
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
