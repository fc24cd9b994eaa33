/*
 * The trace of what the program does: its calls, what they waited for, what was sent to and received from the nodes,
 * and what these report of their commands. A command is identified by its number among the enqueued commands sent to
 * its node, which both sides count; a call by the commands that it sent.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/settings.h"
#include "client/core/stream.h"
#include "client/trace/timeline.h"

#define ASK_FIRST_NS 500000
#define ASK_LAST_NS 250000000
#define END_NS 3000000000L

/* Calls that come quickly one after the other share readings of the clock, which would cost more than the calls. */
#define QUICK_NS 3000  /* from one to the next */
#define QUICK_FIRST 32 /* as many of them first with readings of their own */
#define QUICK_MOST                                                                                                     \
    16 /* calls in a row without a reading, at most; not always as many, lest a loop has the same ones read again */
#define UNREAD 1u /* in place of a time: not read */

static _Thread_local struct {
    bool inside;
    /* unread: so many more calls without a reading; shared: of so many in the last such row */
    uint8_t unread, shared;
    uint16_t quick;                    /* calls in a row */
    uint64_t since, last;              /* last: the clock when it was last read */
    struct timeline_call sent, before; /* before: of the last recorded call that sent something */
} call __attribute__((tls_model("initial-exec")));

/* Starts before the first call, which starts the session. A worker's own OpenCL has the setting, too, and ignores
 * it. */
__attribute__((constructor)) static void start(void)
{
    const char *folder = settings_string(SETTING_TIMELINE);

    if (*folder && !getenv("VOCL_WORKER") && !getauxval(AT_SECURE))
        timeline_start(folder);
}

/* ---- calls ---- */

_Static_assert(TIMELINE_FUNCTIONS <= 1u << TIMELINE_FUNCTION_BITS, "what a record has for them");

/* Reads the clock, and decides how many of the following calls may do without that. */
static uint64_t read_clock(void)
{
    const uint64_t now = (uint64_t)clock_ns();
    const bool quick = now - call.last < QUICK_NS * (1u + call.shared);

    call.quick = quick ? call.quick + (call.quick < QUICK_FIRST + 4 ? 1 : -3) : 0;
    call.shared = call.unread = call.quick >= QUICK_FIRST ? (uint8_t)(QUICK_MOST - call.quick % 4) : 0;
    call.last = now;
    return now;
}

uint64_t timeline_call_begin(bool light)
{
    if (call.inside)
        return 0;
    call.inside = true;
    call.sent.count = 0;
    if (light && call.unread) {
        call.unread--;
        call.since = UNREAD;
    } else {
        call.since = read_clock();
    }
    return call.since;
}

/* Whether the call sent what a short record implies: one command, directly after the last one. */
static bool sent_next(void)
{
    return call.sent.count == 1 && call.sent.member == call.before.member &&
           call.sent.first == call.before.first + call.before.count;
}

static void put_call(uint32_t which)
{
    const uint64_t now = (uint64_t)clock_ns();

    timeline_put(TIMELINE_CALL, which, call.since == UNREAD ? now : call.since, now, &call.sent,
                 call.sent.count ? sizeof(call.sent) : 0);
    call.last = now;
    if (now - call.since > QUICK_NS)
        call.quick = call.unread = 0;
}

void timeline_call_end(uint32_t function, const void *address)
{
    const uint32_t which = function | site_of(address) << TIMELINE_FUNCTION_BITS;
    const bool next = sent_next();

    if (call.since != UNREAD || (call.sent.count && !next) ||
        !timeline_put_short(next ? TIMELINE_QUICK_NEXT : TIMELINE_QUICK, which))
        put_call(which);
    if (call.sent.count)
        call.before = call.sent;
    call.inside = false;
}

uint64_t timeline_now(void)
{
    uint64_t now;

    if (!timeline_wanted())
        return 0;
    now = (uint64_t)clock_ns();
    if (call.inside) { /* what is recorded in the call has times, so the call gets them, too */
        call.quick = call.unread = 0;
        if (call.since == UNREAD)
            call.since = now;
    }
    return now;
}

/* ---- commands ---- */

static void put_sent(const struct timeline_call *sent)
{
    const uint64_t now = (uint64_t)clock_ns();

    timeline_put(TIMELINE_SENT, 0, now, now, sent, sizeof(*sent));
}

static void counted(struct node *node, uint32_t count)
{
    struct timeline_call more = {node->timeline.sent, count, node->peer};
    struct timeline_call *sent = &call.sent;

    node->timeline.sent += count;
    if (!call.inside) {
        put_sent(&more);
        return;
    }
    if (sent->count && sent->member == more.member && sent->first + sent->count == more.first) {
        sent->count += count;
        return;
    }
    if (sent->count)
        put_sent(sent);
    *sent = more;
}

void timeline_folded(struct node *node)
{
    if (node->timeline.on)
        counted(node, 1);
}

void timeline_count_batch(struct node *node)
{
    struct wire_cursor frame, fields;
    uint32_t count = 0;
    uint16_t number;

    if (!node->timeline.on || node->batch.failed)
        return;
    if (node->timeline.at > node->batch.length)
        node->timeline.at = 0;
    frame = wire_cursor(node->batch.bytes + node->timeline.at, node->batch.length - node->timeline.at);
    while (frame.left && wire_next(&frame, &number, &fields) == 1) {
        if (number == WIRE_repeat)
            count += wire_get_u32(&fields);
        else
            count += wire_is_enqueue(number);
    }
    node->timeline.at = node->batch.length;
    if (count)
        counted(node, count);
}

/* ---- clocks ---- */

