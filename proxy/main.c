/* vocl-proxy: the process on a node that has devices. It runs workers itself, and executes other programs as the
 * daemon and for `vocl-proxy pool`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "proxy/fork_server.h"
#include "proxy/launch/remote.h"
#include "proxy/worker/worker.h"

/* `vocl doctor` knows of another host only where its vocl-proxy is. */
static int become_doctor(char **arguments)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/vocl-doctor", settings_string(SETTING_LIBEXECDIR));
    arguments[0] = (char *)(uintptr_t) "--node";
    execv(path, (char *const[]){path, arguments[0], arguments[1], NULL});
    fprintf(stderr, "vocl-proxy: %s: %s\n", path, strerror(errno));
    return 127;
}

/* `vocl pool`, for administrators of a node that has no command vocl. */
static int become_pool(char **arguments)
{
    static char pool[] = "vocl pool", top[] = "vocl top";
    char path[4096];

    snprintf(path, sizeof(path), "%s/vocl-pool", settings_string(SETTING_LIBEXECDIR));
    arguments[0] = strcmp(arguments[0], "pool") ? top : pool;
    execv(path, arguments);
    fprintf(stderr, "vocl-proxy: %s: %s\n", path, strerror(errno));
    return 127;
}

int main(int count, char **arguments)
{
    char path[4096];

    if (count == 2 && !strcmp(arguments[1], "--worker"))
        return worker_run();
    if (count == 2 && (!strcmp(arguments[1], FORK_SERVER) || !strcmp(arguments[1], FORK_SERVER_PAIRS)))
        return fork_server_run(arguments[1]);
    if (count == 2 && !strcmp(arguments[1], "--remote"))
        return remote_run();
    if (count == 2 && !strcmp(arguments[1], "--probe"))
        return list_devices();
    if (count == 2 && !strcmp(arguments[1], "--about"))
        return worker_about();
    if (count >= 2 && !strcmp(arguments[1], "--doctor"))
        return become_doctor(arguments + 1);
    if (count >= 2 && (!strcmp(arguments[1], "pool") || !strcmp(arguments[1], "top")))
        return become_pool(arguments + 1);
    snprintf(path, sizeof(path), "%s/vocl-poold", settings_string(SETTING_LIBEXECDIR));
    execv(path, arguments);
    fprintf(stderr, "vocl-proxy: %s: %s%s\n", path, strerror(errno),
            errno == ENOENT ? "; VOCL was built without its pool" : "");
    return 1;
}
