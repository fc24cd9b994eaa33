/* Checks a pool: its file, each of its daemons, MUNGE, and whether they answer this user. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/socket.h"
#include "pool/client.h"
#include "tools/doctor.h"
#include "tools/tools.h"

#define MUNGE_SOCKET "/run/munge/munge.socket.2"

static void look_at_munge(const struct poolfile *pool)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = pool->munge_socket ? pool->munge_socket : MUNGE_SOCKET;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
        doctor_say(FINE, "MUNGE", "munged answers at %s", path);
    else
        doctor_say(WRONG, "MUNGE",
                   "%s: %m; systemctl start munge, with the key (/etc/munge/munge.key) of the other nodes", path);
    if (fd >= 0)
        close(fd);
}

/* Connects to each daemon by itself: a lost one would not be noticed while another answers. */
static void look_at_daemon(const struct poolfile *pool, const struct poolfile_node *node)
{
    struct client client;
    char why[512] = "";
    int error = client_connect_within(&client, pool, node->address, CLIENT_MS, why, sizeof(why));

    if (error) {
        doctor_say(WRONG, node->name,
                   "%s; is vocl-proxy running there (systemctl status vocl-proxy), its port open, and its clock right?",
                   why);
        return;
    }
    doctor_say(FINE, node->name, "its daemon answers at %s", node->address);
    client_close(&client);
}

void doctor_look_at_pool(const char *where)
{
    struct poolfile pool;
    char why[512] = "";

    if (poolfile_read(&pool, where, why, sizeof(why))) {
        doctor_say(WRONG, "pool", "%s; --pool, VOCL_POOL or a pool file say where its daemons are", why);
        return;
    }
    doctor_say(FINE, "pool", "%u daemon%s in %s", pool.count, pool.count == 1 ? "" : "s", where);
    if (!strcmp(pool.method, "munge"))
        look_at_munge(&pool);
    for (unsigned i = 0; i < pool.count; i++)
        look_at_daemon(&pool, &pool.nodes[i]);
    poolfile_free(&pool);
}
