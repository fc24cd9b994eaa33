/*
 * PMI-1, as far as MPICH needs it to start: the ranks of a job put their addresses, wait for each other, and get the
 * addresses of the others. A rank's bytes go in, answers come out; the caller transports them.
 */
#ifndef VOCL_PROXY_LAUNCH_PMI_H
#define VOCL_PROXY_LAUNCH_PMI_H

#include <stddef.h>

/* The longest line, with its newline. */
#define PMI_LINE 2048

struct pmi;

/* say() is called with whole lines. Returns NULL if memory is exhausted. */
struct pmi *pmi_open(unsigned size, void (*say)(void *owner, unsigned rank, const char *line, size_t length),
                     void *owner);
/* Takes bytes from a rank, split anywhere. Returns 0, or a negative errno: this job cannot start any more. */
int pmi_hear(struct pmi *pmi, unsigned rank, const char *bytes, size_t length);
/* The rank has gone. Returns an error if others wait for it. */
int pmi_lose(struct pmi *pmi, unsigned rank);
/* Returns the reason of the error. */
const char *pmi_why(const struct pmi *pmi);
void pmi_close(struct pmi *pmi);

#endif
