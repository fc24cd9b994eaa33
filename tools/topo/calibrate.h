/* Measures the congestion model's parameters on this machine's devices. */
#ifndef VOCL_TOOLS_CALIBRATE_H
#define VOCL_TOOLS_CALIBRATE_H

#include <stddef.h>
#include <stdio.h>

struct topology;

/*
 * Measures the bandwidth of an idle link (B, section VII: between two devices without the root complex between them;
 * with one device, between it and the host) and tau (the fraction that is lost across the root complex), with transfers
 * of so many bytes, and sets them in the tree; parameters that cannot be measured keep their values. Writes the
 * measurements to out, as comments. Returns -1, with why, if this machine has none of the tree's devices, or OpenCL
 * fails.
 */
int calibrate(struct topology *t, size_t bytes, FILE *out, char *why, size_t why_size);

#endif
