#include <fnmatch.h>
#include <grp.h>
#include <libconfig.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "base/socket.h"
#include "proxy/conf.h"

static const struct {
    const char *name;
    size_t offset;
    const char *fallback;
} texts[] = {
    {"name", offsetof(struct config, name), NULL},
    {"listen", offsetof(struct config, listen), "127.0.0.1:7801"},
    {"pool-file", offsetof(struct config, pool_file), SETTINGS_POOL_FILE},
    {"auth", offsetof(struct config, method), "munge"},
    {"key-file", offsetof(struct config, key_file), SYSCONFDIR "/vocl/keys"},
    {"munge-socket", offsetof(struct config, munge_socket), NULL},
    {"state-directory", offsetof(struct config, state), "/run/vocl"},
    {"http", offsetof(struct config, http), ""},
    {"accounting", offsetof(struct config, accounting), ""},
    {"cgroup", offsetof(struct config, cgroup), "auto"},
    {"scrub", offsetof(struct config, scrub), "own"},
};

static const struct {
    const char *name;
    size_t offset;
} lists[] = {
    {"allow", offsetof(struct config, allow)},
    {"deny", offsetof(struct config, deny)},
    {"admins", offsetof(struct config, admins)},
    {"environment", offsetof(struct config, environment)},
};

static const struct {
    const char *name;
    size_t offset;
    unsigned fallback, most;
} numbers[] = {
    {"queue-limit", offsetof(struct config, queue_limit), 100, 100000},
    {"connection-limit", offsetof(struct config, connection_limit), 512, 100000},
    {"sessions-per-user", offsetof(struct config, sessions_per_user), 0, 100000},
    {"session-seconds", offsetof(struct config, session_seconds), 0, 100000000},
    {"worker-cpu-percent", offsetof(struct config, worker_cpus), 0, 1000000},
    {"worker-processes", offsetof(struct config, worker_processes), 4096, 4000000},
};

static const char *const others[] = {"policy", "worker-memory", "devices"};

#define FIELD(config, type, offset) (*(type *)((char *)(config) + (offset)))

bool config_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;

    if (end == text || !(value >= 0) || value > 1e15 || (*end && (!unit || (end[1] && strcmp(end + 1, "iB")))))
        return false;
    *bytes = (uint64_t)(value * (double)(unit ? 1ull << 10 * (unit - units + 1) : 1));
    return true;
}

bool policy_read(const char *text, enum policy *policy)
{
    static const char *const names[] = {"pack", "spread", "least-loaded", "order"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (!strcmp(text, names[i])) {
            *policy = (enum policy)i;
            return true;
        }
    }
    return false;
}

static bool complain(char *why, size_t why_size, const struct config *config, const config_setting_t *setting,
                     const char *text)
{
    snprintf(why, why_size, "%s:%u: %s: %s", config->path, config_setting_source_line(setting),
             config_setting_name(setting) ? config_setting_name(setting) : "entry", text);
    return false;
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        if (!strcmp(name, texts[i].name))
            return true;
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        if (!strcmp(name, lists[i].name))
            return true;
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        if (!strcmp(name, numbers[i].name))
            return true;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        if (!strcmp(name, others[i]))
            return true;
    }
    return false;
}

static char **read_list(const config_setting_t *setting)
{
    const int count = config_setting_length(setting);
    char **list = calloc((size_t)count + 1, sizeof(*list));

    for (int i = 0; list && i < count; i++) {
        const char *text = config_setting_get_string_elem(setting, i);

        list[i] = strdup(text ? text : "");
    }
    return list;
}

