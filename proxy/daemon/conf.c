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
#include "base/text.h"
#include "proxy/daemon/conf.h"

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
    {"powercap", offsetof(struct config, powercap), "/sys/class/powercap"},
    {"cgroup", offsetof(struct config, cgroup), "auto"},
    {"network", offsetof(struct config, network), "tls"},
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
    {"prefork", offsetof(struct config, prefork), 1, 1},
    {"mesh", offsetof(struct config, mesh), 64, 100000},
    {"queue-limit", offsetof(struct config, queue_limit), 100, 100000},
    {"connection-limit", offsetof(struct config, connection_limit), 512, 100000},
    {"connections-per-user", offsetof(struct config, connections_per_user), 128, 100000},
    {"sessions-per-user", offsetof(struct config, sessions_per_user), 8, 100000},
    {"devices-per-user", offsetof(struct config, devices_per_user), 64, 100000},
    {"fair-share", offsetof(struct config, fair_share), 0, 1000000},
    {"least-uid", offsetof(struct config, least_uid), 1000, 2000000000},
    {"session-seconds", offsetof(struct config, session_seconds), 0, 100000000},
    {"idle-limit", offsetof(struct config, idle_seconds), 0, 100000000},
    {"worker-cpu-percent", offsetof(struct config, worker_cpus), 0, 1000000},
    {"worker-processes", offsetof(struct config, worker_processes), 4096, 4000000},
};

static const char *const others[] = {"policy", "worker-memory", "devices", "limits", "oversubscribe", "announce"};

#define DEVICE_SESSIONS 16
#define OVERSUBSCRIBE_SECONDS 1 /* for `true` */
#define MOST_PRIORITY 10000000
#define FIELD(config, type, offset) (*(type *)((char *)(config) + (offset)))

static const char *const policies[] = {"pack", "spread", "least-loaded", "order"};

const char *policy_name(enum policy policy)
{
    return policies[policy];
}

bool policy_read(const char *text, enum policy *policy)
{
    for (unsigned i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
        if (!strcmp(text, policies[i])) {
            *policy = (enum policy)i;
            return true;
        }
    }
    return false;
}

/* What is read, and where the reason of a failure is stored. */
struct reader {
    struct config *config;
    const config_setting_t *root;
    char *why;
    size_t why_size;
};

static bool complain(const struct reader *r, const config_setting_t *setting, const char *text)
{
    snprintf(r->why, r->why_size, "%s:%u: %s: %s", r->config->path, config_setting_source_line(setting),
             config_setting_name(setting) ? config_setting_name(setting) : "entry", text);
    return false;
}

static bool complain_of(const struct reader *r, const char *name, const char *text)
{
    return complain(r, config_setting_get_member(r->root, name), text);
}

