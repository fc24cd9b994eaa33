/*
 * What a daemon leaves in its state directory for its successor: a file for each session, from its reservation on,
 * because devices that are not on record would be granted again. Workers run without their daemon, so sessions
 * survive its restart.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"
#include "base/text.h"
#include "proxy/daemon/node/internal.h"
#include "proxy/supervisor.h"

#define PREFIX "session-"
#define UNSAVED_NS 1000000000u /* device time that may be unrecorded */
#define LOCK_TRIES 100         /* attempts to lock, at this interval */
#define LOCK_MS 50

void state_path(const struct daemon *d, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", d->config->state, name);
}

/* A daemon that was killed holds the lock until it, and a child that it was just starting, have ended. */
static int lock_state(int fd)
{
    for (unsigned tries = 0; flock(fd, LOCK_EX | LOCK_NB); tries++) {
        if (errno != EWOULDBLOCK || tries == LOCK_TRIES)
            return -errno;
        poll(NULL, 0, LOCK_MS);
    }
    return 0;
}

int state_open(struct daemon *d, char *why, size_t why_size)
{
    char path[4096];
    int fd, error;

    if (mkdir(d->config->state, 0755) && errno != EEXIST) {
        text_print(why, why_size, "%s: %s", d->config->state, strerror(errno));
        return -errno;
    }
    state_path(d, "lock", path, sizeof(path));
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    error = fd < 0 ? -errno : lock_state(fd); /* released when the process ends */
    if (error)
        snprintf(why, why_size, "%s: %s", path,
                 error == -EWOULDBLOCK ? "another daemon is at work here" : strerror(-error));
    return error;
}

static void session_path(const struct daemon *d, const char *id, char *path, size_t size)
{
    snprintf(path, size, "%s/" PREFIX "%s", d->config->state, id);
}

void state_status_path(const struct daemon *d, const char *id, char *path, size_t size)
{
    snprintf(path, size, "%s/status-%s", d->config->state, id);
}

int state_status(const struct session *s)
{
    char path[4096];
    FILE *file;
    int status = -1;

    state_status_path(s->daemon, s->id, path, sizeof(path));
    file = fopen(path, "re");
    if (file && fscanf(file, "%d", &status) != 1)
        status = -1;
    if (file)
        fclose(file);
    return status;
}

/* Writes a file, whole or not at all. Returns 0 or a negative errno; state may be NULL. */
static int write_file(const json_t *state, const char *path)
{
    char fresh[4100];
    int error = 0;

    snprintf(fresh, sizeof(fresh), "%s.new", path);
    errno = 0;
    if (!state || json_dump_file(state, fresh, JSON_COMPACT) || rename(fresh, path)) {
        error = errno ? -errno : -EIO;
        unlink(fresh);
    }
    return error;
}

int state_write(const struct daemon *d, const char *name, const json_t *content)
{
    char path[4096];

    state_path(d, name, path, sizeof(path));
    return write_file(content, path);
}

/* Sets the node's trouble, which it announces: while there is any, it takes no sessions. */
static void set_trouble(struct daemon *d, int error)
{
    const bool before = *d->trouble;

    if (error)
        text_print(d->trouble, sizeof(d->trouble), "cannot record sessions: %s", strerror(-error));
    else
        *d->trouble = '\0';
    if (error)
        daemon_log("error", "%s: %s", d->config->state, d->trouble);
    else if (before)
        daemon_log("notice", "%s: sessions can be recorded again", d->config->state);
    if (before == (error != 0))
        return;
    event_note(d, error ? "node-failing" : "node-recovered", NULL, message_pack("{s:s}", "why", d->trouble));
    daemon_changed(d);
}

#define OWN(member) FIELD(struct session, member, #member)

static const struct field record[] = {OWN(id),        OWN(user),
                                      OWN(program),   OWN(from),
                                      OWN(uid),       OWN(gid),
                                      OWN(pid),       OWN(start_time),
                                      OWN(began),     OWN(devices),
                                      OWN(memory),    OWN(share),
                                      OWN(exclusive), OWN(started),
                                      OWN(why),       OWN(supervisor),
                                      OWN(home),      OWN(job),
                                      OWN(of),        OWN(replaces),
                                      OWN(within),    OWN(account),
                                      OWN(held),      OWN(keep_seconds),
                                      OWN(expires),   FIELD(struct session, usage.device_ns, "device_ns"),
                                      FIELD_END};

int state_save(const struct session *s)
{
    json_t *state = fields_print(record, NULL, s);
    char path[4096];
    int error;

    message_set(&state, "ending", json_boolean(s->state == SESSION_ENDING));
    if (!state) /* only this session cannot be recorded */
        return -EINVAL;
    session_path(s->daemon, s->id, path, sizeof(path));
    error = write_file(state, path);
    json_decref(state);
    set_trouble(s->daemon, error);
    return error;
}

