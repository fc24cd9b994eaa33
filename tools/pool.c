#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "base/text.h"
#include "tools/pool.h"

#define MOST_WAIT 1000000
#define LEAST_ID 4
#define NO_NODE 3        /* exit status: no pool, or no such node */
#define LEAVE_SECONDS 30 /* seconds for sessions that have moved away to end */

static const char help[] =
    "usage: vocl pool [OPTION]... status|nodes|devices|sessions|queue|history|events\n"
    "       vocl pool [OPTION]... wait CONDITION...\n"
    "       vocl pool [OPTION]... drain|resume NODE...\n"
    "       vocl pool [OPTION]... reload [NODE]...\n"
    "       vocl pool [OPTION]... kill SESSION...|--job=JOB,...\n"
    "       vocl pool [OPTION]... move SESSION...\n"
    "       vocl pool [OPTION]... suspend|resume SESSION...\n"
    "       vocl pool [OPTION]... rebalance\n"
    "       vocl top [OPTION]...\n"
    "\n"
    "status   shows nodes, devices, sessions and the queue\n"
    "wait     waits until all conditions hold: sessions=0, running>=2, suspended=1, nodes=3 (nodes that are up),\n"
    "         queue=0, sessions@NODE<=4, drained=NODE (no session is left), state=NODE:lost; with =, >= or <=\n"
    "drain    makes NODE refuse new sessions, until resume by the same owner\n"
    "reload   makes the daemons of NODEs, or of all nodes, read their configuration and pool file again\n"
    "kill     ends SESSION, or with --job all sessions of batch jobs\n"
    "history  shows sessions that have ended, from the daemons' accounts\n"
    "events   shows what has happened in the pool lately, a line of JSON for each event\n"
    "move     moves SESSION to other devices while it runs\n"
    "suspend  suspends SESSION: others can use its devices until it needs them again, or until resume\n"
    "rebalance\n"
    "         lists the sessions that the policy would place elsewhere\n"
    "\n"
    "  -P, --pool=WHERE   the pool file, or host:port,... of daemons (default VOCL_POOL)\n"
    "  -j, --json         print JSON: everything that the daemon knows\n"
    "  -c, --csv          history: print comma-separated values\n"
    "  -u, --user=NAME    history, events, wait: only sessions of this user\n"
    "  -J, --job=JOB,...  history, events, kill: only sessions of these batch jobs\n"
    "      --since=WHEN   history, events: only what ended or happened since a date, or since 12h or 7d ago\n"
    "  -F, --follow       events: show what happens from now on, until interrupted\n"
    "      --sum=KEYS     history: sums by user, day, program, node, job or end\n"
    "  -o, --owner=NAME   drain, resume: the owner of the drain (default: the user)\n"
    "  -r, --reason=TEXT  drain: the reason\n"
    "      --at=WHEN      drain: from a date on, \"2026-01-31 12:00\", or 2h or 7d from now\n"
    "      --until=WHEN   drain: until then; it ends by itself\n"
    "  -T, --timeout=SECONDS\n"
    "                     wait: time limit (default: none); drain, resume: how long to wait for a\n"
    "                     daemon that does not answer, which may be restarting (default: 0)\n"
    "  -W, --wait=SECONDS drain: wait until no session is left; move: wait for a free device\n"
    "  -m, --move         drain: move its sessions to other nodes\n"
    "  -t, --to=NODE      move: to that node (default: the policy chooses)\n"
    "      --device=N     move: to that device\n"
    "  -a, --any          move, drain, rebalance: also to another kind of device, if it has everything that\n"
    "                     the program was told of its own\n"
    "  -f, --from=NODE    move: only the devices of that node, if the session has devices of several\n"
    "      --do           rebalance: move the sessions\n"
    "  -q, --quiet        move, suspend: print no progress\n"
    "\n"
    "The exit status is 0; 1 if a daemon could not do what it was asked to do or the time limit was reached;\n"
    "2 after a mistake on the command line; 3 if there is no pool, or it has no node of that name.\n"
    "See vocl(1).\n";

__attribute__((noreturn, format(printf, 2, 3))) static void fail(int status, const char *format, ...)
{
    char text[1024], visible[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "vocl pool: %s\n", text_visible(text, visible, sizeof(visible)));
    exit(status);
}

