/* Connections without TLS, with the functions of transport/plugin/tls.h. The starter of the session's processes has
 * handed them over within one host, so nobody else can be at their other end. The connecting side sends its identity,
 * which is believed. */
#ifndef VOCL_TRANSPORT_STREAM_PLAIN_H
#define VOCL_TRANSPORT_STREAM_PLAIN_H

#include <sys/types.h>

#include "transport/plugin/tls.h"

/* Its init() need not be called. */
extern const struct tls_plugin plain_plugin;

/* Returns the PID of the process that sent the last bytes, as the kernel reports it; 0: not known yet. */
pid_t plain_process(const struct tls *tls);

#endif
