/* `vocl top`: declarations that its files share. top.c has the terminal and its keys, top_draw.c draws. */
#ifndef VOCL_TOOLS_TOP_H
#define VOCL_TOOLS_TOP_H

#include "tools/pool.h"

#define TOP_COLUMNS 8    /* columns by which sessions can be sorted */
#define TOP_SAMPLES 512  /* of each device, one a second */
#define TOP_DEVICES 1024 /* devices whose past is kept */

struct top_series {
    char name[128]; /* "node number" */
    float loads[TOP_SAMPLES];
    unsigned count;
    bool seen;
};

struct top {
    json_t *status, *before; /* the pool's last answer, NULL: none; and the one before, or NULL */
    char why[512];
    int sort, first; /* the column; how many sessions are scrolled above the screen */
    bool reverse, busiest_first, no_chart, paused, help, over;
    unsigned chosen; /* series to draw: 0 is all together, then each device */
    struct top_series *series;
    unsigned series_count;
};

/* Adds the loads of t->status to the series. */
void top_remember(struct top *t);
void top_draw(struct top *t);
/* Sets up colours, if the terminal has some and NO_COLOR is not set. */
void top_colours(void);

#endif