double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* ---- asking daemons ---- */

#define SEE_DOCTOR "; run `vocl doctor --pool=WHERE`, with this pool, to find the reason"

/* Returns NULL, with why. address NULL: any daemon. */
static json_t *try_to_ask(const struct poolfile *pool, const char *address, json_t *question, char *why,
                          size_t why_size)
{
    struct client client;
    json_t *answer = NULL;
    int error = client_ask(&client, pool, address, question, &answer, why, why_size);

    client_close(&client);
    json_decref(question);
    return error ? NULL : answer;
}

static json_t *ask(const struct poolfile *pool, const char *address, json_t *question)
{
    char why[512];
    json_t *answer = try_to_ask(pool, address, question, why, sizeof(why));

    if (!answer)
        fail(1, "%s" SEE_DOCTOR, why);
    return answer;
}

json_t *pool_status(const struct poolfile *pool)
{
    return ask(pool, NULL, json_pack("{s:s}", "do", "status"));
}

json_t *pool_try_status(const struct poolfile *pool, char *why, size_t why_size)
{
    return try_to_ask(pool, NULL, json_pack("{s:s}", "do", "status"), why, why_size);
}

struct choices {
    const char *owner, *reason;
    double at, until; /* of a drain, or 0 */
    long wait;        /* seconds, or -1: do not wait */
    long timeout;     /* seconds, or -1: no limit */
    struct history_choices history;
    bool as_json, moves, carries_out, follows;
    const char *from;
    struct move_wish wish;
};

/* Returns the node's part of the status, borrowed, or NULL. */
static json_t *find_node(const json_t *status, const char *name)
{
    json_t *node;
    size_t i;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (!strcmp(text_of(node, "name"), name))
            return node;
    }
    return NULL;
}

static void await_sessions(const struct poolfile *pool, const char *name, long seconds)
{
    char why[512];

    if (!pool_await_empty(pool, name, seconds, why, sizeof(why)))
        fail(1, "%s", why);
}

static bool is_id(const char *text)
{
    return strlen(text) >= LEAST_ID && strspn(text, "0123456789abcdef") == strlen(text);
}

bool pool_is_lost(const json_t *node, char *why, size_t why_size)
{
    const char *reason = text_of(node, "why"), *state = text_of(node, "state");
    const bool lost = !strcmp(state, "lost");

    if (!lost && strcmp(state, "other-version") != 0)
        return false;
    snprintf(why, why_size, "%s%s%s", lost ? "it does not answer" : "it has another version", *reason ? ": " : "",
             reason);
    return true;
}

/* Changes a node, and returns false with why if that failed. If the name is a suspended session's, resume resumes
 * that. */
static bool try_to_change(const struct poolfile *pool, const char *what, const char *name,
                          const struct choices *choices, char *why, size_t why_size)
{
    json_t *status = pool_try_status(pool, why, why_size), *node = find_node(status, name), *question, *answer = NULL;
    bool changed;

    if (status && !node && !strcmp(what, "resume") && is_id(name)) { /* the name is a session's */
        json_decref(status);
        if (pool_resume(pool, name))
            exit(1);
        return true;
    }
    if (status && !node)
        fail(NO_NODE, "there is no node %s", name);
    if (node && !pool_is_lost(node, why, why_size)) {
        question = json_pack("{s:s, s:s, s:s*, s:f, s:f}", "do", what, "reason", choices->reason, "owner",
                             *choices->owner ? choices->owner : NULL, "from", choices->at, "until", choices->until);
        answer = try_to_ask(pool, text_of(node, "address"), question, why, why_size);
    }
    changed = answer != NULL;
    json_decref(status);
    json_decref(answer);
    return changed;
}

/* Tries repeatedly until the time-out, if there is one, as a daemon may just be starting again. */
static void change_node(const struct poolfile *pool, const char *what, const char *name, const struct choices *choices)
{
    struct look look = look_for(choices->timeout < 0 ? 0 : choices->timeout * 1000);
    char why[512];

    while (look_again(&look)) {
        if (try_to_change(pool, what, name, choices, why, sizeof(why)))
            return;
    }
    fail(1, "%s: %s" SEE_DOCTOR, name, why);
}

