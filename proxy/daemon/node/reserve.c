/*
 * Reserving devices of this node for a session: a daemon of the pool, possibly this one, has chosen them for a request.
 * Whether the user may have them is decided here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "proxy/daemon/node/internal.h"

#define RESERVED_SECONDS 20
#define NOBODY UINT32_MAX /* the system takes this UID as "unchanged" */

static void expired(void *argument)
{
    struct session *s = argument;

    if (s->held) { /* its owner ended while there was no daemon */
        hold_end(s);
        return;
    }
    daemon_log("warning", "a reservation of %s expires: it was not started in time", s->user);
    if (!*s->within) /* otherwise nobody else misses the devices */
        expiry_note(s->uid);
    session_end(s, "it was not started in time");
}

void session_expect(struct session *s)
{
    const double now = wall_seconds();

    if (!s->expires)
        s->expires = now + (s->keep_seconds > RESERVED_SECONDS ? s->keep_seconds : RESERVED_SECONDS);
    session_set_timer(s, expired, s->expires > now + 0.01 ? s->expires - now : 0.01);
}

#define OWN(member) FIELD(struct session, member, #member)

static const struct field asked[] = {OWN(of),      OWN(replaces), OWN(within),    OWN(program),
                                     OWN(job),     OWN(from),     OWN(account),   OWN(share),
                                     OWN(devices), OWN(memory),   OWN(exclusive), FIELD_END};

/* Whether the devices exist, each listed once. */
static bool has_devices(const struct session *s)
{
    bool seen[MOST_DEVICES] = {false};

    for (unsigned i = 0; i < s->device_count; i++) {
        if (s->devices[i] >= s->daemon->device_count || seen[s->devices[i]])
            return false;
        seen[s->devices[i]] = true;
    }
    return s->device_count > 0;
}

/* Returns why the devices cannot be had, or NULL: the broker's knowledge may be a moment old. */
static const char *refuse_devices(const struct session *s, bool exclusive, uint64_t memory)
{
    for (unsigned i = 0; i < s->device_count; i++) {
        const struct device *device = &s->daemon->devices[s->devices[i]];
        const struct device_rule *rule = config_rule(s->daemon->config, device->name);
        uint64_t taken;
        bool alone;
        unsigned users = hold_users(s->daemon, s->devices[i], &taken, &alone) - 1; /* without s itself */

        if (rule->hidden || alone || users >= rule->sessions || (exclusive && users))
            return "a device is taken";
        if (memory > (rule->memory ? rule->memory : device->memory) || taken + memory > device->memory)
            return "a device has too little free memory";
    }
    return NULL;
}

/* Returns NULL with the reason in why; *never: the answer will not change later. */
static struct session *take(struct daemon *d, const json_t *order, const struct user *user, bool *never, char *why,
                            size_t why_size)
{
    const char *id = message_text(order, "session", ""), *refused = NULL;
    const long away = expiry_seconds(user->uid);
    struct session *s;
    uint64_t memory;
    bool exclusive;

    text_print(why, why_size, "an invalid request");
    if (!message_is_id(id) || session_find(d, id) || !*user->name || user->uid == NOBODY || user->gid == NOBODY)
        return NULL;
    if (is_draining(d) && !*message_text(order, "within", "")) { /* a hold's owner already has the devices */
        text_print(why, why_size, "the node takes no sessions");
        return NULL;
    }
    if (!user_may_have_devices(d, user, why, why_size)) {
        *never = true;
        return NULL;
    }
    if (away) {
        text_print(why, why_size, "you reserved devices without using them; try again in %ld s", away);
        return NULL;
    }
    s = session_new(d, id);
    if (!s)
        return NULL;
    fields_read(asked, NULL, order, s);
    if (!message_is_id(s->of))
        text_print(s->of, sizeof(s->of), "%s", id);
    text_print(s->user, sizeof(s->user), "%s", user->name);
    text_print(s->home, sizeof(s->home), "%s", user->home);
    s->uid = user->uid;
    s->gid = user->gid;
    memory = s->memory;
    exclusive = s->exclusive;
    s->memory = 0; /* hold_users() is not to count these yet */
    s->exclusive = false;
    if (!has_devices(s) || json_array_size(json_object_get(order, "devices")) > s->device_count || s->share < 1 ||
        s->share > 10000)
        refused = why;
    else
        refused = *s->within ? hold_refuse(s, memory, never) : refuse_devices(s, exclusive, memory);
    if (refused) {
        if (refused != why)
            text_print(why, why_size, "%s", refused);
        session_free(s);
        return NULL;
    }
    s->exclusive = exclusive;
    s->memory = memory ? memory : config_rule(d->config, d->devices[s->devices[0]].name)->memory;
    session_expect(s);
    if (state_save(s)) {
        text_print(why, why_size, "%s %s", d->config->name, *d->trouble ? d->trouble : "cannot record this session");
        session_free(s);
        return NULL;
    }
    daemon_changed(d);
    return s;
}

