/* Starting commands on other hosts: by ssh, or the command in VOCL_RSH (`vocl run --launcher`). */
#ifndef VOCL_BASE_RSH_H
#define VOCL_BASE_RSH_H

#include <stdbool.h>
#include <stddef.h>

#define RSH_WORDS 64

/* Whether the host is this one, so that ssh is not needed. Resolves names. If the command in VOCL_RSH contains {host},
 * this is false for every host: a scheduler is to start, limit and account the workers of all hosts. */
bool rsh_is_here(const char *host);
/* Whether the text can be a host's name, and is no option of ssh. */
bool rsh_is_host(const char *host);
/* Builds the argument list, ending with NULL, of a program that runs the command by a shell on that host. The host is
 * put where the command in VOCL_RSH has {host}, else behind it. The words belong to the caller, which executes them and
 * never frees them. Returns false if memory is exhausted, there are too many words, or this is no host. */
bool rsh_words(const char *host, const char *command, char *words[RSH_WORDS]);
/* Builds the command, for a shell of any kind, that runs vocl-proxy on another host: where VOCL_PROXY says, else at
 * this path. Free it. Returns NULL if memory is exhausted. */
char *rsh_proxy(const char *path, const char *arguments);
/* Whether a variable of the environment ("NAME=value") is passed to the other host. Not passed are: those without a
 * value; those that say how this process itself was reached; and, if another VOCL is used there (VOCL_PROXY), those
 * that say where things lie here. */
bool rsh_takes(const char *variable);
/* On the other host: replaces the environment by those variables, strings with terminating zeros, which stay in
 * use. Of the variables that choose a driver's devices, this host's own stay; with VOCL_PROXY, so do those that were
 * not passed. Returns 0 or -ENOMEM. */
int rsh_take_environment(char *variables, size_t length);

#endif
