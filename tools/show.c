/* Prints tables of a pool. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/pool.h"

/* Valid until eight more have been fetched: enough for one line. */
const char *shown(const json_t *object, const char *name)
{
    static char texts[8][256];
    static unsigned last;

    last = (last + 1) % 8;
    return text_visible(text_of(object, name), texts[last], sizeof(texts[last]));
}

void show_nodes(const json_t *status)
{
    json_t *node;
    size_t i;

    printf("%-20s %-13s %7s %8s  %-20s %s\n", "NODE", "STATE", "DEVICES", "SESSIONS", "ADDRESS", "WHY");
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        printf("%-20s %-13s %7zu %8zu  %-20s %s\n", shown(node, "name"), shown(node, "state"),
               json_array_size(json_object_get(node, "devices")), json_array_size(json_object_get(node, "sessions")),
               shown(node, "address"), shown(node, "why"));
    }
}

void show_devices(const json_t *status)
{
    json_t *node, *device;
    char all[16], left[16];
    size_t i, j;

    printf("%-20s %3s %-11s %-9s %8s %10s %10s %5s  %s\n", "NODE", "NR", "TYPE", "MODE", "SESSIONS", "MEMORY", "FREE",
           "LOAD", "NAME");
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        json_array_foreach(json_object_get(node, "devices"), j, device)
        {
            printf("%-20s %3.0f %-11s %-9s %3.0f of %-2.0f %10s %10s %4.0f%%  %s\n", shown(node, "name"),
                   number_of(device, "index"), shown(device, "type"),
                   json_is_true(json_object_get(device, "taken")) ? "exclusive" : shown(device, "mode"),
                   number_of(device, "sessions"), number_of(device, "most"),
                   show_bytes(number_of(device, "memory"), all), show_bytes(number_of(device, "free"), left),
                   100 * number_of(device, "load"), shown(device, "name"));
        }
    }
}

/* "n1 > n2: copy, 12 MiB of 1.5 GiB", or for the last move "n1 > n2: 12 MiB, 3.1 ms of pause"; "" if there is none. */
const char *show_move(const json_t *session, char *text, size_t size)
{
    const json_t *move = json_object_get(session, "move");
    const double bytes = number_of(move, "bytes"), total = number_of(move, "total");
    const double pause = number_of(move, "pause_us");
    const char *phase = shown(move, "phase"), *to = shown(move, "to");
    char shown_bytes[16] = "", ended[48] = "", shown_total[16];

    if (bytes > 0 || !*phase)
        show_bytes(bytes, shown_bytes);
    if (*phase && total > bytes)
        snprintf(ended, sizeof(ended), " of %s", show_bytes(total, shown_total));
    if (!*phase)
        snprintf(ended, sizeof(ended), ", %.1f ms of pause", pause / 1000);
    if (!move)
        *text = '\0';
    else
        snprintf(text, size, "%s > %s: %s%s%s%s", shown(move, "from"), *to ? to : "?", phase,
                 *phase && *shown_bytes ? ", " : "", shown_bytes, ended);
    return text;
}

void show_sessions(const json_t *status)
{
    json_t *node, *session;
    char time[24], memory[16], move[256];
    size_t i, j;

    printf("%-12s %-12s %-16s %-20s %-8s %9s %5s %9s %10s %9s  %s\n", "SESSION", "USER", "PROGRAM", "NODE", "STATE",
           "TIME", "SHARE", "DEVICE S", "LAUNCHES", "MEMORY", "MOVE");
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            printf("%-12.12s %-12s %-16.16s %-20s %-8s %9s %5.0f %9.2f %10.0f %9s  %s\n", shown(session, "id"),
                   shown(session, "user"), shown(session, "program"), shown(node, "name"), shown(session, "state"),
                   show_time(number_of(node, "time") - number_of(session, "began"), time), number_of(session, "share"),
                   number_of(session, "device_seconds"), number_of(session, "launches"),
                   show_bytes(number_of(session, "memory"), memory), show_move(session, move, sizeof(move)));
        }
    }
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        json_array_foreach(json_object_get(node, "suspended"), j, session)
        {
            printf("%-12.12s %-12s %-16.16s %-20s %-8s %9s\n", shown(session, "id"), shown(session, "user"),
                   shown(session, "program"), "-", shown(session, "state"),
                   show_time(number_of(node, "time") - number_of(session, "began"), time));
        }
    }
}

void show_queue(const json_t *status)
{
    json_t *request;
    char time[24];
    size_t i;

    printf("%-8s %-12s %7s %9s  %s\n", "POSITION", "USER", "DEVICES", "WAITED", "WHY");
    json_array_foreach(json_object_get(status, "queue"), i, request)
    {
        printf("%-8zu %-12s %7.0f %9s  %s\n", i + 1, shown(request, "user"), number_of(request, "devices"),
               show_time(number_of(request, "waited"), time), shown(request, "why"));
    }
}
