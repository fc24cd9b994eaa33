/*
 * The kubelet's questions. A place is a device, or a share of one, that a container may have; its name is vocl-N. It is
 * healthy if a container has it, or could: each node offers all places of the pool, and calls those unhealthy that
 * others have at present.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "config.h"
#include "pool/auth.h"
#include "proxy/kubernetes/deviceplugin.pb-c.h"
#include "proxy/kubernetes/kubernetes.h"
#include "proxy/kubernetes/rpc.h"

#define MOST_CONTAINERS 16 /* in a question; the kubelet asks for one at a time */
#define ANSWER_MS 30000
#define MOST_TRIES 3

/* ---- places ---- */

static struct {
    unsigned count;
    uint8_t health[MOST_PLACES];
} offered, sent;
static struct rpc_request *listener;

bool offer_read_place(const char *name, unsigned *id)
{
    uint64_t number;
    char again[32];

    if (strncmp(name, "vocl-", 5) || !text_read_number(name + 5, 0, MOST_PLACES - 1, &number))
        return false;
    snprintf(again, sizeof(again), "vocl-%u", (unsigned)number);
    *id = (unsigned)number;
    return !strcmp(again, name);
}

/* There are never fewer than before: containers may have them. */
static void look_at_places(void)
{
    static const struct claim *of[MOST_PLACES];
    const struct watched now = watch_look();
    const unsigned places = options.devices ? options.devices : now.places;
    unsigned left = now.free;

    claims_mark(of);
    for (unsigned i = offered.count; i < MOST_PLACES; i++) {
        if (of[i] || i < places)
            offered.count = i + 1;
    }
    for (unsigned i = 0; i < offered.count; i++) {
        offered.health[i] = of[i] ? of[i]->state != CLAIM_LOST : left > 0;
        left -= !of[i] && left > 0;
    }
}

static bool is_news(void)
{
    return offered.count != sent.count || memcmp(offered.health, sent.health, offered.count);
}

/* Sends the list of places. */
static void send_places(void)
{
    static char healthy[] = "Healthy", unhealthy[] = "Unhealthy";
    V1beta1__ListAndWatchResponse response = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;
    V1beta1__Device *devices = calloc(offered.count + 1, sizeof(*devices)),
                    **list = calloc(offered.count + 1, sizeof(*list));
    char(*names)[16] = calloc(offered.count + 1, sizeof(*names));

    for (unsigned i = 0; devices && list && names && i < offered.count; i++) {
        snprintf(names[i], sizeof(names[i]), "vocl-%u", i);
        v1beta1__device__init(&devices[i]);
        devices[i].id = names[i];
        devices[i].health = offered.health[i] ? healthy : unhealthy;
        list[i] = &devices[i];
    }
    response.n_devices = offered.count;
    response.devices = list;
    if (devices && list && names && rpc_stream(listener, &response.base))
        sent = offered;
    free(devices);
    free(list);
    free(names);
}

static void take_list(struct rpc_request *request, const ProtobufCMessage *message)
{
    (void)message;
    if (listener)
        rpc_answer(listener, NULL);
    listener = request;
    sent.count = UINT32_MAX;
}

static void list_gone(struct rpc_request *request)
{
    if (listener == request)
        listener = NULL;
}

bool offer_is_heard(void)
{
    return listener != NULL;
}

/* ---- the environment and the mounts of a container ---- */

struct given {
    V1beta1__ContainerAllocateResponse response;
    V1beta1__ContainerAllocateResponse__EnvsEntry variables[MOST_VARIABLES + 16];
    V1beta1__ContainerAllocateResponse__EnvsEntry *list[MOST_VARIABLES + 16];
    V1beta1__Mount mount, *mounts[1];
    char user[128], hold[AUTH_JOB + 2], key[2 * AUTH_KEY + 1], count[16], library[4096], vendors[4096];
};

