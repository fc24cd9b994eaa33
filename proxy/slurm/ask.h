/* Runs the command `vocl` from Slurm's processes. Its output is all that they know of VOCL. */
#ifndef VOCL_PROXY_SLURM_ASK_H
#define VOCL_PROXY_SLURM_ASK_H

#include <stddef.h>

/*
 * Runs a program with this environment, waits at most `seconds` for it, and then kills it. Its output is stored in
 * output (which may be NULL, with size 0) with a terminating 0, and its length in *length. Returns the program's exit
 * status, or a negative errno: -ETIMEDOUT, or -ENOSPC if the output is longer than size. May be called in a process
 * with threads: nothing is allocated between fork and exec.
 */
int ask(char *const *words, char *const *environment, char *output, size_t size, size_t *length, int seconds);

#endif
