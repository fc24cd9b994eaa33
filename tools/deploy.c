/*
 * `vocl run --deploy`: copies the program's VOCL to hosts, as the bundle (packaging/bundle), by ssh or its replacement.
 * Each host has a process of its own here, which talks to the script that the host's /bin/sh runs (deploy.sh); their
 * progress is in shared memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config.h"

#include "base/log.h"
#include "base/place.h"
#include "base/process.h"
#include "base/rsh.h"
#include "base/settings.h"
#include "base/socket.h"
#include "base/spawn.h"
#include "tools/progress.h"
#include "tools/tools.h"
#include "wire/frame.h"

#define SAYS "vocl-deploy "
#define LOOK_NS 100000000

/* Any login shell understands this; from then on /bin/sh reads: the script's length, and the script. Reading byte by
 * byte takes nothing of what follows. */
#define COMMAND "exec /bin/sh -c 'read -r n && s=$(dd bs=1 count=$n 2> /dev/null) && eval \"$s\"'"

__asm__(".section .rodata\n"
        "deploy_script:\n"
        ".incbin \"" DEPLOY_SCRIPT "\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char deploy_script[];

struct bundle {
    char path[PATH_MAX]; /* a folder, or a file that was packed by tar and xz */
    bool folder;
    uint64_t bytes; /* of the file, or of the folder as tar packs it */
    char id[128];   /* VERSION-HASH */
};

/* Progress that the process of a host reports. */
struct told {
    const char *host;
    pid_t process;
    enum { ASKS, SENDS, CHECKS, THERE, FAILED } how;
    uint64_t sent, total; /* before they are compressed for this host; total 0: unknown */
    char why[1024];
};

/* ---- the bundle ---- */

static bool read_line(FILE *file, char *line, int size)
{
    bool got = file && fgets(line, size, file);

    if (got)
        line[strcspn(line, "\r\n")] = '\0';
    return got;
}

/* Whether a shell reads the path in single quotes as one word. */
static bool is_quotable(const char *path)
{
    return !strchr(path, '\'');
}

static bool read_id(struct bundle *bundle)
{
    char command[PATH_MAX + 128];
    bool got;
    FILE *file;

    if (bundle->folder)
        snprintf(command, sizeof(command), "cat '%s/" PLACE_MARK "' 2> /dev/null", bundle->path);
    else
        snprintf(command, sizeof(command),
                 "xz -dc '%s' 2> /dev/null | tar -xOf - --wildcards --occurrence=1 '*/" PLACE_MARK "' 2> /dev/null",
                 bundle->path);
    file = popen(command, "re");
    got = read_line(file, bundle->id, sizeof(bundle->id));
    if (file)
        pclose(file);
    return got && !strchr(bundle->id, '/') && !strchr(bundle->id, '\'');
}

static bool is_bundle(struct bundle *bundle, const char *path)
{
    struct stat found;

    if (snprintf(bundle->path, sizeof(bundle->path), "%s", path) >= (int)sizeof(bundle->path) || !is_quotable(path) ||
        stat(path, &found))
        return false;
    bundle->folder = S_ISDIR(found.st_mode);
    bundle->bytes = (uint64_t)found.st_size; /* of a folder: see find_size() */
    return read_id(bundle);
}

#define TAR_BLOCK 512
#define TAR_RECORD 10240

static uint64_t packed_bytes;

static uint64_t rounded(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static int add_file(const char *path, const struct stat *file, int kind, struct FTW *at)
{
    (void)path, (void)at;
    packed_bytes += TAR_BLOCK + (kind == FTW_F ? rounded((uint64_t)file->st_size, TAR_BLOCK) : 0);
    return 0;
}

static void find_size(struct bundle *bundle)
{
    if (!bundle->folder)
        return;
    packed_bytes = 0;
    nftw(bundle->path, add_file, 16, FTW_PHYS);
    bundle->bytes = rounded(packed_bytes + 2 * TAR_BLOCK, TAR_RECORD);
}

/* Finds the bundle: the folder that this tool is in, or a file beside it or one folder up: an installation's, or a
 * build's. */
static void find_bundle(struct bundle *bundle)
{
    const char *given = getenv("VOCL_BUNDLE");
    char folder[PATH_MAX], path[PATH_MAX + 128], *end;
    struct utsname machine;

    if (given && *given && !is_bundle(bundle, given))
        fail(EXIT_BROKEN, "VOCL_BUNDLE: %s is not a bundle of VOCL", given);
    if (given && *given)
        return;
    if (place_bundle() && is_bundle(bundle, place_bundle()))
        return;
    if (uname(&machine) || !realpath("/proc/self/exe", folder))
        fail(EXIT_BROKEN, "/proc/self/exe: %m");
    for (int level = 0; level < 2 && (end = strrchr(folder, '/')); level++) {
        *end = '\0';
        snprintf(path, sizeof(path), "%s/vocl-" PACKAGE_VERSION "-%s.tar.xz", folder, machine.machine);
        if (is_bundle(bundle, path))
            return;
    }
    fail(EXIT_BROKEN,
         "--deploy: no vocl-" PACKAGE_VERSION
         "-%s.tar.xz is in the folder of this tool or above; make one by `make bundle` in the build folder, "
         "or set VOCL_BUNDLE to its path",
         machine.machine);
}

/* ---- one host ---- */

struct host {
    const struct bundle *bundle;
    struct told *told;
    int to;     /* the script's standard input */
    FILE *from; /* its output, after the login shell's */
};

__attribute__((noreturn, format(printf, 2, 3))) static void give_up(struct told *told, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(told->why, sizeof(told->why), format, arguments);
    va_end(arguments);
    told->how = FAILED;
    _exit(1);
}

static pid_t start(char **words, int input, int output)
{
    return spawn(
        &(struct spawn){.arguments = words, .descriptors = (int[]){input, output, 2}, .count = 3, .signal = SIGTERM});
}

static void open_host(struct host *host)
{
    char *words[RSH_WORDS];
    int to[2], from[2];

    if (!rsh_words(host->told->host, COMMAND, words) || pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC) ||
        start(words, to[0], from[1]) < 0 || !(host->from = fdopen(from[0], "r")))
        give_up(host->told, "%s", strerror(errno));
    close(to[0]);
    close(from[1]);
    host->to = to[1];
}

static void send_script(struct host *host)
{
    char *text = NULL;
    int length = asprintf(&text, "id='%s' about='vocl-proxy " PACKAGE_VERSION ", protocol %d'\n%s", host->bundle->id,
                          WIRE_VERSION, deploy_script);
    char line[32];

    if (length < 0)
        give_up(host->told, "out of memory");
    snprintf(line, sizeof(line), "%d\n", length);
    if (!write_all(host->to, line, strlen(line))) /* if not, hear() will meet the end of the connection */
        write_all(host->to, text, (size_t)length);
    free(text);
}

/* Returns the next message of the script. */
static const char *hear(struct host *host)
{
    static char line[2048];

    while (read_line(host->from, line, sizeof(line))) {
        const char *at = strstr(line, SAYS); /* a greeting need not have ended with a newline */

        if (!at)
            continue;
        at += strlen(SAYS);
        if (!strncmp(at, "failed ", 7))
            give_up(host->told, "%s", at + 7);
        return at;
    }
    give_up(host->told,
            host->told->how == ASKS ? "it cannot be asked: `ssh %s true` has to work without questions"
                                    : "the connection broke (%s)",
            host->told->host);
}

/* Makes the command that packs the bundle, and returns how the host unpacks it; for gzip it is yet to be compressed. */
static const char *pack(const struct bundle *bundle, const char *unpackers, char command[2 * PATH_MAX + 128])
{
    const char *path = bundle->path;

    if (!bundle->folder && strstr(unpackers, "xz")) {
        sprintf(command, "exec cat '%s'", path);
        return "xz\n";
    }
    if (bundle->folder)
        sprintf(command, "exec tar -C '%s/..' -cf - '%s'", path, strrchr(path, '/') + 1);
    else
        sprintf(command, "exec xz -dc '%s'", path);
    return strstr(unpackers, "gzip") ? "gzip\n" : "tar\n";
}

/* Starts gzip between this process and the host: *to, which led to the host, leads to gzip. */
static pid_t compress(int *to)
{
    char *words[] = {(char *)(uintptr_t) "gzip", (char *)(uintptr_t) "-1", NULL};
    int ends[2];
    pid_t gzip;

    if (pipe2(ends, O_CLOEXEC))
        return -1;
    gzip = start(words, ends[0], *to);
    close(ends[0]);
    close(*to);
    *to = ends[1];
    return gzip;
}

static bool has_failed(int status)
{
    return status && status < 128;
}

static void send_bundle(struct host *host, const char *unpackers)
{
    static char bytes[1 << 16];
    char command[2 * PATH_MAX + 128];
    char *words[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", command, NULL};
    const char *kind = pack(host->bundle, unpackers, command);
    const bool gzips = !strcmp(kind, "gzip\n");
    ssize_t got = 1;
    int ends[2], status = 0, compressed = 0;
    pid_t packer, gzip = 0;

    host->told->total = host->bundle->folder || !strcmp(kind, "xz\n") ? host->bundle->bytes : 0;
    host->told->how = SENDS;
    if (pipe2(ends, O_CLOEXEC) || (packer = start(words, 0, ends[1])) < 0)
        give_up(host->told, "%s", strerror(errno));
    close(ends[1]);
    if (write_all(host->to, kind, strlen(kind)))
        got = 0; /* the host will have reported the reason */
    if (gzips && (gzip = compress(&host->to)) < 0)
        give_up(host->told, "%s", strerror(errno));
    while (got > 0 && (got = read(ends[0], bytes, sizeof(bytes))) > 0 && !write_all(host->to, bytes, (size_t)got))
        host->told->sent += (uint64_t)got;
    close(ends[0]);
    close(host->to);
    status = spawn_wait(packer);
    if (gzips)
        compressed = spawn_wait(gzip);
    if (got == 0 && (has_failed(status) || has_failed(compressed)))
        give_up(host->told, "%s cannot be packed", host->bundle->path);
    host->told->how = CHECKS;
}

__attribute__((noreturn)) static void deploy_to(const struct bundle *bundle, struct told *told)
{
    struct host host = {bundle, told, -1, NULL};
    const char *says;

    signal(SIGPIPE, SIG_IGN);
    open_host(&host);
    send_script(&host);
    says = hear(&host);
    if (!strncmp(says, "send ", 5)) {
        send_bundle(&host, says + 5);
        says = hear(&host);
    }
    if (strncmp(says, "there", 5))
        give_up(told, "it says \"%s\"", says);
    told->how = THERE;
    _exit(0);
}

/* ---- all hosts ---- */

/* Shows the step of the slowest host, and the bytes that all hosts have got. */
static void show(struct progress *progress, const struct told *told, unsigned count)
{
    static const char *const words[] = {"ask", "send VOCL to", "check"};
    unsigned number[FAILED + 1] = {0};
    uint64_t bytes = 0, total = 0;
    bool known = true;
    char phase[PROGRESS_PHASE];
    int how;

    for (unsigned i = 0; i < count; i++) {
        number[told[i].how]++;
        bytes += told[i].how == FAILED ? 0 : told[i].sent;
        total += told[i].how == FAILED ? 0 : told[i].total;
        known &= !told[i].sent || told[i].total;
    }
    how = number[SENDS] ? SENDS : number[ASKS] ? ASKS : CHECKS;
    if (count == 1)
        snprintf(phase, sizeof(phase), "%s %s", words[how], told->host);
    else
        snprintf(phase, sizeof(phase), "%s %u hosts", words[how], count);
    if (how != SENDS || !known)
        total = 0;
    if (strcmp(progress->phase, phase))
        progress_take(progress, phase, 0, total); /* some bytes went before the first look */
    progress_take(progress, phase, bytes, total);
}

/* Waits until all have ended, and shows their progress. */
static void attend(struct told *told, unsigned count)
{
    struct progress progress = progress_new(false, false); /* in a file, standard error is the program's */
    unsigned running = count;

    while (running) {
        for (unsigned i = 0; i < count; i++) {
            if (told[i].process <= 0 || waitpid(told[i].process, NULL, WNOHANG) != told[i].process)
                continue;
            if (told[i].how != THERE && told[i].how != FAILED) {
                strcpy(told[i].why, "ended early");
                told[i].how = FAILED;
            }
            told[i].process = 0;
            running--;
        }
        show(&progress, told, count);
        if (running)
            nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
    }
    progress_end(&progress);
}

/* Lists each host once, without this one. */
static unsigned list_hosts(char *list, struct told *told)
{
    unsigned count = 0;
    char *save = NULL;

    for (char *host = strtok_r(list, ",", &save); host; host = strtok_r(NULL, ",", &save)) {
        bool known = rsh_is_here(host);

        for (unsigned i = 0; i < count && !known; i++)
            known = !strcmp(told[i].host, host);
        if (!known)
            told[count++].host = host;
    }
    return count;
}

void deploy(const char *hosts)
{
    const size_t size = (strlen(hosts) / 2 + 1) * sizeof(struct told);
    struct told *told = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *list = strdup(hosts), place[256];
    struct bundle bundle;
    bool failed = false;
    unsigned count;

    if (told == MAP_FAILED || !list)
        fail(EXIT_BROKEN, "out of memory");
    find_bundle(&bundle);
    if (strncmp(bundle.id, PACKAGE_VERSION "-", strlen(PACKAGE_VERSION) + 1))
        fail(EXIT_BROKEN, "%s is VOCL %s, and this is " PACKAGE_VERSION, bundle.path, bundle.id);
    find_size(&bundle);
    count = list_hosts(list, told);
    for (unsigned i = 0; i < count; i++) {
        pid_t process = process_fork(SIGTERM); /* shares the memory of told */

        if (process == 0)
            deploy_to(&bundle, &told[i]);
        if (process < 0)
            fail(EXIT_BROKEN, "no process for %s: %m", told[i].host);
        told[i].process = process;
    }
    attend(told, count);
    for (unsigned i = 0; i < count; i++) {
        failed = failed || told[i].how == FAILED;
        if (told[i].how == FAILED)
            fprintf(stderr, "vocl: %s: %s\n", told[i].host, told[i].why);
        else if (told[i].sent)
            vocl_log(LOG_INFO, "%s has got VOCL %s, %.1f MiB", told[i].host, bundle.id,
                     (double)told[i].sent / (1 << 20));
    }
    if (failed)
        exit(EXIT_BROKEN);
    snprintf(place, sizeof(place), "~/.cache/vocl/%s/bin/vocl-proxy", bundle.id);
    if (setenv("VOCL_PROXY", place, 1))
        fail(EXIT_BROKEN, "cannot set VOCL_PROXY: %m");
    munmap(told, size);
    free(list);
}
