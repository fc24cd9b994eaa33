/*
 * Figures for Prometheus, in its text format. No label has more values than the pool has capacity: since sessions come
 * and go, they are labelled by their slot, a number that is reused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "base/text.h"
#include "proxy/daemon/web/internal.h"

static void print_head(FILE *out, const char *metric, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);
}

static void print_label(FILE *out, const char *text)
{
    char visible[256];

    for (const char *at = text_visible(text, visible, sizeof(visible)); *at; at++) {
        if (*at == '\\' || *at == '"')
            fputc('\\', out);
        fputc(*at, out);
    }
}

static void print_node(FILE *out, const json_t *node, const char *metric)
{
    fprintf(out, "%s{node=\"", metric);
    print_label(out, message_text(node, "name", ""));
}

/* ---- nodes, their devices, and the sessions there ---- */

static void label_device(FILE *out, const json_t *device)
{
    fprintf(out, "device=\"%lld\",name=\"", message_number(device, "index", 0));
    print_label(out, message_text(device, "name", ""));
}

static void label_session(FILE *out, const json_t *session)
{
    fprintf(out, "slot=\"%lld", message_number(session, "slot", 0));
}

static double value_of(const json_t *node, const json_t *entry, const char *member)
{
    const double value = json_number_value(json_object_get(entry, member ? member : "began"));
    const double told = member ? value : json_number_value(json_object_get(node, "time")) - value;

    return told > 0 ? told : 0;
}

static void print_each(FILE *out, const json_t *directory)
{
    static const struct {
        const char *list;
        void (*label)(FILE *out, const json_t *entry);
        const char *metric, *type, *member, *help; /* member NULL: the entry's age */
    } metrics[] = {
        {"devices", label_device, "vocl_device_busy_ratio", "gauge", "load",
         "Part of the last second or two in which something ran on it."},
        {"devices", label_device, "vocl_device_busy_seconds_total", "counter", "busy",
         "Time in which something ran on the device."},
        {"devices", label_device, "vocl_device_sessions", "gauge", "sessions", "Sessions that use the device."},
        {"devices", label_device, "vocl_device_sessions_limit", "gauge", "most",
         "Sessions that may use the device at a time."},
        {"devices", label_device, "vocl_device_memory_bytes", "gauge", "memory", "Memory of the device."},
        {"devices", label_device, "vocl_device_free_bytes", "gauge", "free",
         "Memory of the device that no session has or uses."},
        {"sessions", label_session, "vocl_session_age_seconds", "gauge", NULL,
         "How long the session in the slot has been there."},
        {"sessions", label_session, "vocl_session_device_seconds", "gauge", "device_seconds",
         "Of that, the time in which something of it ran."},
        {"sessions", label_session, "vocl_session_memory_bytes", "gauge", "memory",
         "Memory of devices that the session uses."},
        {"sessions", label_session, "vocl_session_launches", "gauge", "launches",
         "Kernels that the session has launched."}};
    const json_t *node, *entry;
    size_t i, j;

    for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); m++) {
        print_head(out, metrics[m].metric, metrics[m].type, metrics[m].help);
        json_array_foreach(directory, i, node)
        {
            json_array_foreach(json_object_get(node, metrics[m].list), j, entry)
            {
                print_node(out, node, metrics[m].metric);
                fputs("\",", out);
                metrics[m].label(out, entry);
                fprintf(out, "\"} %.12g\n", value_of(node, entry, metrics[m].member));
            }
        }
    }
}

static void print_nodes(FILE *out, const json_t *directory)
{
    const json_t *node;
    size_t i;

    print_head(out, "vocl_node_up", "gauge", "Whether the node takes sessions.");
    json_array_foreach(directory, i, node)
    {
        print_node(out, node, "vocl_node_up");
        fprintf(out, "\"} %d\n", !strcmp(message_text(node, "state", ""), "up"));
    }
    print_head(out, "vocl_node_sessions", "gauge", "Sessions on the node.");
    json_array_foreach(directory, i, node)
    {
        print_node(out, node, "vocl_node_sessions");
        fprintf(out, "\"} %zu\n", json_array_size(json_object_get(node, "sessions")));
    }
}

/* Nodes that are lost to this daemon. Their own daemons may answer, and not know of it. */
static void print_lost(FILE *out, const json_t *directory)
{
    const json_t *node;
    size_t i;

    print_head(out, "vocl_node_lost", "gauge", "1 for each node that this daemon cannot reach, by kind of reason.");
    json_array_foreach(directory, i, node)
    {
        if (!*message_text(node, "lost by", ""))
            continue;
        print_node(out, node, "vocl_node_lost");
        fprintf(out, "\",reason=\"%s\"} 1\n", message_text(node, "lost by", ""));
    }
}

