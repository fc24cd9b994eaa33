/* What transport/plugin/tls.h has, without TLS: connections within one host that whoever started the session's
 * processes has handed over, so that nobody else can be at their other end. Who connects says its identity, and is
 * believed. */
#ifndef VOCL_TRANSPORT_STREAM_PLAIN_H
#define VOCL_TRANSPORT_STREAM_PLAIN_H

#include <sys/types.h>

#include "transport/plugin/tls.h"

/* Its init() need not be called. */
extern const struct tls_plugin plain_plugin;

/* The process that has sent what came last, by the kernel's word; 0: it has not said so yet. */
pid_t plain_process(const struct tls *tls);

#endif