static const struct auth_plugin *keys;
static char addresses[2048];

/* The daemons that containers ask, as many as there is room for: any of them knows the whole pool. */
static void list_addresses(void)
{
    size_t length = 0;

    for (unsigned i = 0; i < pool.count && length + strlen(pool.nodes[i].address) + 2 < sizeof(addresses); i++)
        length += (size_t)snprintf(addresses + length, sizeof(addresses) - length, "%s%s", i ? "," : "",
                                   pool.nodes[i].address);
}

int offer_open(char *why, size_t why_size)
{
    keys = auth_open("key", why, why_size);
    list_addresses();
    return keys ? 0 : -1;
}

static void give(struct given *given, const char *name, const char *value)
{
    const size_t at = given->response.n_envs++;

    v1beta1__container_allocate_response__envs_entry__init(&given->variables[at]);
    given->variables[at].key = (char *)(uintptr_t)name;
    given->variables[at].value = (char *)(uintptr_t)value;
    given->list[at] = &given->variables[at];
}

static void give_library(struct given *given)
{
    given->mounts[0] = &given->mount;
    v1beta1__mount__init(&given->mount);
    given->mount.host_path = options.bundle;
    given->mount.container_path = options.bundle_inside;
    given->mount.read_only = true;
    given->response.n_mounts = 1;
    given->response.mounts = given->mounts;
    snprintf(given->library, sizeof(given->library), "%s/lib/%s", options.bundle_inside, VOCL_LIBRARY);
    snprintf(given->vendors, sizeof(given->vendors), "%s/vendors", options.bundle_inside);
    if (!strcmp(options.interpose, "preload"))
        give(given, "LD_PRELOAD", given->library);
    else if (!strcmp(options.interpose, "icd"))
        give(given, "OCL_ICD_VENDORS", given->vendors);
}

static bool fill(struct given *given, const char *job, unsigned count, char *why, size_t why_size)
{
    const struct auth_settings settings = {.key_file = pool.key_file, .user = options.user};

    v1beta1__container_allocate_response__init(&given->response);
    given->response.envs = given->list;
    if (keys->derive(&settings, job, given->key, why, why_size))
        return false;
    snprintf(given->user, sizeof(given->user), "%s/%s", options.user, job);
    snprintf(given->hold, sizeof(given->hold), "@%s", job);
    snprintf(given->count, sizeof(given->count), "%u", count);
    give(given, "VOCL_POOL", addresses);
    give(given, "VOCL_POOL_USER", given->user);
    give(given, "VOCL_POOL_KEY", given->key);
    give(given, "VOCL_POOL_HOLD", given->hold);
    give(given, "VOCL_POOL_COUNT", given->count);
    give(given, "VOCL_LOG", "error");
    give(given, "HWLOC_PLUGINS_BLACKLIST", "hwloc_opencl.so"); /* as `vocl run` does (tools/environment.c) */
    if (options.bundle)
        give_library(given);
    for (unsigned i = 0; i < options.variables; i++)
        give(given, options.names[i], options.values[i]);
    return true;
}

/* ---- questions that wait for devices ---- */

struct asked {
    LIST_ENTRY(asked) in;
    struct rpc_request *request;
    bool starts; /* PreStartContainer, not Allocate */
    unsigned count, tries;
    long until_ms;
    struct {
        unsigned id, count; /* the first of the places, and their number */
        char job[32];
    } parts[MOST_CONTAINERS];
};

static LIST_HEAD(, asked) waiting = LIST_HEAD_INITIALIZER(waiting);

static void forget(struct asked *asked)
{
    LIST_REMOVE(asked, in);
    free(asked);
}

/* Claims for containers that do not start are over. */
static void take_back(const struct asked *asked, const char *why)
{
    for (unsigned i = 0; !asked->starts && i < asked->count; i++) {
        struct claim *claim = claims_find(asked->parts[i].id);

        if (claim && !claim->started && !strcmp(claim->job, asked->parts[i].job))
            claim_end(claim, why);
    }
}