/* How many other nodes the pool has, and how many of them are lost to this daemon: if all are, it is cut off. */
static void print_peers(FILE *out, const json_t *directory, const char *own)
{
    const json_t *node;
    unsigned peers = 0, lost = 0;
    size_t i;

    json_array_foreach(directory, i, node)
    {
        peers += strcmp(message_text(node, "name", ""), own) != 0;
        lost += *message_text(node, "lost by", "") != '\0';
    }
    print_head(out, "vocl_peers", "gauge", "Other nodes of the pool.");
    fprintf(out, "vocl_peers %u\n", peers);
    print_head(out, "vocl_peers_lost", "gauge", "Of those, how many this daemon cannot reach.");
    fprintf(out, "vocl_peers_lost %u\n", lost);
}

/* ---- the queue, and totals ---- */

static void print_queue(FILE *out, const json_t *queue)
{
    const json_t *request;
    double longest = 0;
    size_t i;

    json_array_foreach(queue, i, request)
    {
        const double waited = json_number_value(json_object_get(request, "waited"));

        longest = waited > longest ? waited : longest;
    }
    print_head(out, "vocl_queue_requests", "gauge", "Requests that wait for devices.");
    fprintf(out, "vocl_queue_requests %zu\n", json_array_size(queue));
    print_head(out, "vocl_queue_longest_wait_seconds", "gauge", "How long the first of them has waited.");
    fprintf(out, "vocl_queue_longest_wait_seconds %.10g\n", longest);
}

static void print_durations(const struct daemon *d, FILE *out)
{
    static const char metric[] = "vocl_session_duration_seconds";
    uint64_t count = 0;

    print_head(out, metric, "histogram", "How long sessions on this node were that are over.");
    for (unsigned i = 0; i < DURATIONS; i++) {
        count += d->totals.lasted[i];
        fprintf(out, "%s_bucket{le=\"%.10g\"} %llu\n", metric, account_durations[i], (unsigned long long)count);
    }
    count += d->totals.lasted[DURATIONS];
    fprintf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.10g\n%s_count %llu\n", metric, (unsigned long long)count,
            metric, d->totals.lasted_seconds, metric, (unsigned long long)count);
}

static void print_totals(const struct daemon *d, FILE *out)
{
    const struct {
        const char *metric, *help;
        double value;
    } totals[] = {
        {"vocl_sessions_total", "Sessions that were started on this node.", (double)d->totals.sessions},
        {"vocl_sessions_failed_total", "Of those, how many workers ended badly.", (double)d->totals.failed},
        {"vocl_launches_total", "Kernel launches on this node.", (double)d->totals.launches},
        {"vocl_received_bytes_total", "Bytes from applications.", (double)d->totals.bytes_in},
        {"vocl_sent_bytes_total", "Bytes to applications.", (double)d->totals.bytes_out},
        {"vocl_device_seconds_total", "Time in which something ran on this node's devices.", d->totals.device_seconds},
        {"vocl_connections_total", "Connections to this daemon.", (double)d->totals.connections},
        {"vocl_connections_refused_total", "Of those, how many were refused.", (double)d->totals.refused}};

    for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++) {
        print_head(out, totals[i].metric, "counter", totals[i].help);
        fprintf(out, "%s %.12g\n", totals[i].metric, totals[i].value);
    }
    print_head(out, "vocl_account_unwritten_records", "gauge", "Lines of the account that wait to be written.");
    fprintf(out, "vocl_account_unwritten_records %zu\n", json_array_size(d->unaccounted));
    print_head(out, "vocl_build_info", "gauge", "The daemon's version; 1.");
    fprintf(out, "vocl_build_info{version=\"%s\"} 1\n", PACKAGE_VERSION);
}

char *metrics_text(struct daemon *d, bool whole_pool)
{
    json_t *pool = peers_directory(d), *own = node_print(d);
    json_t *directory = whole_pool ? json_incref(pool) : message_pack("[O]", own);
    json_t *queue = whole_pool ? queue_print(d) : json_incref(json_object_get(own, "queue"));
    size_t length;
    char *text = NULL;
    FILE *out = open_memstream(&text, &length);

    if (out) {
        print_nodes(out, directory);
        print_lost(out, pool);
        print_peers(out, pool, d->config->name);
        print_each(out, directory);
        print_queue(out, queue);
        print_durations(d, out);
        print_totals(d, out);
        fclose(out);
    }
    json_decref(directory);
    json_decref(pool);
    json_decref(own);
    json_decref(queue);
    return text;
}
