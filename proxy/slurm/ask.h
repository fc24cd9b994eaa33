/* The command `vocl`, run by Slurm's processes: what they know of VOCL is what it says. */
#ifndef VOCL_PROXY_SLURM_ASK_H
#define VOCL_PROXY_SLURM_ASK_H

#include <stddef.h>

/*
 * Runs a program with that environment, and waits for it at most seconds; then it is killed. What it prints is put into
 * output (which may be NULL, with size 0), with a 0 behind it, and *length says how much. Returns its exit status, or a
 * negative errno: -ETIMEDOUT, or -ENOSPC if there was more than size. It may be called from a thread's process: between
 * fork and exec nothing is allocated.
 */
int ask(char *const *words, char *const *environment, char *output, size_t size, size_t *length, int seconds);

#endif