static void gone(struct rpc_request *request)
{
    struct asked *asked = LIST_FIRST(&waiting);

    while (asked && asked->request != request)
        asked = LIST_NEXT(asked, in);
    if (!asked)
        return;
    take_back(asked, "the kubelet has gone");
    forget(asked);
}

static void refuse(struct asked *asked, const char *why)
{
    char text[400];

    text_print(text, sizeof(text), "VOCL: %s", why);
    say("%s refused: %s", asked->starts ? "a start is" : "devices are", why);
    rpc_refuse(asked->request, GRPC_STATUS_RESOURCE_EXHAUSTED, text);
    take_back(asked, why);
    forget(asked);
}

static void answer(struct asked *asked)
{
    V1beta1__AllocateResponse response = V1BETA1__ALLOCATE_RESPONSE__INIT;
    V1beta1__ContainerAllocateResponse *list[MOST_CONTAINERS];
    struct given *given = calloc(asked->count, sizeof(*given));
    char why[256] = "out of memory";
    bool good = given != NULL;

    for (unsigned i = 0; good && i < asked->count; i++) {
        good = fill(&given[i], asked->parts[i].job, asked->parts[i].count, why, sizeof(why));
        list[i] = &given[i].response;
    }
    response.n_container_responses = asked->count;
    response.container_responses = list;
    if (good) {
        rpc_answer(asked->request, &response.base);
        forget(asked);
    } else {
        refuse(asked, why);
    }
    free(given);
}

static void answer_start(struct asked *asked)
{
    const V1beta1__PreStartContainerResponse response = V1BETA1__PRE_START_CONTAINER_RESPONSE__INIT;

    rpc_answer(asked->request, &response.base);
    forget(asked);
}

/* Answers, if all devices are held or cannot be obtained. */
static void turn(struct asked *asked)
{
    bool held = true;

    for (unsigned i = 0; i < asked->count; i++) {
        struct claim *claim = claims_find(asked->parts[i].id);

        if (!claim || strcmp(claim->job, asked->parts[i].job)) {
            refuse(asked, "another container has got these places");
            return;
        }
        if (claim->state == CLAIM_LOST && asked->starts && ++asked->tries < MOST_TRIES)
            claim_renew(claim);
        if (claim->state == CLAIM_LOST || clock_ms() > asked->until_ms) {
            refuse(asked, claim->state == CLAIM_LOST ? claim->why : "the pool does not answer in time");
            return;
        }
        held &= claim->state == CLAIM_HELD;
    }
    if (held && asked->starts)
        answer_start(asked);
    else if (held)
        answer(asked);
}

static struct asked *ask(struct rpc_request *request, bool starts)
{
    struct asked *asked = calloc(1, sizeof(*asked));

    if (!asked) {
        rpc_refuse(request, GRPC_STATUS_RESOURCE_EXHAUSTED, "VOCL: out of memory");
        return NULL;
    }
    *asked = (struct asked){.request = request, .starts = starts, .until_ms = clock_ms() + ANSWER_MS};
    LIST_INSERT_HEAD(&waiting, asked, in);
    return asked;
}

static void ask_about(struct asked *asked, const struct claim *claim, unsigned id, unsigned count)
{
    asked->parts[asked->count].id = id;
    asked->parts[asked->count].count = count;
    text_print(asked->parts[asked->count].job, sizeof(asked->parts[0].job), "%s", claim->job);
    asked->count++;
}

/* ---- questions ---- */

/* Reads a container's places, each of which must exist and occur once. Returns why not, or NULL. */
static const char *read_places(char *const *names, size_t count, unsigned ids[MOST_CLAIMED], bool seen[MOST_PLACES])
{
    if (!count || count > MOST_CLAIMED)
        return "VOCL: a container has 1 to 256 devices";
    for (size_t i = 0; i < count; i++) {
        if (!offer_read_place(names[i], &ids[i]) || ids[i] >= offered.count)
            return "VOCL: a device was not offered";
        if (seen[ids[i]])
            return "VOCL: a device is named twice";
        seen[ids[i]] = true;
    }
    return NULL;
}