static void put_ask(struct node *node)
{
    const struct wire_timeline_ask m = {(uint64_t)clock_ns()};

    wire_put_timeline_ask(&node->batch, &m);
    node->timeline.asked = (long)m.asked;
}

/* Asks for the node's time often at first, then as seldom as the drift of clocks allows. */
void timeline_pushing(struct node *node)
{
    timeline_count_batch(node);
    if (!node->timeline.on || node->batch.failed || clock_ns() - node->timeline.asked < node->timeline.pause)
        return;
    put_ask(node);
    node->timeline.at = node->batch.length;
    node->timeline.pause = node->timeline.pause > ASK_LAST_NS / 2 ? ASK_LAST_NS : 2 * node->timeline.pause;
}

/* ---- waits, round trips, data, and notes of nodes ---- */

void timeline_waited(uint64_t since, enum timeline_reason reason, const struct node *node, uint32_t event)
{
    const struct timeline_wait more = {reason, event};

    if (since)
        timeline_put(TIMELINE_WAIT, node->peer, since, (uint64_t)clock_ns(), &more, sizeof(more));
}

void timeline_trip(uint64_t since, const struct node *node, uint16_t number)
{
    if (since)
        timeline_text(TIMELINE_TRIP, node->peer, since, wire_name(number));
}

void timeline_data(uint64_t since, const struct node *node, bool out, bool direct, uint64_t bytes)
{
    const struct timeline_bytes more = {bytes, out, direct};

    if (since)
        timeline_put(TIMELINE_DATA, node->peer, since, (uint64_t)clock_ns(), &more, sizeof(more));
}

void timeline_span(uint64_t since, const struct node *node, const char *format, ...)
{
    va_list arguments;
    char text[256];

    if (!since)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    timeline_text(TIMELINE_SPAN, node->peer, since, text);
}

bool timeline_note(struct node *node, uint16_t number, struct wire_cursor *fields)
{
    const uint64_t now = (uint64_t)clock_ns();
    struct wire_timeline_records records;
    struct wire_timeline_time time;

    if (number == WIRE_timeline_time) {
        if (!wire_get_timeline_time(fields, &time))
            return false;
        if (time.asked >= atomic_load(&node->timeline_opened))
            atomic_store(&node->timeline_opened, 0);
        if (timeline_wanted() && time.asked <= now)
            timeline_put(TIMELINE_CLOCK, node->peer, time.asked, now, &time.here, sizeof(time.here));
        return true;
    }
    if (!wire_get_timeline_records(fields, &records))
        return false;
    if (timeline_wanted() && !atomic_load(&node->timeline_opened))
        timeline_put(TIMELINE_WORKER, node->peer, now, now, records.records, records.records_length);
    return true;
}

/* ---- start and stop ---- */

void timeline_open_node(struct node *node)
{
    const struct wire_timeline m = {1};

    if (!timeline_wanted() || !node->alive || node->timeline.on)
        return;
    timeline_text(TIMELINE_MEMBER, node->peer, (uint64_t)clock_ns(),
                  transport_peer_host(session_transport(node->session), node->peer));
    wire_put_timeline(&node->batch, &m);
    put_ask(node);
    atomic_store(&node->timeline_opened, (uint64_t)node->timeline.asked);
    node->timeline = (struct node_timeline){
        .on = true, .at = node->batch.length, .asked = node->timeline.asked, .pause = ASK_FIRST_NS};
    node->repeats = 0; /* what is counted from here on must not be folded into an earlier command */
    session_need_progress(node->session);
}

static void each_node(struct session *session, void (*function)(struct node *))
{
    for (unsigned i = 0; i < session_node_count(session); i++)
        function(session_node(session, i));
    for (unsigned i = 0; i < session_spare_count(session); i++) {
        if (session_spare(session, i)->peer)
            function(session_spare(session, i));
    }
}

void timeline_open(struct session *session)
{
    each_node(session, timeline_open_node);
}

/* Waits for what the node has yet to report. Not the local member: native calls of a driver in this process could be
 * too late. */
static void end_node(struct node *node)
{
    struct wire_timeline_end end = {0};
    struct wire_timeline_end_reply reply;
    struct call ask;

    if (!node->timeline.on || !node->alive || node->in_process)
        return;
    session_lock(node->session);
    put_ask(node);
    session_unlock(node->session);
    call_send_timeline_end(node, &end, &ask);
    ask.until = clock_ns() + END_NS;
    if (!call_wait_timeline_end(&ask, &reply))
        call_free(&ask);
}

void timeline_end(struct session *session)
{
    if (timeline_wanted() && !session_polls())
        each_node(session, end_node);
}

static void close_node(struct node *node)
{
    const struct wire_timeline m = {0};

    if (!node->timeline.on)
        return;
    wire_put_timeline(&node->batch, &m);
    node->timeline.on = false;
    session_need_progress(node->session);
}

bool timeline_request(struct session *session, const char *words, char *text, size_t size)
{
    bool start = !strncmp(words, "start ", 6);
    int error;

    if (start == timeline_wanted() || (!start && strcmp(words, "stop"))) {
        snprintf(text, size, start ? "a trace is already running" : "no trace is running");
        return false;
    }
    if (start) {
        sites_again();
        error = timeline_start(words + 6);
        session_lock(session);
        timeline_open(session);
        session_unlock(session);
        snprintf(text, size, "%s", error ? strerror(-error) : "");
        return !error;
    }
    timeline_end(session);
    session_lock(session);
    each_node(session, close_node);
    timeline_stop();
    session_unlock(session);
    snprintf(text, size, "%s", timeline_folder());
    return true;
}
