/* `vocl top`: what its files share. top.c has the terminal and its keys, top_draw.c what is drawn. */
#ifndef VOCL_TOOLS_TOP_H
#define VOCL_TOOLS_TOP_H

#include "tools/pool.h"

#define TOP_COLUMNS 8    /* by which sessions can be sorted */
#define TOP_SAMPLES 512  /* of each device, one a second */
#define TOP_DEVICES 1024 /* whose past is kept */

struct top_series {
    char name[128]; /* "node number" */
    float loads[TOP_SAMPLES];
    unsigned count;
    bool seen;
};

struct top {
    json_t *status, *before; /* what the pool told last, NULL: nobody answers; and before that, or NULL */
    char why[512];
    int sort, first; /* the column; how many sessions are above the screen */
    bool reverse, busiest_first, no_chart, paused, help, over;
    unsigned chosen; /* whose past is drawn: 0 for all together, then each device */
    struct top_series *series;
    unsigned series_count;
};

/* What is in t->status is added to the past. */
void top_remember(struct top *t);
void top_draw(struct top *t);
/* Whether there are colours, and which: none with NO_COLOR. */
void top_colours(void);

#endif
