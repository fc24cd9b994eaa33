/* Starting commands on other hosts: by ssh, or what replaces it (VOCL_RSH). */
#ifndef VOCL_BASE_RSH_H
#define VOCL_BASE_RSH_H

#include <stdbool.h>

#define RSH_WORDS 32

/* Whether the host is this one, so that ssh is not needed. Resolves names. */
bool rsh_is_here(const char *host);
/* Whether the text can be a host's name, and is no option of ssh. */
bool rsh_is_host(const char *host);
/* Builds the argument list, ending with NULL, of a program that runs the command by a shell on that host. The words
 * belong to the caller, which executes them and never frees them. Returns false if memory is exhausted or this is no
 * host. */
bool rsh_words(const char *host, const char *command, char *words[RSH_WORDS]);
/* Whether a variable of the environment ("NAME=value") is passed to the other host. Not passed are: those without a
 * value; those that say how this process itself was reached; and, if another VOCL is used there (VOCL_PROXY), those
 * that say where things lie here. */
bool rsh_takes(const char *variable);
/* The names of variables of which the host then uses its own; NULL at the end. */
extern const char *const rsh_own[];

#endif
