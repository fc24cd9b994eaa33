/* Reads the files that programs left: chunks, of which the last may be half written, and which anybody could have
 * changed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "tools/tools.h"
#include "tools/trace.h"

void *trace_more(void *array, size_t *count, size_t size)
{
    if (!(*count & (*count - 1))) { /* 0, 1, 2, 4, ...: full */
        array = realloc(array, (*count ? 2 * *count : 1) * size);
        if (!array)
            fail(1, "out of memory");
    }
    memset((char *)array + *count * size, 0, size);
    ++*count;
    return array;
}

struct timeline_call trace_sent(const struct item *item)
{
    struct timeline_call sent = {0};

    if (item->length >= sizeof(sent))
        memcpy(&sent, item->more, sizeof(sent));
    return sent;
}

const char *trace_name(const struct member *member, uint32_t number, const char *fallback)
{
    const size_t place = trace_table_find(&member->name_places, number);

    return place == TRACE_NOWHERE ? fallback : member->names[place].text;
}

const char *trace_device_name(const struct member *member, uint32_t number)
{
    for (size_t i = 0; i < member->device_count; i++) {
        if (member->devices[i].number == number)
            return member->devices[i].text;
    }
    return "device";
}

size_t trace_thread(const struct process *process, uint32_t number)
{
    return trace_table_find(&process->thread_places, number);
}

struct member *trace_member(const struct process *process, uint32_t number, uint64_t time)
{
    struct member *found = NULL;

    for (size_t i = 0; i < process->member_count; i++) {
        struct member *member = &process->members[i];

        if (member->number == number && (!found || member->since <= time))
            found = member;
    }
    return found;
}

/* ---- records ---- */

static bool is_short(uint16_t kind)
{
    return kind == TIMELINE_QUICK || kind == TIMELINE_QUICK_NEXT;
}

/* Takes the next record. Returns NULL at their end, or if it is invalid. */
static const struct timeline_record *next(const uint8_t **at, const uint8_t *end, struct item *item)
{
    const struct timeline_record *head = (const void *)*at;
    size_t length;

    if ((size_t)(end - *at) < 8)
        return NULL;
    length = 8 * (size_t)head->length;
    if (length > (size_t)(end - *at) || (length < sizeof(*head) && !(length == 8 && is_short(head->kind))))
        return NULL;
    if (length == 8)
        *item = (struct item){.head = {head->kind, head->length, head->which, 0, 0}};
    else
        *item = (struct item){.head = *head, .more = head + 1, .length = length - sizeof(*head)};
    *at += length;
    return head;
}

static const char *text_of(const struct item *item)
{
    return item->length && memchr(item->more, '\0', item->length) ? item->more : "";
}

static bool is_whole(const struct item *item)
{
    static const size_t least[] = {[TIMELINE_CALL] = 0,
                                   [TIMELINE_SENT] = sizeof(struct timeline_call),
                                   [TIMELINE_TRIP] = 1,
                                   [TIMELINE_WAIT] = sizeof(struct timeline_wait),
                                   [TIMELINE_DATA] = sizeof(struct timeline_bytes),
                                   [TIMELINE_FRAME] = sizeof(struct timeline_bytes),
                                   [TIMELINE_BULK] = sizeof(struct timeline_bytes),
                                   [TIMELINE_CIPHER] = sizeof(struct timeline_bytes),
                                   [TIMELINE_PACK] = sizeof(struct timeline_bytes),
                                   [TIMELINE_CLOCK] = 8,
                                   [TIMELINE_MEMBER] = 1,
                                   [TIMELINE_SPAN] = 1,
                                   [TIMELINE_WORKER] = 0,
                                   [TIMELINE_QUICK] = 0,
                                   [TIMELINE_QUICK_NEXT] = 0,
                                   [TIMELINE_PUT] = sizeof(struct timeline_message),
                                   [TIMELINE_TASK] = sizeof(struct timeline_message),
                                   [TIMELINE_SIGNAL] = sizeof(struct timeline_message),
                                   [TIMELINE_FENCE] = sizeof(struct timeline_message),
                                   [TIMELINE_SITE] = sizeof(uint64_t) + 1};

    return item->head.kind && item->head.kind < TIMELINE_KINDS && item->length >= least[item->head.kind] &&
           item->head.from <= item->head.to;
}

