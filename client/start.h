/* The process' session, which starts with the first use. */
#ifndef VOCL_CLIENT_START_H
#define VOCL_CLIENT_START_H

#include "client/core/session.h"

/* Returns the process' session, started if need be; NULL if there can be none. */
struct session *session_get(const struct front_end *front);

#endif
