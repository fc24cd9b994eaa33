#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rsh.h"
#include "base/settings.h"
#include "base/text.h"
#include "base/variable.h"

#define HOST_MARK "{host}"

static const char *remote_shell(void)
{
    const char *shell = settings_string(SETTING_RSH);

    if (!*shell)
        shell = getenv("HYDRA_LAUNCHER_EXEC");
    return shell && *shell ? shell : "ssh -x -T -o BatchMode=yes";
}

bool rsh_is_here(const char *host)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    bool here = false;

    if (strstr(remote_shell(), HOST_MARK))
        return false;
    if (!strcmp(host, "localhost") || getaddrinfo(host, NULL, &hints, &found))
        return !strcmp(host, "localhost");
    for (const struct addrinfo *at = found; at && !here; at = at->ai_next) {
        int fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        here = fd >= 0 && !bind(fd, at->ai_addr, at->ai_addrlen);
        if (fd >= 0)
            close(fd);
    }
    freeaddrinfo(found);
    return here;
}

bool rsh_is_host(const char *host)
{
    return *host && *host != '-';
}

/* Returns a copy of the word with the host in the place of HOST_MARK, or NULL if memory is exhausted. */
static char *fill_in(const char *word, const char *host)
{
    const char *mark = strstr(word, HOST_MARK);
    char *filled;

    if (!mark)
        return strdup(word);
    return asprintf(&filled, "%.*s%s%s", (int)(mark - word), word, host, mark + strlen(HOST_MARK)) < 0 ? NULL : filled;
}

bool rsh_words(const char *host, const char *command, char *words[RSH_WORDS])
{
    const bool is_marked = strstr(remote_shell(), HOST_MARK) != NULL;
    char *shell = strdup(remote_shell()), *save = NULL;
    unsigned count = 0;

    errno = EINVAL;
    if (!rsh_is_host(host) || !shell)
        return false;
    for (char *word = strtok_r(shell, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        if (count == RSH_WORDS - 3 || !(words[count++] = fill_in(word, host)))
            return false;
    }
    if (!is_marked && !(words[count++] = strdup(host)))
        return false;
    words[count] = strdup(command);
    words[count + 1] = NULL;
    return words[count] != NULL;
}

static const char *const rsh_own[] = {"HOME",
                                      "PATH",
                                      "USER",
                                      "LOGNAME",
                                      "SHELL",
                                      "TMPDIR",
                                      "LD_LIBRARY_PATH",
                                      "XDG_CACHE_HOME",
                                      "XDG_RUNTIME_DIR",
                                      "OCL_ICD_VENDORS",
                                      "VOCL_LIBEXECDIR",
                                      NULL};

/* Which devices the drivers of a host offer is that host's matter. */
static const char *const rsh_devices[] = {"RUSTICL_ENABLE",     "RUSTICL_DEVICE_TYPE",    "RUSTICL_FEATURES",
                                          "POCL_DEVICES",       "CUDA_VISIBLE_DEVICES",   "NVIDIA_VISIBLE_DEVICES",
                                          "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES",   "HIP_VISIBLE_DEVICES",
                                          "ZE_AFFINITY_MASK",   "ONEAPI_DEVICE_SELECTOR", NULL};

static bool is_own(const char *variable)
{
    for (const char *const *name = rsh_own; *name; name++) {
        if (!strncmp(variable, *name, strlen(*name)) && variable[strlen(*name)] == '=')
            return true;
    }
    return !strncmp(variable, "LD_PRELOAD=", 11);
}

char *rsh_proxy(const char *path, const char *arguments)
{
    const char *there = settings_string(SETTING_PROXY);
    const char *home = strncmp(there, "~/", 2) ? "" : "\"$HOME\""; /* read in the same way by all kinds of shells */
    char *quoted = text_quote(*home ? there + 1 : *there ? there : path), *command = NULL;

    if (!quoted || asprintf(&command, "%s%s %s", home, quoted, arguments) < 0)
        command = NULL;
    free(quoted);
    return command;
}

/* Stores this host's variables of these names. Returns how many there are, or -ENOMEM. */
static int keep(const char *const *names, char *kept[])
{
    int count = 0;

    for (; *names; names++) {
        const char *value = getenv(*names);

        if (value && *value && asprintf(&kept[count++], "%s=%s", *names, value) < 0)
            return -ENOMEM;
    }
    return count;
}

static bool put_all(char *kept[], int count)
{
    while (count && !putenv(kept[count - 1]))
        count--;
    return !count;
}

int rsh_take_environment(char *variables, size_t length)
{
    char *own[sizeof(rsh_own) / sizeof(*rsh_own)], *devices[sizeof(rsh_devices) / sizeof(*rsh_devices)];
    const int own_count = keep(rsh_own, own), device_count = keep(rsh_devices, devices);

    if (own_count < 0 || device_count < 0)
        return -ENOMEM;
    clearenv();
    for (char *at = variables; at < variables + length; at += strlen(at) + 1) {
        if (strchr(at, '=') > at && putenv(at))
            return -ENOMEM;
    }
    if (!put_all(devices, device_count) || (getenv("VOCL_PROXY") && !put_all(own, own_count)))
        return -ENOMEM;
    return 0; /* the environment refers to variables and to what was kept, which stay allocated */
}

bool rsh_takes(const char *variable)
{
    if (*settings_string(SETTING_PROXY) && is_own(variable))
        return false;
    return variable_has_value(variable) && strncmp(variable, "SSH_", 4) && strncmp(variable, "_=", 2) &&
           strncmp(variable, "PWD=", 4);
}