/* Returns false if memory is exhausted. */
static bool copy(const struct reader *r, const char *text, char **copied)
{
    *copied = strdup(text);
    if (!*copied)
        snprintf(r->why, r->why_size, "no memory");
    return *copied != NULL;
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

/* ---- values; if a member is missing, these leave the value unchanged and return true ---- */

#define NEEDS_TEXT "a text in quotes is needed"

static bool read_text(const struct reader *r, const config_setting_t *group, const char *name, const char **text)
{
    const config_setting_t *setting = config_setting_get_member(group, name);

    if (!setting)
        return true;
    if (config_setting_type(setting) != CONFIG_TYPE_STRING)
        return complain(r, setting, NEEDS_TEXT);
    *text = config_setting_get_string(setting);
    return true;
}

static bool read_number(const struct reader *r, const config_setting_t *group, const char *name, unsigned least,
                        unsigned most, unsigned *number)
{
    const config_setting_t *setting = config_setting_get_member(group, name);
    char text[80];
    long long value;

    if (!setting)
        return true;
    snprintf(text, sizeof(text), "a whole number from %u to %u is needed", least, most);
    if (config_setting_type(setting) != CONFIG_TYPE_INT && config_setting_type(setting) != CONFIG_TYPE_INT64)
        return complain(r, setting, text);
    value = config_setting_get_int64(setting);
    if (value < least || value > most)
        return complain(r, setting, text);
    *number = (unsigned)value;
    return true;
}

/* Reads a number, or a text such as "8G". */
static bool read_bytes(const struct reader *r, const config_setting_t *group, const char *name, uint64_t *bytes)
{
    const config_setting_t *setting = config_setting_get_member(group, name);
    long long value = -1;

    if (!setting)
        return true;
    if (config_setting_type(setting) == CONFIG_TYPE_STRING &&
        text_read_bytes(config_setting_get_string(setting), bytes))
        return true;
    if (config_setting_type(setting) == CONFIG_TYPE_INT || config_setting_type(setting) == CONFIG_TYPE_INT64)
        value = config_setting_get_int64(setting);
    if (value < 0)
        return complain(r, setting, "a number of bytes is needed, such as \"8G\"");
    *bytes = (uint64_t)value;
    return true;
}

static bool read_list(const struct reader *r, const config_setting_t *group, const char *name, char ***list)
{
    const config_setting_t *setting = config_setting_get_member(group, name);
    const int count = setting ? config_setting_length(setting) : 0;

    *list = calloc((size_t)count + 1, sizeof(**list));
    if (setting && !config_setting_is_array(setting) && !config_setting_is_list(setting))
        return complain(r, setting, "a list of strings is needed: [\"one\", \"two\"]");
    for (int i = 0; *list && i < count; i++) {
        const char *text = config_setting_get_string_elem(setting, i);

        if (!text || !*text)
            return complain(r, setting, "a list of non-empty strings is needed");
        if (!copy(r, text, &(*list)[i]))
            return false;
    }
    return true;
}

/* ---- rules of devices ---- */

/* Whether the entry is a group with these members only; known: ends with NULL. */
static bool check_members(const struct reader *r, const config_setting_t *entry, const char *const *known,
                          const char *not_a_group, const char *unknown)
{
    if (!config_setting_is_group(entry))
        return complain(r, entry, not_a_group);
    for (int i = 0; i < config_setting_length(entry); i++) {
        const config_setting_t *member = config_setting_get_elem(entry, (unsigned)i);
        const char *const *at = known;

        while (*at && strcmp(config_setting_name(member), *at) != 0)
            at++;
        if (!*at)
            return complain(r, member, unknown);
    }
    return true;
}

static bool read_rule(const struct reader *r, const config_setting_t *entry, struct device_rule *rule)
{
    static const char *const known[] = {"match", "mode", "sessions", "memory", NULL};
    const char *match = NULL, *mode = "shared";

    *rule = (struct device_rule){.sessions = DEVICE_SESSIONS};
    if (!check_members(r, entry, known, "a device's rule is a group: { match = \"*\"; }",
                       "no such part of a device's rule") ||
        !read_text(r, entry, "match", &match) || !read_text(r, entry, "mode", &mode) ||
        !read_number(r, entry, "sessions", 1, 10000, &rule->sessions) || !read_bytes(r, entry, "memory", &rule->memory))
        return false;
    if (!match)
        return complain(r, entry, "a device's rule needs a match");
    if (strcmp(mode, "shared") && strcmp(mode, "exclusive") && strcmp(mode, "hidden"))
        return complain(r, entry, "mode is shared, exclusive or hidden");
    rule->exclusive = !strcmp(mode, "exclusive");
    rule->hidden = !strcmp(mode, "hidden");
    if (rule->exclusive)
        rule->sessions = 1;
    return copy(r, match, &rule->match);
}

static bool read_rules(const struct reader *r)
{
    struct config *config = r->config;
    const config_setting_t *setting = config_setting_get_member(r->root, "devices");
    const int count = setting ? config_setting_length(setting) : 0;

    if (setting && !config_setting_is_list(setting))
        return complain(r, setting, "a list of groups is needed: ( { match = \"*\"; } )");
    config->rules = calloc((size_t)count + 1, sizeof(*config->rules));
    for (int i = 0; config->rules && i < count; i++) {
        if (!read_rule(r, config_setting_get_elem(setting, (unsigned)i), &config->rules[i]))
            return false;
        config->rule_count++;
    }
    return true;
}

/* ---- limits ---- */

static bool read_priority(const struct reader *r, const config_setting_t *entry, int *priority)
{
    const config_setting_t *setting = config_setting_get_member(entry, "priority");
    const int value = setting ? config_setting_get_int(setting) : 0;

    if (setting && (config_setting_type(setting) != CONFIG_TYPE_INT || value < -MOST_PRIORITY || value > MOST_PRIORITY))
        return complain(r, setting, "a whole number of seconds is needed, above or below 0");
    *priority = value;
    return true;
}

static bool read_limit(const struct reader *r, const config_setting_t *entry, struct limit *limit)
{
    static const char *const known[] = {"users", "name", "sessions", "devices", "together", "priority", NULL};
    const char *name = NULL;

    *limit = (struct limit){.sessions = r->config->sessions_per_user, .devices = r->config->devices_per_user};
    if (!check_members(r, entry, known, "a limit is a group: { users = [\"@students\"]; devices = 2; }",
                       "no such part of a limit") ||
        !read_list(r, entry, "users", &limit->users) || !read_text(r, entry, "name", &name) ||
        !read_number(r, entry, "sessions", 0, 100000, &limit->sessions) ||
        !read_number(r, entry, "devices", 0, 100000, &limit->devices) ||
        !read_number(r, entry, "together", 0, 100000, &limit->together) || !read_priority(r, entry, &limit->priority))
        return false;
    if (!limit->users || !*limit->users)
        return complain(r, entry, "a limit needs users");
    name = name ? name : *limit->users;
    if (!*name || strlen(name) > 62 || !text_is_utf8(name))
        return complain(r, entry, "a limit's name has 1 to 62 letters");
    return copy(r, name, &limit->name);
}

static bool read_limits(const struct reader *r)
{
    struct config *config = r->config;
    const config_setting_t *setting = config_setting_get_member(r->root, "limits");
    const int count = setting ? config_setting_length(setting) : 0;

    if (setting && !config_setting_is_list(setting))
        return complain(r, setting, "a list of groups is needed: ( { users = [\"@students\"]; devices = 2; } )");
    config->limits = calloc((size_t)count + 1, sizeof(*config->limits));
    for (int i = 0; config->limits && i < count; i++) {
        config->limit_count++; /* also of one that is read in part, so that it is freed */
        if (!read_limit(r, config_setting_get_elem(setting, (unsigned)i), &config->limits[i]))
            return false;
    }
    return true;
}

/* ---- the whole file ---- */

static bool read_texts(const struct reader *r)
{
    struct config *config = r->config;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        const char *text = texts[i].fallback;

        if (!read_text(r, r->root, texts[i].name, &text))
            return false;
        if (text && !copy(r, text, &FIELD(config, char *, texts[i].offset)))
            return false;
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        if (!read_list(r, r->root, lists[i].name, &FIELD(config, char **, lists[i].offset)))
            return false;
    }
    return true;
}

