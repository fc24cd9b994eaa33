/* What the files of the daemon's top folder share. */
#ifndef VOCL_PROXY_DAEMON_INTERNAL_H
#define VOCL_PROXY_DAEMON_INTERNAL_H

#include "proxy/daemon/daemon.h"

struct connection;

/* ---- daemon.c ---- */
/* Reads the configuration and the pool file again. Returns false, with why, if one is invalid: then both stay as they
 * were. *restart: whether there are changes that need a restart. */
bool daemon_reload(struct daemon *d, bool *restart, char *why, size_t why_size);

/* ---- dispatch.c ---- */
void dispatch_take(struct connection *c, json_t *message);

/* ---- announce.c ---- */
/* Announces this daemon in the local network, or ceases to, as the configuration says. */
void announce_review(struct daemon *d);
/* Whether this VOCL can announce daemons. */
bool announce_is_built(void);

/* ---- notify.c ---- */
/* Call it before anything else is started. */
void notify_open(void);
/* Sends lines of NAME=VALUE to systemd, if it has started this daemon as a notifying service. */
__attribute__((format(printf, 1, 2))) void notify_say(const char *format, ...);
/* READY=1 has to follow it. */
void notify_reloading(void);

/* ---- check.c ---- */
/* Checks whether the configuration is valid, and can be followed on this host. Returns the exit status. */
int check_config(const char *path);
/* Logs what the configuration wants and the daemon serves without. */
void check_serving(struct daemon *d);

#endif