/* A daemon that is killed loses this much of each session's time, and what came since its last look. */
static void save_used(struct daemon *d)
{
    for (struct session *s = d->sessions; s; s = s->next) {
        if (s->state == SESSION_RUNNING && s->usage.device_ns >= s->saved_ns + UNSAVED_NS && !state_save(s))
            s->saved_ns = s->usage.device_ns;
    }
}

/* Tries again to write if that failed before. */
void state_review(struct daemon *d)
{
    char path[4096];
    json_t *state;
    int error;

    if (!*d->trouble) {
        save_used(d);
        return;
    }
    state_path(d, "trial", path, sizeof(path));
    state = message_pack("{s:o}", "trial", json_sprintf("%0*d", 3000, 0)); /* as large as a session's record */
    error = write_file(state, path);
    unlink(path);
    json_decref(state);
    set_trouble(d, error);
}

void state_remove(const struct daemon *d, const char *id)
{
    char path[4096];

    session_path(d, id, path, sizeof(path));
    unlink(path);
    state_status_path(d, id, path, sizeof(path));
    unlink(path);
}

/* Whether the daemon before was killed when it had started the session's worker and not yet recorded it. The worker may
 * have ended meanwhile. */
static bool find_worker(struct session *s)
{
    unsigned long long start_time = 0;
    int worker = 0, supervisor = 0;
    char path[4096];
    FILE *file;
    bool found;

    state_status_path(s->daemon, s->id, path, sizeof(path));
    file = fopen(path, "re");
    found = file && (fscanf(file, SUPERVISOR_WORKER, &worker, &start_time, &supervisor) == 3 || state_status(s) >= 0);
    if (file)
        fclose(file);
    if (!found)
        return false;
    s->pid = worker;
    s->start_time = start_time;
    s->supervisor = supervisor;
    s->began = wall_seconds();
    s->started = true;
    return true;
}

static void adopt(struct daemon *d, const char *name)
{
    char path[4096];
    struct session *s;
    json_t *state;
    const char *id;
    bool ending;
    int status;

    state_path(d, name, path, sizeof(path));
    state = json_load_file(path, 0, NULL);
    id = message_text(state, "id", "");
    s = message_is_id(id) && !strcmp(name + strlen(PREFIX), id) ? session_new(d, id) : NULL;
    if (!s) {
        daemon_log("error", "%s is not a record of a session: ignored", path);
        json_decref(state);
        return;
    }
    s->uid = s->gid = UINT32_MAX; /* nobody, if the record has no user */
    fields_read(record, NULL, state, s);
    ending = json_is_true(json_object_get(state, "ending"));
    json_decref(state);
    s->supervisor = s->supervisor ? s->supervisor : s->pid; /* recorded by an older daemon */
    s->started = s->pid > 1;                                /* which did not record that */
    s->saved_ns = s->usage.device_ns;
    for (unsigned i = 0; i < s->device_count; i++) {
        if (s->devices[i] >= d->device_count) /* there were more devices then */
            s->devices[i--] = s->devices[--s->device_count];
    }
    if (account_has(d, s->id)) { /* the daemon before was killed just then */
        state_remove(d, s->id);
        session_free(s);
        return;
    }
    if (!s->started && !s->held && find_worker(s))
        state_save(s);
    if (!s->started) { /* its client may still come, for a few seconds */
        session_expect(s);
        state_save(s); /* until when, in case that daemons are restarted again and again */
        return;
    }
    if (s->pid > 1 && s->start_time && process_start_time(s->pid) == s->start_time) {
        daemon_log("notice", "session %s goes on: user=%s pid=%d", s->id, s->user, (int)s->pid);
        session_keep(s);
        session_watch(s);
        if (ending)
            session_end_worker(s);
        return;
    }
    status = state_status(s);
    if (status < 0 && !*s->why)
        text_print(s->why, sizeof(s->why), "lost while there was no daemon");
    s->pid = s->supervisor = 0; /* they may be another process' by now */
    session_gone(s, status);
}

void state_adopt(struct daemon *d)
{
    DIR *directory = opendir(d->config->state);
    char path[4096];

    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        const size_t length = strlen(entry->d_name);

        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
            continue;
        if (length > 4 && !strcmp(entry->d_name + length - 4, ".new")) { /* incomplete when its daemon was lost */
            state_path(d, entry->d_name, path, sizeof(path));
            unlink(path);
        } else {
            adopt(d, entry->d_name);
        }
    }
    closedir(directory);
}