static bool read_numbers(const struct reader *r)
{
    struct config *config = r->config;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        unsigned *field = &FIELD(config, unsigned, numbers[i].offset);

        *field = numbers[i].fallback;
        if (field == &config->least_uid && geteuid() && geteuid() < *field)
            *field = geteuid(); /* the only user that the daemon serves */
        if (!read_number(r, r->root, numbers[i].name, 0, numbers[i].most, field))
            return false;
    }
    return read_bytes(r, r->root, "worker-memory", &config->worker_memory);
}

/* Reads true, false or a number of seconds. */
static bool read_oversubscribe(const struct reader *r)
{
    struct config *config = r->config;
    const config_setting_t *setting = config_setting_get_member(r->root, "oversubscribe");
    const int type = setting ? config_setting_type(setting) : CONFIG_TYPE_NONE;

    if (type == CONFIG_TYPE_BOOL)
        config->oversubscribe = config_setting_get_bool(setting) ? OVERSUBSCRIBE_SECONDS : 0;
    else if (setting && type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64)
        return complain(r, setting, "true, false or a number of seconds is needed");
    else if (!read_number(r, r->root, "oversubscribe", 0, 1000000, &config->oversubscribe))
        return false;
    return true;
}

static bool read_announce(const struct reader *r)
{
    const config_setting_t *setting = config_setting_get_member(r->root, "announce");

    if (setting && config_setting_type(setting) != CONFIG_TYPE_BOOL)
        return complain(r, setting, "true or false is needed");
    r->config->announce = setting && config_setting_get_bool(setting);
    return true;
}

bool config_is_address(const char *text, unsigned least_port)
{
    const char *port = "";
    char host[128];
    uint64_t number;

    return !address_split(text, host, sizeof(host), &port) && *host &&
           text_read_number(port, least_port, 65535, &number);
}

static bool check_names(const struct reader *r)
{
    struct config *config = r->config;
    config->lines = calloc((size_t)config_setting_length(r->root) + 1, sizeof(*config->lines));
    for (int i = 0; config->lines && i < config_setting_length(r->root); i++) {
        const config_setting_t *setting = config_setting_get_elem(r->root, (unsigned)i);
        struct config_line *line = &config->lines[config->line_count];

        if (!is_known(config_setting_name(setting)))
            return complain(r, setting, "no such setting");
        snprintf(line->name, sizeof(line->name), "%s", config_setting_name(setting));
        line->line = config_setting_source_line(setting);
        config->line_count++;
    }
    return true;
}

