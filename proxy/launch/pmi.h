/*
 * PMI-1, as far as MPICH needs it to start: the ranks of a job put their addresses, wait for each other, and get those
 * of others. Bytes of a rank go in, answers come out; whoever calls carries them.
 */
#ifndef VOCL_PROXY_LAUNCH_PMI_H
#define VOCL_PROXY_LAUNCH_PMI_H

#include <stddef.h>

/* The longest line, with its end. */
#define PMI_LINE 2048

struct pmi;

/* say() gets whole lines. NULL: out of memory. */
struct pmi *pmi_open(unsigned size, void (*say)(void *owner, unsigned rank, const char *line, size_t length),
                     void *owner);
/* What a rank says, cut anywhere. 0, or negative errno: this job cannot start any more. */
int pmi_hear(struct pmi *pmi, unsigned rank, const char *bytes, size_t length);
/* The rank is gone. An error if others wait for it. */
int pmi_lose(struct pmi *pmi, unsigned rank);
/* What was wrong. */
const char *pmi_why(const struct pmi *pmi);
void pmi_close(struct pmi *pmi);

#endif
