/* The configuration file of a pool's daemon: doc/vocl-proxy.conf.5 says what each setting means. */
#ifndef VOCL_PROXY_DAEMON_CONF_H
#define VOCL_PROXY_DAEMON_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum policy { POLICY_PACK, POLICY_SPREAD, POLICY_LEAST_LOADED, POLICY_ORDER };

/* The settings for devices whose name matches. */
struct device_rule {
    char *match; /* fnmatch(3) */
    bool exclusive, hidden;
    unsigned sessions; /* at most at a time */
    uint64_t memory;   /* bytes for each session; 0: all that there is */
};

/* What certain users may have in the whole pool, and how their requests wait. */
struct limit {
    char **users; /* users, or groups as "@group"; NULL-terminated */
    char *name;
    unsigned sessions, devices; /* of each user; 0: no limit */
    unsigned together;          /* devices of all these users; 0: no limit */
    int priority;               /* seconds that a request counts as having waited longer */
};

struct config_line {
    char name[32];
    unsigned line;
};

struct config {
    char *path, *name, *listen, *pool_file, *method, *key_file, *munge_socket, *state, *http, *accounting, *powercap,
        *cgroup, *network, *scrub;
    char **allow, **deny, **admins; /* users, or groups as "@group"; NULL-terminated */
    char **environment;             /* of workers: NAME=VALUE */
    enum policy policy;
    bool announce;    /* in the local network */
    unsigned prefork; /* 0: each worker loads the drivers itself */
    unsigned mesh;    /* in a pool with more nodes the daemons gossip */
    unsigned queue_limit, connection_limit, connections_per_user;
    unsigned sessions_per_user, devices_per_user, session_seconds, idle_seconds; /* 0: no limit */
    unsigned least_uid;        /* only users from this UID on have sessions, and keys */
    unsigned oversubscribe;    /* seconds after which an idle session may be suspended for others; 0: never */
    uint64_t worker_memory;    /* bytes; 0: no limit */
    unsigned worker_cpus;      /* hundredths of a core; 0: no limit */
    unsigned worker_processes; /* and threads; 0: no limit */
    struct device_rule *rules;
    unsigned rule_count;
    unsigned fair_share; /* seconds that a request counts as having waited less, for each device that its user has */
    struct limit *limits;
    unsigned limit_count;
    struct config_line *lines; /* of the settings that are in the file */
    unsigned line_count;
};

/* Reads a configuration file; path NULL: the defaults. Returns NULL, with the reason, the file and the line in why, if
 * it is invalid. */
struct config *config_load(const char *path, char *why, size_t why_size);
void config_free(struct config *config);
/* Returns the line of the file that has this setting; 0: the setting has its default. */
unsigned config_line(const struct config *config, const char *name);
/* Returns the first rule that matches, or the default rule. */
const struct device_rule *config_rule(const struct config *config, const char *device);
/* Whether a list names the user, or one of the user's groups. */
bool config_lists(char *const *list, const char *user, gid_t group);
bool config_allows(const struct config *config, const char *user, gid_t group);
bool config_is_admin(const struct config *config, const char *user, uid_t uid, gid_t group);
/* Whether the text is "host:port" with a port from least_port on. */
bool config_is_address(const char *text, unsigned least_port);
/* Returns the number of the first limit that names the user or one of the user's groups; limit_count: none does. */
unsigned config_limit(const struct config *config, const char *user, gid_t group);
const char *policy_name(enum policy policy);
bool policy_read(const char *text, enum policy *policy);

#endif
