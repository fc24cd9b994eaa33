/* The congestion model's parameters, measured on this machine's devices. */
#ifndef VOCL_TOOLS_CALIBRATE_H
#define VOCL_TOOLS_CALIBRATE_H

#include <stddef.h>
#include <stdio.h>

struct topology;

/*
 * Measure the bandwidth of an idle link (B, section VII: between two devices with no root complex between them; with
 * one device, between it and the host) and tau (how much less it is across the root complex), with transfers of so many
 * bytes, and set them in the tree; what cannot be measured stays as it is. What was measured goes to out, as comments.
 * -1 and why: no device of the tree is there, or OpenCL fails.
 */
int calibrate(struct topology *t, size_t bytes, FILE *out, char *why, size_t why_size);

#endif
