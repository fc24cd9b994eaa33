/* Other processes of this host. */
#ifndef VOCL_BASE_PROCESS_H
#define VOCL_BASE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether it has ended, even if its parent has yet to take notice. */
bool process_gone(pid_t pid);

#endif