static void check_id(const char *id)
{
    if (!is_id(id))
        fail(2, "a session is named by at least %d digits of its name, not by \"%s\"", LEAST_ID, id);
}

/* Returns the sessions of a node, including its suspended ones, as a new reference. */
static json_t *sessions_of(const json_t *node)
{
    json_t *sessions = json_copy(json_object_get(node, "sessions")), *suspended = json_object_get(node, "suspended");

    if (suspended && (!sessions || json_array_extend(sessions, suspended)))
        fail(1, "out of memory");
    return sessions;
}

/* Asks the node to end the session. Returns false, with the reason, if it does not. */
static bool kill_part(const struct poolfile *pool, const json_t *node, const char *id, char *why, size_t why_size)
{
    json_t *answer =
        try_to_ask(pool, text_of(node, "address"), json_pack("{s:s, s:s}", "do", "kill", "session", id), why, why_size);
    const bool killed = answer != NULL;

    json_decref(answer);
    return killed;
}

/* Ends all parts of a session, which may be on several nodes. When one part ends the others end by themselves,
 * perhaps before they get the request. id: the beginning of the session's name. */
static void kill_session(const struct poolfile *pool, const char *id)
{
    json_t *status = pool_status(pool), *node, *session;
    char found[64] = "", why[512];
    bool ended = false;
    size_t i, j;

    check_id(id);
    for (int ending = 0; ending < 2; ending++) { /* the first round only checks that the name is unique */
        json_array_foreach(json_object_get(status, "nodes"), i, node)
        {
            json_t *sessions = sessions_of(node);

            json_array_foreach(sessions, j, session)
            {
                const char *other = text_of(session, "id");

                if (strncmp(other, id, strlen(id)))
                    continue;
                if (*found && strcmp(found, other))
                    fail(1, "more than one session begins with %s", id);
                snprintf(found, sizeof(found), "%s", other);
                if (ending)
                    ended |= kill_part(pool, node, other, why, sizeof(why));
            }
            json_decref(sessions);
        }
        if (!*found)
            fail(1, "there is no session %s", id);
    }
    if (!ended)
        fail(1, "%s", why);
    json_decref(status);
}

bool job_is_of(const char *session, const char *jobs)
{
    for (const char *at = jobs; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        const size_t length = strcspn(at, ",");

        if (length && !strncmp(session, at, length) && (!session[length] || session[length] == '.'))
            return true;
    }
    return false;
}

/* Ends the jobs' sessions, if there are any. */
static void kill_jobs(const struct poolfile *pool, const char *jobs)
{
    json_t *status = pool_status(pool), *node, *session;
    char why[512] = "";
    bool failed = false;
    size_t i, j;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        json_t *sessions = sessions_of(node);

        json_array_foreach(sessions, j, session)
        {
            if (job_is_of(text_of(session, "job"), jobs))
                failed |= !kill_part(pool, node, text_of(session, "id"), why, sizeof(why));
        }
        json_decref(sessions);
    }
    json_decref(status);
    if (failed)
        fail(1, "%s", why);
}

/* ---- commands ---- */

