/*
 * Questions to the kubelet. The plugin registers once, and again after each restart of the kubelet, which then makes a
 * new socket, and may have removed that of the plugin. It is asked regularly which containers have places.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "proxy/kubernetes/deviceplugin.pb-c.h"
#include "proxy/kubernetes/kubernetes.h"
#include "proxy/kubernetes/podresources.pb-c.h"
#include "proxy/kubernetes/rpc.h"

#define CALL_MS 10000
#define AGAIN_MS 2000
#define HEARD_MS 10000 /* within which the kubelet has to listen after a registration, or gets another one */

static int events = -1;
static char own[64], own_path[256], kubelet_path[256];
static bool restart, registered, asking, listing;
static long tried_ms, registered_ms, listed_ms;
static bool list_soon;

/* Two names in turn: gRPC may remove the last socket only after there is a new one. */
static void choose_name(void)
{
    static unsigned turn;

    snprintf(own, sizeof(own), "%.50s.%u.sock", options.resource, turn++ % 2);
    for (char *letter = own; *letter; letter++)
        *letter = *letter == '/' ? '_' : *letter;
    snprintf(own_path, sizeof(own_path), "%s/%s", options.plugins, own);
}

int kubelet_open(void)
{
    snprintf(kubelet_path, sizeof(kubelet_path), "%s/kubelet.sock", options.plugins);
    for (int i = 0; i < 2; i++) {
        choose_name();
        unlink(own_path); /* an earlier process may have left it */
    }
    events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (events < 0 || inotify_add_watch(events, options.plugins, IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_ONLYDIR) < 0)
        return -errno;
    restart = true;
    return 0;
}

/* The kubelet has a new socket, or this plugin's socket is gone. */
static bool is_changed(void)
{
    char bytes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool changed = false;
    ssize_t got;

    while ((got = read(events, bytes, sizeof(bytes))) > 0) {
        const struct inotify_event *event;

        for (ssize_t at = 0; at < got; at += (ssize_t)(sizeof(*event) + event->len)) {
            event = (const struct inotify_event *)(bytes + at);
            if (event->len && !strcmp(event->name, "kubelet.sock"))
                changed |= !(event->mask & IN_DELETE);
            if (event->len && !strcmp(event->name, own))
                changed |= (event->mask & IN_DELETE) != 0;
        }
    }
    return changed;
}

/* ---- registration ---- */

static void on_registered(const ProtobufCMessage *answer, const char *why)
{
    asking = false;
    registered = answer != NULL;
    registered_ms = clock_ms();
    if (answer)
        say("the kubelet knows %s", options.resource);
    else
        say("the kubelet does not take %s: %s", options.resource, why);
}

static void ask_registration(void)
{
    V1beta1__DevicePluginOptions wishes = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
    V1beta1__RegisterRequest request = V1BETA1__REGISTER_REQUEST__INIT;

    wishes.pre_start_required = true;
    request.version = (char[]){"v1beta1"};
    request.endpoint = own;
    request.resource_name = (char *)(uintptr_t)options.resource;
    request.options = &wishes;
    asking = true;
    tried_ms = clock_ms();
    rpc_call(kubelet_path, "/v1beta1.Registration/Register", &request.base, &v1beta1__empty__descriptor, CALL_MS,
             on_registered);
}

static void turn_registration(void)
{
    const bool unheard = registered && !offer_is_heard() && clock_ms() - registered_ms > HEARD_MS;
    int error;

    if (restart) {
        choose_name();
        error = offer_serve(own_path);
        if (error)
            say("%s: %s", own_path, strerror(-error));
        restart = error != 0;
        registered = false;
        tried_ms = 0;
    }
    if (!restart && !asking && (!registered || unheard) && clock_ms() - tried_ms > AGAIN_MS &&
        !access(kubelet_path, F_OK))
        ask_registration();
}

/* ---- pods ---- */

/* Notes which pod has places. */
static void note_container(const V1__ContainerResources *container, const char *pod, const char *pods[MOST_PLACES])
{
    for (size_t i = 0; i < container->n_devices; i++) {
        const V1__ContainerDevices *devices = container->devices[i];

        for (size_t k = 0; !strcmp(devices->resource_name, options.resource) && k < devices->n_device_ids; k++) {
            unsigned id;

            if (offer_read_place(devices->device_ids[k], &id))
                pods[id] = pod;
        }
    }
}

/* A kubelet that has just started may not know all pods yet, so its answers do not count for a while. */
static void on_listed(const ProtobufCMessage *answer, const char *why)
{
    const V1__ListPodResourcesResponse *list = (const V1__ListPodResourcesResponse *)answer;
    static bool was_good = true;
    const char **pods;
    char(*names)[128];

    listing = false;
    if (was_good != (answer != NULL))
        say(answer ? "the kubelet says again which pods there are"
                   : "the kubelet does not say which pods there are: %s",
            why);
    was_good = answer != NULL;
    pods = answer ? calloc(MOST_PLACES, sizeof(*pods)) : NULL;
    names = answer ? calloc(list->n_pod_resources + 1, sizeof(*names)) : NULL;
    if (pods && names) {
        for (size_t i = 0; i < list->n_pod_resources; i++) {
            const V1__PodResources *pod = list->pod_resources[i];

            snprintf(names[i], sizeof(names[i]), "%s/%s", pod->namespace_, pod->name);
            for (size_t k = 0; k < pod->n_containers; k++)
                note_container(pod->containers[k], names[i], pods);
        }
        if (registered && clock_ms() - registered_ms > 1000L * options.grace_seconds)
            claims_compare(pods);
    }
    free(pods);
    free(names);
}

static void turn_pods(void)
{
    V1__ListPodResourcesRequest request = V1__LIST_POD_RESOURCES_REQUEST__INIT;

    if (listing || (!list_soon && clock_ms() - listed_ms < 1000L * options.poll_seconds))
        return;
    list_soon = false;
    listing = true;
    listed_ms = clock_ms();
    rpc_call(options.pod_resources, "/v1.PodResourcesLister/List", &request.base,
             &v1__list_pod_resources_response__descriptor, CALL_MS, on_listed);
}

void kubelet_list_soon(void)
{
    list_soon = true;
}

void kubelet_turn(void)
{
    restart |= is_changed();
    turn_registration();
    turn_pods();
}
