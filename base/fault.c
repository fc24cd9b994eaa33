/* See fault.h. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/process.h"
#include "base/settings.h"

bool fault_wanted;

static const char *const names[] = {
    [FAULT_FRAME_SENT] = "frame-sent", [FAULT_FRAME_TAKEN] = "frame-taken", [FAULT_PHASE] = "phase"};

static struct {
    unsigned member; /* of this process */
    bool counts;
    enum fault_point point;
    unsigned long at;
    unsigned who;
    const char *file;
    atomic_ulong steps;
} fault;

static bool read_point(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strlen(names[i]) == length && !memcmp(names[i], text, length)) {
            fault.point = i;
            return true;
        }
    }
    return false;
}

/* Reads POINT:K:WHO:FILE, or count:FILE. Points that are not in names[] are those of tests/session/faults.c. */
static bool read_setting(const char *text)
{
    const size_t length = strcspn(text, ":");
    int read = 0;

    fault.counts = length == 5 && !memcmp(text, "count", length);
    if (fault.counts && text[length]) {
        fault.file = text + length + 1;
        return true;
    }
    if (!read_point(text, length) || sscanf(text + length, ":%lu:%u:%n", &fault.at, &fault.who, &read) != 2 || !read)
        return false;
    fault.file = text + length + read;
    return true;
}

void fault_begin(unsigned member)
{
    fault.member = member;
    fault_wanted = read_setting(settings_string(SETTING_FAULT));
}

static void count(enum fault_point point)
{
    const int fd = open(fault.file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return;
    dprintf(fd, "%u %s %d\n", fault.member, names[point], (int)getpid());
    close(fd);
}

/* Whether this is the K-th step, and this process is the first of the session's to reach it. */
static bool strikes(void)
{
    int fd;

    if (atomic_fetch_add(&fault.steps, 1) + 1 != fault.at)
        return false;
    fd = open(fault.file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

void fault_reach(enum fault_point point)
{
    if (fault.counts)
        count(point);
    else if (point == fault.point && fault.member == fault.who && strikes())
        kill(getpid(), SIGKILL);
}

/* Kills a process that is not a child, and waits for its end, so that it does nothing later. */
static void end_process(pid_t process)
{
    const int fd = process_open(process);

    kill(process, SIGKILL);
    if (fd < 0)
        return;
    poll(&(struct pollfd){fd, POLLIN, 0}, 1, -1);
    close(fd);
}

void fault_reach_phase(pid_t worker, pid_t target)
{
    const pid_t victims[] = {getpid(), worker, target};

    if (fault.counts)
        count(FAULT_PHASE);
    else if (fault.point == FAULT_PHASE && fault.who < 3 && strikes() && victims[fault.who] > 0)
        end_process(victims[fault.who]);
}
