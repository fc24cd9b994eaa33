/* Where a session begins. */
#ifndef VOCL_CLIENT_START_H
#define VOCL_CLIENT_START_H

#include "client/core/session.h"

/* The process' session, started if need be; NULL when there is none to be had. */
struct session *session_get(const struct front_end *front);

#endif
