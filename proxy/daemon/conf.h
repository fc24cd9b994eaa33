/* The configuration file of a pool's daemon: doc/vocl-proxy.conf.5 says what each setting means. */
#ifndef VOCL_PROXY_DAEMON_CONF_H
#define VOCL_PROXY_DAEMON_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum policy { POLICY_PACK, POLICY_SPREAD, POLICY_LEAST_LOADED, POLICY_ORDER };

/* What holds for devices whose name matches. */
struct device_rule {
    char *match; /* fnmatch(3) */
    bool exclusive, hidden;
    unsigned sessions; /* at a time */
    uint64_t memory;   /* bytes for a session, 0: as much as there is */
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
    unsigned prefork; /* 0: each worker loads its drivers itself */
    unsigned mesh;    /* the daemons of a pool of more nodes gossip */
    unsigned queue_limit, connection_limit, connections_per_user;
    unsigned sessions_per_user, devices_per_user, session_seconds, idle_seconds; /* 0: any */
    unsigned least_uid;                                                          /* who has sessions, and keys */
    unsigned oversubscribe;    /* seconds in which who does nothing may be suspended for others, 0: never */
    uint64_t worker_memory;    /* bytes, 0: any */
    unsigned worker_cpus;      /* hundredths of a core, 0: any */
    unsigned worker_processes; /* and threads, 0: any */
    struct device_rule *rules;
    unsigned rule_count;
    struct config_line *lines; /* of the settings that the file has */
    unsigned line_count;
};

/* NULL, and why with file and line, if it is not good. path NULL: what holds where nothing is said. */
struct config *config_load(const char *path, char *why, size_t why_size);
void config_free(struct config *config);
/* The line of its file where a setting is; 0: it has its default. */
unsigned config_line(const struct config *config, const char *name);
/* The first rule that matches, or what holds without one. */
const struct device_rule *config_rule(const struct config *config, const char *device);
/* Whether a list names the user, or a group of his. */
bool config_lists(char *const *list, const char *user, gid_t group);
bool config_allows(const struct config *config, const char *user, gid_t group);
bool config_is_admin(const struct config *config, const char *user, uid_t uid, gid_t group);
/* "host:port", with a port from that on. */
bool config_is_address(const char *text, unsigned least_port);
const char *policy_name(enum policy policy);
bool policy_read(const char *text, enum policy *policy);

#endif
