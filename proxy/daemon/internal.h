/* What the daemon's main part shares. */
#ifndef VOCL_PROXY_DAEMON_INTERNAL_H
#define VOCL_PROXY_DAEMON_INTERNAL_H

#include "proxy/daemon/daemon.h"

struct connection;

/* ---- dispatch.c ---- */
void dispatch_take(struct connection *c, json_t *message);

/* ---- notify.c ---- */
/* To be called before anything else is started. */
void notify_open(void);
/* Lines of NAME=VALUE for systemd, if it wants to hear of this daemon. */
__attribute__((format(printf, 1, 2))) void notify_say(const char *format, ...);
/* READY=1 has to come after it. */
void notify_reloading(void);

/* ---- check.c ---- */
/* Says whether the configuration is good, and could be followed here. The exit status. */
int check_config(const char *path);
/* Logs what the daemon serves without, which somebody may not know. */
void check_serving(struct daemon *d);

#endif
