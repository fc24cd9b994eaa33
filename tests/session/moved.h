/* What the programs of move.sh share: a call that has to succeed. */
#ifndef VOCL_TESTS_SESSION_MOVED_H
#define VOCL_TESTS_SESSION_MOVED_H

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define NEED(call)                                                                                                     \
    do {                                                                                                               \
        cl_int need_error = (call);                                                                                    \
        if (need_error) {                                                                                              \
            printf("line %d: %s: %d\n", __LINE__, #call, need_error);                                                  \
            exit(3);                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
