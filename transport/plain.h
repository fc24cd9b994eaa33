/* What tls.h has, without TLS: connections within one host that whoever started the session's processes has handed
 * over, so that nobody else can be at their other end. Who connects says its identity, and is believed. */
#ifndef VOCL_TRANSPORT_PLAIN_H
#define VOCL_TRANSPORT_PLAIN_H

#include "transport/tls.h"

/* Its init() need not be called. */
extern const struct tls_plugin plain_plugin;

#endif
