/*
 * The targets of Prometheus' HTTP service discovery: the web servers of all nodes of the pool, as this daemon knows
 * them. Lost nodes are targets, too, so that their alerts are raised.
 */
#include <stdlib.h>
#include <string.h>

#include "base/socket.h"
#include "proxy/daemon/pool/peers.h"
#include "proxy/daemon/web/internal.h"

static bool is_near(const char *host)
{
    return !strncmp(host, "127.", 4) || !strcmp(host, "::1") || !strcmp(host, "localhost");
}

/* Finds where others reach a node's web server. Returns false if they do not. */
static bool find_target(const char *http, const char *address, bool own, char *target, size_t size)
{
    char host[128], node[128];
    const char *port, *other;

    if (!*http || address_split(http, host, sizeof(host), &port) || address_split(address, node, sizeof(node), &other))
        return false;
    if (is_near(host) && !is_near(node) && !own)
        return false;
    if (!strcmp(host, "0.0.0.0") || !strcmp(host, "::"))
        address_join(node, (unsigned)atoi(port), target, size);
    else
        address_join(host, (unsigned)atoi(port), target, size);
    return true;
}

/* A node that was never reached probably has its web server at the same port as this one. */
static bool guess_target(const struct daemon *d, const char *address, char *target, size_t size)
{
    char host[128], node[128];
    const char *port, *other;

    if (!*d->config->http || address_split(d->config->http, host, sizeof(host), &port) ||
        address_split(address, node, sizeof(node), &other) || (is_near(host) && !is_near(node)))
        return false;
    address_join(node, (unsigned)atoi(port), target, size);
    return true;
}

char *discovery_text(struct daemon *d)
{
    struct pool_view *view = peers_view(d);
    json_t *groups = json_array();
    char target[160], *text;

    for (unsigned i = 0; view && i < view->count; i++) {
        const struct told_node *node = view->nodes[i];
        const bool known = node->http != NULL || !told_is_away(node);

        if (known ? find_target(node->http ? node->http : "", node->address, node == view->own, target, sizeof(target))
                  : guess_target(d, node->address, target, sizeof(target)))
            message_append(
                &groups, message_pack("{s:[s], s:{s:s}}", "targets", target, "labels", "__meta_vocl_node", node->name));
    }
    view_free(view);
    text = groups ? json_dumps(groups, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : NULL;
    json_decref(groups);
    return text;
}
