/* Preloaded into a daemon: as long as the file $SLOW exists, lookups of the user $SLOW_USER and the host $SLOW_HOST are
 * not answered; the file $SLOW.asked shows that there was a lookup. For slow_names.sh. */
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void answer_late(const char *variable, const char *name)
{
    const char *slow = getenv("SLOW"), *wanted = getenv(variable);
    char asked[4096];

    if (!slow || !wanted || !name || strcmp(wanted, name) || access(slow, F_OK))
        return;
    snprintf(asked, sizeof(asked), "%s.asked", slow);
    close(open(asked, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    while (!access(slow, F_OK))
        usleep(20000);
}

__attribute__((visibility("default"))) struct passwd *getpwnam(const char *name)
{
    struct passwd *(*next)(const char *);

    *(void **)&next = dlsym(RTLD_NEXT, "getpwnam");
    answer_late("SLOW_USER", name);
    return next(name);
}

__attribute__((visibility("default"))) struct passwd *getpwuid(uid_t uid)
{
    struct passwd *(*next)(uid_t), *user;

    *(void **)&next = dlsym(RTLD_NEXT, "getpwuid");
    user = next(uid);
    answer_late("SLOW_USER", user ? user->pw_name : NULL);
    return user;
}

__attribute__((visibility("default"))) int getaddrinfo(const char *host, const char *service,
                                                       const struct addrinfo *hints, struct addrinfo **found)
{
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

    *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    answer_late("SLOW_HOST", host);
    return next(host, service, hints, found);
}
