/*
 * The claims of containers: a claim is a number of places, as the kubelet counts them, and as many devices, held by the
 * pool under the name of a job that this process has drawn. The job is all that a container knows of it, so the claim
 * stays the same when this process, a daemon or the whole pool is restarted: its devices are held again.
 *
 * The kubelet does not say that a pod has ended. Its places are free when the kubelet gives them to another container,
 * or when it no longer names them (kubelet.c).
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/socket.h"
#include "base/text.h"
#include "pool/auth.h"
#include "proxy/kubernetes/kubernetes.h"

#define AGAIN_MS 5000 /* between attempts to hold devices that were lost */
#define MOST_MISSED 2

static LIST_HEAD(, claim) claims = LIST_HEAD_INITIALIZER(claims);

/* ---- the file ---- */

static json_t *print_claim(const struct claim *claim)
{
    json_t *ids = json_array(), *hold = json_array();

    for (unsigned i = 0; i < claim->count; i++)
        json_array_append_new(ids, json_integer(claim->ids[i]));
    for (char **word = claim->hold; word && *word; word++)
        json_array_append_new(hold, json_string(*word));
    return json_pack("{s:s, s:b, s:s, s:o, s:o}", "job", claim->job, "started", claim->started, "pod", claim->pod,
                     "places", ids, "hold", hold);
}

/* A claim that cannot be written is held all the same; it is lost with this process. */
static void save(void)
{
    json_t *list = json_array(), *all;
    const struct claim *claim;
    char path[4096];

    LIST_FOREACH (claim, &claims, in)
        json_array_append_new(list, print_claim(claim));
    all = json_pack("{s:o}", "claims", list);
    snprintf(path, sizeof(path), "%s.new", options.state);
    if (json_dump_file(all, path, JSON_INDENT(1)) || rename(path, options.state))
        say("%s cannot be written: %s", options.state, strerror(errno));
    json_decref(all);
}

static char **read_words(const json_t *list)
{
    const size_t count = json_array_size(list);
    char **words = count >= 3 && count % 2 ? calloc(count + 1, sizeof(*words)) : NULL;

    for (size_t i = 0; words && i < count; i++) {
        const char *word = json_string_value(json_array_get(list, i));

        words[i] = strdup(word ? word : "");
    }
    return words;
}

static struct claim *claim_new(void)
{
    struct claim *claim = calloc(1, sizeof(*claim));

    if (!claim)
        return NULL;
    claim->began_ms = clock_ms();
    LIST_INSERT_HEAD(&claims, claim, in);
    return claim;
}

static void hold(struct claim *claim)
{
    claim->state = CLAIM_BEGINS;
    claim->holder = holder_start(claim);
    if (!claim->holder)
        claim_lost(claim, "vocl-join cannot be started");
}

static bool read_claim(const json_t *written)
{
    const json_t *ids = json_object_get(written, "places");
    const char *job = json_string_value(json_object_get(written, "job")),
               *pod = json_string_value(json_object_get(written, "pod"));
    struct claim *claim;

    if (!job || !auth_is_job(job) || !json_array_size(ids) || json_array_size(ids) > MOST_CLAIMED)
        return false;
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_int_t id = json_integer_value(json_array_get(ids, i));

        if (id < 0 || id >= MOST_PLACES || claims_find((unsigned)id))
            return false;
    }
    claim = claim_new();
    if (!claim)
        return false;
    text_print(claim->job, sizeof(claim->job), "%s", job);
    text_print(claim->pod, sizeof(claim->pod), "%s", pod ? pod : "");
    claim->started = json_is_true(json_object_get(written, "started"));
    claim->hold = read_words(json_object_get(written, "hold"));
    claim->again = claim->hold != NULL;
    for (size_t i = 0; i < json_array_size(ids); i++)
        claim->ids[claim->count++] = (unsigned)json_integer_value(json_array_get(ids, i));
    say("%s has %u devices from before", claim->job, claim->count);
    hold(claim);
    return true;
}

int claims_open(char *why, size_t why_size)
{
    json_error_t error;
    json_t *all, *written;
    char bad[4096];
    size_t i;

    if (access(options.state, F_OK)) {
        save();
        text_print(why, why_size, "%s: %s", options.state, strerror(errno));
        return access(options.state, F_OK) ? -ENOENT : 0;
    }
    all = json_load_file(options.state, 0, &error);
    if (!all) { /* as a host that lost its power may leave it */
        text_print(bad, sizeof(bad), "%s.bad", options.state);
        rename(options.state, bad);
        say("%s: %s; it is now %s, and the claims of containers are lost", options.state, error.text, bad);
        return 0;
    }
    json_array_foreach(json_object_get(all, "claims"), i, written)
    {
        if (!read_claim(written))
            say("%s: claim %zu makes no sense: ignored", options.state, i);
    }
    json_decref(all);
    return 0;
}

/* ---- one claim ---- */

static void hold_free(struct claim *claim)
{
    for (char **word = claim->hold; word && *word; word++)
        free(*word);
    free(claim->hold);
    claim->hold = NULL;
}

void claim_end(struct claim *claim, const char *why)
{
    say("%s is over (%s%s%s)", claim->job, why, *claim->pod ? ", pod " : "", claim->pod);
    holder_end(claim->holder, true);
    LIST_REMOVE(claim, in);
    hold_free(claim);
    free(claim);
    save();
}

void claim_start(struct claim *claim)
{
    if (claim->started)
        return;
    claim->started = true;
    save();
}

void claim_renew(struct claim *claim)
{
    if (claim->state == CLAIM_LOST)
        hold(claim);
}