static void show(const struct poolfile *pool, const char *what, bool as_json)
{
    static const struct {
        const char *name;
        void (*show)(const json_t *status);
    } parts[] = {{"nodes", show_nodes}, {"devices", show_devices}, {"sessions", show_sessions}, {"queue", show_queue}};
    json_t *status = pool_status(pool);
    const bool all = !strcmp(what, "status");
    bool known = all;

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        known |= !strcmp(what, parts[i].name);
    if (!known)
        fail(2, "no command \"%s\"; try `vocl pool --help`", what);
    if (as_json) {
        json_dumpf(status, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        putchar('\n');
    }
    for (size_t i = 0; !as_json && i < sizeof(parts) / sizeof(*parts); i++) {
        if (all && i)
            putchar('\n');
        if (all || !strcmp(what, parts[i].name))
            parts[i].show(status);
    }
    json_decref(status);
}

static void check_sum(const char *list)
{
    unsigned count = 0;

    for (const char *at = list; count <= HISTORY_KEYS; at += strcspn(at, ",") + 1, count++) {
        if (!history_is_key(at, strcspn(at, ",")))
            fail(2, "--sum takes user, day, program, node, job or end, with commas between them, not \"%s\"", list);
        if (!at[strcspn(at, ",")])
            return;
    }
    fail(2, "--sum takes %d at most", HISTORY_KEYS);
}

static int move_sessions(const struct poolfile *pool, char **words, const struct choices *choices)
{
    struct move_wish wish = choices->wish;
    int status = 0;

    wish.wait = choices->wait > 0 ? choices->wait : 0;
    if (!*words)
        fail(2, "move needs a session; try `vocl pool --help`");
    for (; *words; words++) {
        check_id(*words);
        status |= pool_move_session(pool, *words, choices->from, wish);
    }
    return status;
}

static int suspend_sessions(const struct poolfile *pool, char **words, bool quiet)
{
    int status = 0;

    if (!*words)
        fail(2, "suspend needs a session; try `vocl pool --help`");
    for (; *words; words++) {
        check_id(*words);
        status |= pool_suspend(pool, *words, quiet);
    }
    return status;
}

/* Sessions that move away wait for a place as long as the drain may take. */
static void empty_nodes(const struct poolfile *pool, char **names, const struct choices *choices)
{
    struct move_wish wish = choices->wish;
    int left = 0;

    wish.to = "";
    wish.wait = choices->wait > 0 ? choices->wait : 0;
    for (char **name = names; *name; name++)
        left += pool_empty_node(pool, *name, wish);
    for (char **name = names; *name && !left; name++)
        await_sessions(pool, *name, choices->wait > LEAVE_SECONDS ? choices->wait : LEAVE_SECONDS);
    if (left)
        fail(1, "%d sessions stay", left);
}

/* Returns the exit status. */
static int command(const struct poolfile *pool, char **words, const struct choices *choices)
{
    char **const names = words + 1;
    const char *what = *words++;
    const bool changes = !strcmp(what, "drain") || !strcmp(what, "resume"), kills = !strcmp(what, "kill");

    if (choices->at > 0 && (choices->wait >= 0 || choices->moves))
        fail(2, "a drain that begins later (--at) neither waits nor moves sessions now");
    if (!changes && !kills) {
        if (*words)
            fail(2, "%s takes no argument such as \"%s\"", what, *words);
        if (!strcmp(what, "history"))
            return history(pool, &choices->history);
        show(pool, what, choices->as_json);
        return 0;
    }
    if (kills && choices->history.jobs)
        kill_jobs(pool, choices->history.jobs);
    else if (!*words)
        fail(2, "%s needs a %s; try `vocl pool --help`", what, kills ? "session" : "node");
    for (; *words; words++) {
        if (kills)
            kill_session(pool, *words);
        else
            change_node(pool, what, *words, choices);
    }
    if (choices->moves && *what == 'd') {
        empty_nodes(pool, names, choices);
        return 0;
    }
    for (words = names; *words && choices->wait >= 0 && *what == 'd'; words++)
        await_sessions(pool, *words, choices->wait);
    return 0;
}

int main(int count, char **words)
{
    static const struct option options[] = {{"pool", required_argument, NULL, 'P'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"csv", no_argument, NULL, 'c'},
                                            {"job", required_argument, NULL, 'J'},
                                            {"user", required_argument, NULL, 'u'},
                                            {"since", required_argument, NULL, 's'},
                                            {"follow", no_argument, NULL, 'F'},
                                            {"sum", required_argument, NULL, 'S'},
                                            {"owner", required_argument, NULL, 'o'},
                                            {"reason", required_argument, NULL, 'r'},
                                            {"at", required_argument, NULL, 'A'},
                                            {"until", required_argument, NULL, 'U'},
                                            {"wait", required_argument, NULL, 'w'},
                                            {"timeout", required_argument, NULL, 'T'},
                                            {"move", no_argument, NULL, 'm'},
                                            {"to", required_argument, NULL, 't'},
                                            {"device", required_argument, NULL, 'd'},
                                            {"from", required_argument, NULL, 'f'},
                                            {"any", no_argument, NULL, 'a'},
                                            {"do", no_argument, NULL, 'D'},
                                            {"quiet", no_argument, NULL, 'q'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *where = settings_string(SETTING_POOL);
    const bool is_top = !strcmp(words[0], "vocl top");
    struct poolfile pool;
    char why[512];
    struct choices choices = {
        .owner = "", .reason = "", .wait = -1, .timeout = -1, .from = "", .wish = {.to = "", .device = -1}};
    uint64_t number;
    int option, error, status = 0;

    while ((option = getopt_long(count, words, "P:jcJ:u:s:FS:o:r:w:W:T:mt:d:af:Dqh", options, NULL)) != -1) {
        switch (option) {
        case 'P':
            where = optarg;
            break;
        case 'j':
            choices.as_json = choices.history.as_json = true;
            break;
        case 'J':
            choices.history.jobs = optarg;
            break;
        case 'c':
            choices.history.as_csv = true;
            break;
        case 'u':
            choices.history.user = optarg;
            break;
        case 's':
            if (!history_when(optarg, false, &choices.history.since))
                fail(2, "--since takes a date, 2026-01-31, or a time until now, 7d or 12h, not \"%s\"", optarg);
            break;
        case 'F':
            choices.follows = true;
            break;
        case 'S':
            check_sum(optarg);
            choices.history.sum = optarg;
            break;
        case 'o':
            choices.owner = optarg;
            break;
        case 'r':
            choices.reason = optarg;
            break;
        case 'A':
        case 'U':
            if (!history_when(optarg, true, option == 'A' ? &choices.at : &choices.until))
                fail(2, "--%s takes a date, \"2026-01-31 12:00\", or a time from now, 2h or 7d, not \"%s\"",
                     option == 'A' ? "at" : "until", optarg);
            break;
        case 'w': /* -w, -s, -S, -d and -D: former letters, which mean other things elsewhere */
        case 'W':
            if (!text_read_number(optarg, 0, MOST_WAIT, &number))
                fail(2, "--wait takes a number of seconds, not \"%s\"", optarg);
            choices.wait = (long)number;
            break;
        case 'T':
            if (!text_read_number(optarg, 0, MOST_WAIT, &number))
                fail(2, "--timeout takes a number of seconds, not \"%s\"", optarg);
            choices.timeout = (long)number;
            break;
        case 'm':
            choices.moves = true;
            break;
        case 't':
            choices.wish.to = optarg;
            break;
        case 'd':
            if (!text_read_number(optarg, 0, 63, &number))
                fail(2, "--device takes the number of a device, not \"%s\"", optarg);
            choices.wish.device = (int)number;
            break;
        case 'a':
            choices.wish.any = true;
            break;
        case 'f':
            choices.from = optarg;
            break;
        case 'D':
            choices.carries_out = true;
            break;
        case 'q':
            choices.wish.quiet = true;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        default:
            return 2;
        }
    }
    if (!is_top && !words[optind]) {
        fputs(help, stderr);
        return 2;
    }
    error = poolfile_read(&pool, where, why, sizeof(why));
    if (error)
        fail(error == -ENOENT ? NO_NODE : 1, "%s", why);
    if (poolfile_take_settings(&pool))
        fail(1, "out of memory");
    if (is_top && words[optind])
        fail(2, "top takes no argument such as \"%s\"", words[optind]);
    if (is_top)
        status = top(&pool);
    else if (words[optind] && !strcmp(words[optind], "wait"))
        status = pool_wait(&pool, words + optind + 1, choices.history.user, choices.timeout);
    else if (words[optind] && !strcmp(words[optind], "reload"))
        status = pool_reload(&pool, words + optind + 1);
    else if (words[optind] && !strcmp(words[optind], "events") && !words[optind + 1])
        status = pool_events(&pool, &choices.history, choices.follows);
    else if (words[optind] && !strcmp(words[optind], "complete") && words[optind + 1])
        status = pool_complete(&pool, words[optind + 1]);
    else if (words[optind] && !strcmp(words[optind], "move"))
        status = move_sessions(&pool, words + optind + 1, &choices);
    else if (words[optind] && !strcmp(words[optind], "suspend"))
        status = suspend_sessions(&pool, words + optind + 1, choices.wish.quiet);
    else if (words[optind] && !strcmp(words[optind], "rebalance") && !words[optind + 1])
        status = pool_rebalance(&pool, choices.carries_out, choices.wish);
    else
        status = command(&pool, words + optind, &choices);
    poolfile_free(&pool);
    return status;
}
