/* How commands are started on other hosts: by ssh, or what is used in its place (VOCL_RSH). */
#ifndef VOCL_BASE_RSH_H
#define VOCL_BASE_RSH_H

#include <stdbool.h>

#define RSH_WORDS 32

/* Whether the host is this one: then there is no need to ask ssh. Names are looked up. */
bool rsh_is_here(const char *host);
/* Whether it can be a host's name, and is not an option of ssh's. */
bool rsh_is_host(const char *host);
/* The words of a program that runs the command, which a shell will read there, on that host; they end with NULL. They
 * are the caller's, who executes them and never frees them. False: there is no memory, or it is no host. */
bool rsh_words(const char *host, const char *command, char *words[RSH_WORDS]);
/* Whether a variable of the environment ("NAME=value") goes along: none without a value; nothing of how this process
 * itself was reached; and where another VOCL is used there (VOCL_PROXY), nothing of where things lie here. */
bool rsh_takes(const char *variable);
/* The names of variables that are then those of the host itself; NULL at the end. */
extern const char *const rsh_own[];

#endif