void claim_held(struct claim *claim, char **words)
{
    hold_free(claim);
    claim->hold = words;
    claim->again = true;
    claim->state = CLAIM_HELD;
    if (!claim->started)
        claim->began_ms = clock_ms();
    say("%s holds %u devices", claim->job, claim->count);
    save();
}

void claim_lost(struct claim *claim, const char *why)
{
    char visible[256];

    text_visible(why, visible, sizeof(visible));
    if (claim->state == CLAIM_HELD || strcmp(claim->why, visible))
        say("%s holds no devices: %s", claim->job, visible);
    text_print(claim->why, sizeof(claim->why), "%s", visible);
    if (strstr(why, "no such reservation")) /* a daemon says so; otherwise the hold may exist still */
        claim->again = false;
    claim->state = CLAIM_LOST;
    claim->holder = NULL;
    claim->lost_ms = clock_ms();
}

/* ---- all claims ---- */

static bool has(const struct claim *claim, unsigned id)
{
    for (unsigned i = 0; i < claim->count; i++) {
        if (claim->ids[i] == id)
            return true;
    }
    return false;
}

struct claim *claims_find(unsigned id)
{
    struct claim *claim = LIST_FIRST(&claims);

    while (claim && !has(claim, id))
        claim = LIST_NEXT(claim, in);
    return claim;
}

/* Whether a pod had one of its other places when the kubelet last listed them. */
static bool is_used_otherwise(const struct claim *claim, const unsigned *ids, unsigned count)
{
    for (unsigned i = 0; i < claim->count; i++) {
        bool asked = false;

        for (unsigned k = 0; k < count; k++)
            asked |= ids[k] == claim->ids[i];
        if (!asked && claim->used[i])
            return true;
    }
    return false;
}

/* The claim has one place less, and as many devices as before: its containers may be using any of them. */
static void drop_place(struct claim *claim, unsigned id)
{
    for (unsigned i = 0; i < claim->count; i++) {
        if (claim->ids[i] != id)
            continue;
        claim->count--;
        claim->ids[i] = claim->ids[claim->count];
        claim->used[i] = claim->used[claim->count];
        break;
    }
    claim->doubtful = true;
    kubelet_list_soon();
}

/* Ends claims whose places the kubelet gives to another container. Returns the one that is for the same pod, or NULL:
 * init containers have places together with the containers after them, and the kubelet asks for all before it starts
 * one. */
static struct claim *make_way(const unsigned *ids, unsigned count)
{
    struct claim *shared = NULL;

    for (unsigned i = 0; i < count; i++) {
        struct claim *claim = claims_find(ids[i]);

        if (!claim || claim == shared)
            continue;
        if (!shared && !claim->started)
            shared = claim;
        else if (is_used_otherwise(claim, ids, count))
            drop_place(claim, ids[i]);
        else
            claim_end(claim, "another container has its places");
    }
    return shared;
}

/* The claim gets these places, too: more devices are held under the same name. */
static void grow(struct claim *claim, const unsigned *ids, unsigned count)
{
    const unsigned before = claim->count;

    for (unsigned i = 0; i < count && claim->count < MOST_CLAIMED; i++) {
        if (!has(claim, ids[i]))
            claim->ids[claim->count++] = ids[i];
    }
    if (claim->count == before)
        return;
    holder_end(claim->holder, true);
    claim->again = false;
    hold(claim);
}

static void draw_job(char job[32])
{
    uint8_t bytes[12];

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        abort(); /* the kernel always has so many */
    strcpy(job, "k8s-");
    hex_show(bytes, sizeof(bytes), job + 4);
}

struct claim *claims_take(const unsigned *ids, unsigned count)
{
    struct claim *claim = make_way(ids, count);

    if (claim) {
        grow(claim, ids, count);
        return claim;
    }
    claim = claim_new();
    if (!claim)
        return NULL;
    draw_job(claim->job);
    memcpy(claim->ids, ids, count * sizeof(*ids));
    claim->count = count;
    hold(claim);
    return claim;
}

/* Notes which places of the claim a pod has. Returns that pod, or NULL. */
static const char *look_for_pod(struct claim *claim, const char *const pods[MOST_PLACES])
{
    const char *pod = NULL;

    for (unsigned i = 0; i < claim->count; i++) {
        claim->used[i] = pods[claim->ids[i]] != NULL;
        pod = claim->used[i] ? pods[claim->ids[i]] : pod;
    }
    return pod;
}

void claims_compare(const char *const pods[MOST_PLACES])
{
    struct claim *next;

    for (struct claim *claim = LIST_FIRST(&claims); claim; claim = next) {
        const char *pod = look_for_pod(claim, pods);

        next = LIST_NEXT(claim, in);
        claim->missed = pod || claim->state == CLAIM_BEGINS ? 0 : claim->missed + 1;
        if (pod && !*claim->pod) {
            text_visible(pod, claim->pod, sizeof(claim->pod));
            say("%s is pod %s", claim->job, claim->pod);
            save();
        }
        /* A pod that is being admitted is not named yet. */
        if (claim->missed >= (claim->doubtful ? 1 : MOST_MISSED) &&
            clock_ms() - claim->began_ms > 1000L * options.grace_seconds)
            claim_end(claim, "no pod has its places");
    }
}

void claims_mark(const struct claim *of[MOST_PLACES])
{
    const struct claim *claim;

    memset(of, 0, MOST_PLACES * sizeof(*of));
    LIST_FOREACH (claim, &claims, in) {
        for (unsigned i = 0; i < claim->count; i++)
            of[claim->ids[i]] = claim;
    }
}

void claims_turn(void)
{
    struct claim *claim;

    LIST_FOREACH (claim, &claims, in) {
        if (claim->state == CLAIM_LOST && clock_ms() - claim->lost_ms > AGAIN_MS)
            hold(claim);
    }
}
