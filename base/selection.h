/* VOCL_DEVICES: which devices a program sees, and in which order. */
#ifndef VOCL_BASE_SELECTION_H
#define VOCL_BASE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

/* One item of the list; a device must match all that is given. Texts are patterns of fnmatch(3); empty: any. */
struct selection {
    long first, last; /* indices in the whole list of devices; -1: any */
    char node[128], name[128], type[16];
};

/*
 * Reads the next item of a list from *at on, and moves *at behind it. Items are separated by commas; each is one or
 * more of these, joined by "+": "all", a number or a range of them, node=PATTERN, name=PATTERN, and type=cpu, gpu,
 * accelerator or custom. Returns 1, 0 at the end of the list, or -1 with the reason for an invalid item.
 */
int selection_next(const char **at, struct selection *item, char *why, size_t why_size);

#endif