static bool read_rule(const struct config *config, const config_setting_t *entry, struct device_rule *rule, char *why,
                      size_t why_size)
{
    const char *text;
    int number;

    *rule = (struct device_rule){.sessions = 16};
    if (!config_setting_is_group(entry) || !config_setting_lookup_string(entry, "match", &text))
        return complain(why, why_size, config, entry, "a device's rule needs a group with a match");
    rule->match = strdup(text);
    if (config_setting_lookup_string(entry, "mode", &text)) {
        if (strcmp(text, "shared") && strcmp(text, "exclusive") && strcmp(text, "hidden"))
            return complain(why, why_size, config, entry, "mode is shared, exclusive or hidden");
        rule->exclusive = !strcmp(text, "exclusive");
        rule->hidden = !strcmp(text, "hidden");
    }
    if (config_setting_lookup_int(entry, "sessions", &number)) {
        if (number < 1)
            return complain(why, why_size, config, entry, "sessions is at least 1");
        rule->sessions = (unsigned)number;
    }
    if (rule->exclusive)
        rule->sessions = 1;
    if (config_setting_lookup_string(entry, "memory", &text) && !config_bytes(text, &rule->memory))
        return complain(why, why_size, config, entry, "memory is a number of bytes, such as 512M");
    return true;
}

static bool read_rules(struct config *config, const config_setting_t *setting, char *why, size_t why_size)
{
    const int count = config_setting_length(setting);

    config->rules = calloc((size_t)count + 1, sizeof(*config->rules));
    for (int i = 0; config->rules && i < count; i++) {
        if (!read_rule(config, config_setting_get_elem(setting, (unsigned)i), &config->rules[i], why, why_size))
            return false;
        config->rule_count++;
    }
    return true;
}

static bool read_numbers(struct config *config, const config_setting_t *root, char *why, size_t why_size)
{
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        const config_setting_t *setting = config_setting_get_member(root, numbers[i].name);
        unsigned *field = &FIELD(config, unsigned, numbers[i].offset);

        *field = numbers[i].fallback;
        if (!setting)
            continue;
        if (config_setting_type(setting) != CONFIG_TYPE_INT || config_setting_get_int(setting) < 0 ||
            (unsigned)config_setting_get_int(setting) > numbers[i].most)
            return complain(why, why_size, config, setting, "a whole number, not negative, is needed");
        *field = (unsigned)config_setting_get_int(setting);
    }
    return true;
}

static bool read_texts(struct config *config, const config_setting_t *root, char *why, size_t why_size)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        const config_setting_t *setting = config_setting_get_member(root, texts[i].name);
        const char *text = texts[i].fallback;

        if (setting && config_setting_type(setting) != CONFIG_TYPE_STRING)
            return complain(why, why_size, config, setting, "a text in quotes is needed");
        if (setting)
            text = config_setting_get_string(setting);
        FIELD(config, char *, texts[i].offset) = text ? strdup(text) : NULL;
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        const config_setting_t *setting = config_setting_get_member(root, lists[i].name);

        if (setting && !config_setting_is_aggregate(setting))
            return complain(why, why_size, config, setting, "a list of texts is needed: [\"one\", \"two\"]");
        FIELD(config, char **, lists[i].offset) = setting ? read_list(setting) : calloc(1, sizeof(char *));
    }
    return true;
}

static bool check(const struct config *config, const config_setting_t *root, char *why, size_t why_size)
{
    const char *port = "";
    char host[128];

    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *setting = config_setting_get_elem(root, (unsigned)i);

        if (!is_known(config_setting_name(setting)))
            return complain(why, why_size, config, setting, "no such setting");
    }
    for (char **at = config->environment; *at; at++) {
        if (!strchr(*at, '=') || **at == '=') {
            snprintf(why, why_size, "%s: environment: \"%s\" is not NAME=VALUE", config->path, *at);
            return false;
        }
    }
    if (address_split(config->listen, host, sizeof(host), &port) || atoi(port) < 0 || atoi(port) > 65535) {
        snprintf(why, why_size, "%s: listen: \"%s\" is no address:port", config->path, config->listen);
        return false;
    }
    if (strcmp(config->scrub, "own") && strcmp(config->scrub, "all") && strcmp(config->scrub, "none")) {
        snprintf(why, why_size, "%s: scrub: own, all or none, not \"%s\"", config->path, config->scrub);
        return false;
    }
    if (strcmp(config->method, "munge") && strcmp(config->method, "key")) {
        snprintf(why, why_size, "%s: auth: munge or key, not \"%s\"", config->path, config->method);
        return false;
    }
    return true;
}