unsigned config_line(const struct config *config, const char *name)
{
    for (unsigned i = 0; i < config->line_count; i++) {
        if (!strcmp(config->lines[i].name, name))
            return config->lines[i].line;
    }
    return 0;
}

static bool check_values(const struct reader *r)
{
    struct config *config = r->config;
    const char *policy = "pack";

    for (char **at = config->environment; *at; at++) {
        if (!strchr(*at, '=') || **at == '=')
            return complain_of(r, "environment", "entries are NAME=VALUE");
    }
    if (!config_is_address(config->listen, 0))
        return complain_of(r, "listen", "an address and port is needed, such as 10.0.0.1:7801");
    if (*config->http && !config_is_address(config->http, 1))
        return complain_of(r, "http", "an address and port is needed, such as 127.0.0.1:7880");
    if (config->name &&
        (!*config->name || strlen(config->name) > 62 || !text_is_utf8(config->name) || strpbrk(config->name, " \t\n#")))
        return complain_of(r, "name", "a word of at most 62 letters is needed");
    if (!read_text(r, r->root, "policy", &policy))
        return false;
    if (!policy_read(policy, &config->policy))
        return complain_of(r, "policy", "pack, spread, least-loaded or order");
    if (strcmp(config->method, "munge") && strcmp(config->method, "key"))
        return complain_of(r, "auth", "munge or key");
    if (strcmp(config->network, "mpi") && strcmp(config->network, "tls"))
        return complain_of(r, "network", "mpi or tls");
    if (strcmp(config->scrub, "own") && strcmp(config->scrub, "all") && strcmp(config->scrub, "none"))
        return complain_of(r, "scrub", "own, all or none");
    return true;
}

static bool read_all(const struct reader *r)
{
    return check_names(r) && read_texts(r) && read_numbers(r) && check_values(r) && read_oversubscribe(r) &&
           read_announce(r) && read_rules(r) && read_limits(r);
}

static bool read_file(struct reader *r, config_t *file, const char *path)
{
    if (path && !config_read_file(file, path)) {
        if (config_error_type(file) == CONFIG_ERR_FILE_IO)
            snprintf(r->why, r->why_size, "%s: cannot be read", path);
        else
            snprintf(r->why, r->why_size, "%s:%d: %s", path, config_error_line(file), config_error_text(file));
        return false;
    }
    r->root = config_root_setting(file);
    return read_all(r);
}

struct config *config_load(const char *path, char *why, size_t why_size)
{
    struct reader r = {calloc(1, sizeof(*r.config)), NULL, why, why_size};
    char host[64] = "localhost";
    config_t file;
    bool good;

    if (!r.config)
        return NULL;
    config_init(&file);
    gethostname(host, sizeof(host) - 1);
    good = copy(&r, path ? path : "defaults", &r.config->path) && read_file(&r, &file, path) &&
           (r.config->name || copy(&r, host, &r.config->name));
    config_destroy(&file);
    if (good)
        return r.config;
    config_free(r.config);
    return NULL;
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
    for (unsigned i = 0; i < config->limit_count; i++) {
        free_list(config->limits[i].users);
        free(config->limits[i].name);
    }
    free(config->limits);
    free(config->lines);
    free(config->path);
    free(config);
}

const struct device_rule *config_rule(const struct config *config, const char *device)
{
    static const struct device_rule fallback = {.sessions = DEVICE_SESSIONS};

    for (unsigned i = 0; i < config->rule_count; i++) {
        if (!fnmatch(config->rules[i].match, device, 0))
            return &config->rules[i];
    }
    return &fallback;
}

/* ---- rights ---- */

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

unsigned config_limit(const struct config *config, const char *user, gid_t group)
{
    unsigned i = 0;

    while (i < config->limit_count && !config_lists(config->limits[i].users, user, group))
        i++;
    return i;
}

bool config_allows(const struct config *config, const char *user, gid_t group)
{
    return !config_lists(config->deny, user, group) && (!*config->allow || config_lists(config->allow, user, group));
}

bool config_is_admin(const struct config *config, const char *user, uid_t uid, gid_t group)
{
    return uid == 0 || uid == geteuid() || config_lists(config->admins, user, group);
}