static void take_allocate(struct rpc_request *request, const ProtobufCMessage *message)
{
    const V1beta1__AllocateRequest *all = (const V1beta1__AllocateRequest *)message;
    unsigned ids[MOST_CONTAINERS][MOST_CLAIMED];
    bool seen[MOST_PLACES] = {false};
    const char *why = NULL;
    struct asked *asked;

    if (!all->n_container_requests || all->n_container_requests > MOST_CONTAINERS)
        why = "VOCL: 1 to 16 containers";
    for (size_t i = 0; !why && i < all->n_container_requests; i++)
        why = read_places(all->container_requests[i]->devices_ids, all->container_requests[i]->n_devices_ids, ids[i],
                          seen);
    if (why) {
        rpc_refuse(request, GRPC_STATUS_INVALID_ARGUMENT, why);
        return;
    }
    asked = ask(request, false);
    for (size_t i = 0; asked && i < all->n_container_requests; i++) {
        const unsigned count = (unsigned)all->container_requests[i]->n_devices_ids;
        const struct claim *claim = claims_take(ids[i], count);

        if (!claim) {
            refuse(asked, "out of memory");
            return;
        }
        ask_about(asked, claim, ids[i][0], count);
    }
}

/* Containers that are started again, also after a reboot, get no other environment: the devices are held again under
 * the same name. */
static void take_start(struct rpc_request *request, const ProtobufCMessage *message)
{
    const V1beta1__PreStartContainerRequest *start = (const V1beta1__PreStartContainerRequest *)message;
    unsigned ids[MOST_CLAIMED];
    bool seen[MOST_PLACES] = {false};
    const char *why = read_places(start->devices_ids, start->n_devices_ids, ids, seen);
    struct claim *claim = why ? NULL : claims_find(ids[0]);
    struct asked *asked;

    if (!why && !claim)
        why = "VOCL: nothing is known of this container's devices any more: delete its pod";
    if (why) {
        rpc_refuse(request, GRPC_STATUS_FAILED_PRECONDITION, why);
        return;
    }
    asked = ask(request, true);
    if (!asked)
        return;
    claim_start(claim);
    ask_about(asked, claim, ids[0], (unsigned)start->n_devices_ids);
}

static void take_options(struct rpc_request *request, const ProtobufCMessage *message)
{
    V1beta1__DevicePluginOptions wishes = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

    (void)message;
    wishes.pre_start_required = true;
    rpc_answer(request, &wishes.base);
}

/* ---- serving ---- */

/* GetPreferredAllocation is not among them, as the options say: no place is better than another. */
int offer_serve(const char *socket)
{
#define METHOD(name) "/v1beta1.DevicePlugin/" name
    static const struct rpc_method methods[] = {
        {METHOD("GetDevicePluginOptions"), &v1beta1__empty__descriptor, take_options, NULL},
        {METHOD("ListAndWatch"), &v1beta1__empty__descriptor, take_list, list_gone},
        {METHOD("Allocate"), &v1beta1__allocate_request__descriptor, take_allocate, gone},
        {METHOD("PreStartContainer"), &v1beta1__pre_start_container_request__descriptor, take_start, gone},
        {NULL, NULL, NULL, NULL}};

    rpc_stop();
    return rpc_serve(socket, methods);
}

void offer_turn(void)
{
    struct asked *next;

    for (struct asked *asked = LIST_FIRST(&waiting); asked; asked = next) {
        next = LIST_NEXT(asked, in);
        turn(asked);
    }
    look_at_places();
    if (listener && is_news())
        send_places();
}