static bool read_all(struct config *config, const config_setting_t *root, char *why, size_t why_size)
{
    const config_setting_t *setting;
    const char *text;

    if (!read_texts(config, root, why, why_size) || !read_numbers(config, root, why, why_size) ||
        !check(config, root, why, why_size))
        return false;
    if (config_setting_lookup_string(root, "policy", &text) && !policy_read(text, &config->policy))
        return complain(why, why_size, config, config_setting_get_member(root, "policy"),
                        "pack, spread, least-loaded or order");
    if (config_setting_lookup_string(root, "worker-memory", &text) && !config_bytes(text, &config->worker_memory))
        return complain(why, why_size, config, config_setting_get_member(root, "worker-memory"),
                        "a number of bytes, such as 8G");
    setting = config_setting_get_member(root, "devices");
    return !setting || read_rules(config, setting, why, why_size);
}

struct config *config_load(const char *path, char *why, size_t why_size)
{
    struct config *config = calloc(1, sizeof(*config));
    char host[64] = "localhost";
    config_t file;
    bool good = true;

    if (!config)
        return NULL;
    config->path = strdup(path ? path : "defaults");
    config_init(&file);
    if (path && !config_read_file(&file, path)) {
        if (config_error_type(&file) == CONFIG_ERR_FILE_IO)
            snprintf(why, why_size, "%s: cannot be read", path);
        else
            snprintf(why, why_size, "%s:%d: %s", path, config_error_line(&file), config_error_text(&file));
        good = false;
    }
    good = good && read_all(config, config_root_setting(&file), why, why_size);
    config_destroy(&file);
    if (!good) {
        config_free(config);
        return NULL;
    }
    gethostname(host, sizeof(host) - 1);
    if (!config->name)
        config->name = strdup(host);
    return config;
}

static void free_list(char **list)
{
    for (char **at = list; at && *at; at++)
        free(*at);
    free(list);
}

void config_free(struct config *config)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        free(FIELD(config, char *, texts[i].offset));
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        free_list(FIELD(config, char **, lists[i].offset));
    for (unsigned i = 0; i < config->rule_count; i++)
        free(config->rules[i].match);
    free(config->rules);
    free(config->path);
    free(config);
}

const struct device_rule *config_rule(const struct config *config, const char *device)
{
    static const struct device_rule fallback = {.sessions = 16};

    for (unsigned i = 0; i < config->rule_count; i++) {
        if (!fnmatch(config->rules[i].match, device, 0))
            return &config->rules[i];
    }
    return &fallback;
}

/* ---- who may ---- */

static bool in_group(const char *user, gid_t own, const char *name)
{
    struct group *group = getgrnam(name);

    if (!group)
        return false;
    if (group->gr_gid == own)
        return true;
    for (char **member = group->gr_mem; *member; member++) {
        if (!strcmp(*member, user))
            return true;
    }
    return false;
}

bool config_lists(char *const *list, const char *user, gid_t group)
{
    for (; *list; list++) {
        if (!strcmp(*list, "*") || !strcmp(*list, user) || (**list == '@' && in_group(user, group, *list + 1)))
            return true;
    }
    return false;
}

bool config_allows(const struct config *config, const char *user, gid_t group)
{
    return !config_lists(config->deny, user, group) && (!*config->allow || config_lists(config->allow, user, group));
}

bool config_is_admin(const struct config *config, const char *user, uid_t uid, gid_t group)
{
    return uid == 0 || uid == geteuid() || config_lists(config->admins, user, group);
}