static struct thread *find_thread(struct process *process, const struct timeline_chunk *chunk)
{
    const size_t place = trace_table_add(&process->thread_places, chunk->thread, process->thread_count);
    struct thread *thread;

    if (place == process->thread_count)
        process->threads = trace_more(process->threads, &process->thread_count, sizeof(*process->threads));
    thread = &process->threads[place];
    thread->number = chunk->thread;
    snprintf(thread->name, sizeof(thread->name), "%.15s", chunk->name); /* the thread may have got a name since */
    return thread;
}

static void take_chunk(struct process *process, const struct timeline_chunk *chunk)
{
    const uint8_t *at = (const uint8_t *)(chunk + 1), *end;
    struct thread *thread;
    struct item item;
    uint64_t used = atomic_load(&chunk->used);

    if (used > TIMELINE_CHUNK - sizeof(*chunk))
        return;
    end = at + used;
    process->number = chunk->process;
    process->clock = chunk->clock;
    snprintf(process->host, sizeof(process->host), "%.63s", chunk->host);
    snprintf(process->program, sizeof(process->program), "%.63s", chunk->program);
    if (chunk->dropped > process->dropped)
        process->dropped = chunk->dropped;
    thread = find_thread(process, chunk);
    if (chunk->dropped)
        thread->sent.count = 0; /* unknown after lost records */
    while (next(&at, end, &item)) {
        if (!is_whole(&item))
            continue;
        item.thread = chunk->thread;
        trace_quick(process, thread, &item);
        if (is_short(item.head.kind))
            continue;
        if (item.head.kind == TIMELINE_SITE) {
            trace_take_site(process, &item);
            continue;
        }
        process->items = trace_more(process->items, &process->item_count, sizeof(item));
        process->items[process->item_count - 1] = item;
    }
}

/* ---- members ---- */

static void take_like(struct member *member, const struct item *item)
{
    struct timeline_like like;
    struct command command;
    uint64_t *times = command.what.times;

    if (!member->command_count || item->length < sizeof(like))
        return;
    memcpy(&like, item->more, sizeof(like));
    command = member->commands[member->command_count - 1];
    command.what.number++;
    command.what.before = command.what.after = 0;
    command.what.event = like.event;
    times[0] = item->head.from;
    times[1] = times[0] + like.submitted;
    times[2] = times[1] + like.started;
    times[3] = times[2] + like.ended;
    command.over = item->head.to;
    member->commands = trace_more(member->commands, &member->command_count, sizeof(command));
    member->commands[member->command_count - 1] = command;
}

static void take_staged(struct member *member, const struct item *item)
{
    struct staged *staged;

    if (item->length < sizeof(staged->what))
        return;
    member->staged = trace_more(member->staged, &member->staged_count, sizeof(*staged));
    staged = &member->staged[member->staged_count - 1];
    *staged = (struct staged){.device = item->head.which, .from = item->head.from, .to = item->head.to};
    memcpy(&staged->what, item->more, sizeof(staged->what));
}

static void take_worker_record(struct member *member, const struct item *item)
{
    struct command *command;

    switch (item->head.kind) {
    case TIMELINE_NAME:
        member->names = trace_more(member->names, &member->name_count, sizeof(*member->names));
        member->names[member->name_count - 1] = (struct name){item->head.which, text_of(item)};
        trace_table_add(&member->name_places, item->head.which, member->name_count - 1);
        break;
    case TIMELINE_DEVICE:
        member->devices = trace_more(member->devices, &member->device_count, sizeof(*member->devices));
        member->devices[member->device_count - 1] = (struct name){item->head.which, text_of(item)};
        break;
    case TIMELINE_COMMAND:
        if (item->length < sizeof(command->what))
            break;
        member->commands = trace_more(member->commands, &member->command_count, sizeof(*command));
        command = &member->commands[member->command_count - 1];
        memcpy(&command->what, item->more, sizeof(command->what));
        command->over = item->head.to;
        break;
    case TIMELINE_LIKE:
        take_like(member, item);
        break;
    case TIMELINE_STAGED:
        take_staged(member, item);
        break;
    case TIMELINE_TURN:
        member->turns = trace_more(member->turns, &member->turn_count, sizeof(*member->turns));
        member->turns[member->turn_count - 1] = (struct turn){item->head.which, item->head.from, item->head.to};
        break;
    }
}