/* ---- reservations that wait for a look-up ---- */

static const struct field of_user[] = {FIELD(struct user, name, "user"), FIELD(struct user, uid, "uid"),
                                       FIELD(struct user, gid, "gid"), FIELD_END};

struct reserving {
    LIST_ENTRY(reserving) in;
    struct daemon *daemon;
    struct connection *asker; /* NULL: this daemon */
    void (*answered)(struct daemon *d, struct connection *asker, json_t *answer);
    json_t *order;
    struct question *question; /* the look-up of the user */
};

static LIST_HEAD(, reserving) reservings = LIST_HEAD_INITIALIZER(reservings);

static void reserving_free(struct reserving *r)
{
    LIST_REMOVE(r, in);
    question_drop(r->question);
    json_decref(r->order);
    free(r);
}

static json_t *refusal(const json_t *order, bool never, const char *why)
{
    return message_pack("{s:s, s:b, s:b, s:s}", "reserved", message_text(order, "session", ""), "good", 0, "never",
                        never, "why", why);
}

static void on_user(void *argument, void *bytes)
{
    const struct reserving r = *(struct reserving *)argument;
    struct session *s = NULL;
    char why[256] = "";
    bool never = false;
    json_t *answer;

    ((struct reserving *)argument)->question = NULL;
    if (bytes)
        s = take(r.daemon, r.order, bytes, &never, why, sizeof(why));
    else
        text_print(why, sizeof(why), "user %s cannot be looked up on that node", message_text(r.order, "user", ""));
    answer = s ? message_pack("{s:s, s:b}", "reserved", s->id, "good", 1) : refusal(r.order, never, why);
    reserving_free(argument); /* before answered(), which may release the reservation */
    r.answered(r.daemon, r.asker, answer);
    json_decref(answer);
    if (!s && !never)
        daemon_changed(r.daemon);
}

bool session_reserve(struct daemon *d, struct connection *asker, json_t *order,
                     void (*answered)(struct daemon *d, struct connection *asker, json_t *answer))
{
    struct reserving *r = calloc(1, sizeof(*r));
    struct user user;

    memset(&user, 0, sizeof(user)); /* including the padding: equal questions share an answer */
    user.uid = user.gid = NOBODY;
    fields_read(of_user, NULL, order, &user);
    if (r) {
        *r = (struct reserving){.daemon = d, .asker = asker, .answered = answered, .order = json_incref(order)};
        LIST_INSERT_HEAD(&reservings, r, in);
        r->question = user_ask(d, &user, on_user, r);
    }
    if (r && r->question)
        return true;
    if (r)
        reserving_free(r);
    if (asker) {
        json_t *answer = refusal(order, false, "it has no memory to look at that");

        answered(d, asker, answer);
        json_decref(answer);
    }
    return false;
}

void reservings_end(const struct connection *asker)
{
    struct reserving *r, *next;

    for (r = LIST_FIRST(&reservings); r; r = next) {
        next = LIST_NEXT(r, in);
        if (r->asker == asker)
            reserving_free(r);
    }
}

void session_release(struct daemon *d, const char *id)
{
    struct session *s = session_find(d, id);
    struct reserving *r, *next;

    for (r = LIST_FIRST(&reservings); r; r = next) {
        next = LIST_NEXT(r, in);
        if (!strcmp(message_text(r->order, "session", ""), id))
            reserving_free(r);
    }
    if (s && s->state == SESSION_RESERVED && !s->held && !s->start)
        session_end(s, "not needed");
}
