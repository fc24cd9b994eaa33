/* VOCL_DEVICES: which devices a program sees, and in which order. */
#ifndef VOCL_BASE_SELECTION_H
#define VOCL_BASE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

/* One item of the list: all that is given has to hold. Texts are patterns as of fnmatch(3); empty: any. */
struct selection {
    long first, last; /* places in the whole list of devices; -1: any */
    char node[128], name[128], type[16];
};

/*
 * The next item of a list, from *at on, which moves behind it. Items are separated by commas; each is one or more of
 * these, joined by "+": "all", a number or a range of them, node=PATTERN, name=PATTERN, and type=cpu, gpu, accelerator
 * or custom. 1; 0 at the end of the list; -1, and why, for what is none.
 */
int selection_next(const char **at, struct selection *item, char *why, size_t why_size);

#endif