static void take_worker(struct member *member, const struct item *item)
{
    const uint8_t *at = item->more, *end = at + item->length;
    struct item one;

    while (next(&at, end, &one))
        take_worker_record(member, &one);
}

static int by_end(const void *one, const void *other)
{
    const uint64_t a = ((const struct item *)one)->head.to, b = ((const struct item *)other)->head.to;

    return a < b ? -1 : a > b;
}

static int by_number(const void *one, const void *other)
{
    const uint64_t a = ((const struct command *)one)->what.number, b = ((const struct command *)other)->what.number;

    return a < b ? -1 : a > b;
}

static void find_members(struct process *process)
{
    for (size_t i = 0; i < process->item_count; i++) {
        const struct item *item = &process->items[i];
        struct member *member;

        if (item->head.kind == TIMELINE_MEMBER) {
            process->members = trace_more(process->members, &process->member_count, sizeof(*member));
            process->members[process->member_count - 1] =
                (struct member){.number = item->head.which, .host = text_of(item), .since = item->head.to};
        }
        member = item->head.kind == TIMELINE_CLOCK || item->head.kind == TIMELINE_WORKER
                     ? trace_member(process, item->head.which, item->head.to)
                     : NULL;
        if (!member)
            continue;
        if (item->head.kind == TIMELINE_WORKER) {
            take_worker(member, item);
            continue;
        }
        member->asked = trace_more(member->asked, &member->asked_count, sizeof(*member->asked));
        member->asked[member->asked_count - 1] = item;
    }
    for (size_t i = 0; i < process->member_count; i++)
        if (process->members[i].command_count)
            qsort(process->members[i].commands, process->members[i].command_count, sizeof(struct command), by_number);
}

/* ---- files ---- */

static void take_file(struct trace *trace, int folder, const char *name)
{
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct process *process;
    struct stat file;
    const uint8_t *bytes;

    if (fd < 0 || fstat(fd, &file) || !S_ISREG(file.st_mode) || file.st_size < TIMELINE_CHUNK) {
        if (fd >= 0)
            close(fd);
        return;
    }
    /* a private copy, as the program may still write */
    bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        fail(1, "%s: %m", name);
    trace->processes = trace_more(trace->processes, &trace->process_count, sizeof(*process));
    process = &trace->processes[trace->process_count - 1];
    for (off_t at = 0; at + TIMELINE_CHUNK <= file.st_size; at += TIMELINE_CHUNK) {
        const struct timeline_chunk *chunk = (const void *)(bytes + at);

        if (chunk->magic == TIMELINE_MAGIC)
            take_chunk(process, chunk);
    }
    trace_quick_end(process);
    trace_sort_sites(process);
    if (process->item_count)
        qsort(process->items, process->item_count, sizeof(*process->items), by_end);
    find_members(process);
}

void trace_read(const char *path, struct trace *trace)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    *trace = (struct trace){.start = UINT64_MAX};
    if (!folder)
        fail(1, "%s: %m", path);
    while ((entry = readdir(folder))) {
        const size_t length = strlen(entry->d_name), suffix = strlen(TIMELINE_SUFFIX);

        if (length > suffix && !strcmp(entry->d_name + length - suffix, TIMELINE_SUFFIX))
            take_file(trace, dirfd(folder), entry->d_name);
    }
    closedir(folder);
    trace_align(trace);
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct process *process = &trace->processes[i];

        for (size_t k = 0; k < process->item_count; k++) {
            if (process->items[k].head.from < trace->start)
                trace->start = process->items[k].head.from;
        }
    }
    if (trace->start == UINT64_MAX)
        trace->start = 0;
}
