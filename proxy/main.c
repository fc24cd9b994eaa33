/* vocl-proxy: the process on a node that has devices. It runs workers itself, and executes another program as the
 * daemon. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "proxy/fork_server.h"
#include "proxy/launch/remote.h"
#include "proxy/worker/worker.h"

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
    snprintf(path, sizeof(path), "%s/vocl-poold", settings_string(SETTING_LIBEXECDIR));
    execv(path, arguments);
    fprintf(stderr, "vocl-proxy: %s: %s%s\n", path, strerror(errno),
            errno == ENOENT ? "; VOCL was built without its pool" : "");
    return 1;
}
