/* All processes below this one, when it is the subreaper of those that it starts. */
#ifndef VOCL_PROXY_CHILDREN_H
#define VOCL_PROXY_CHILDREN_H

/* They get a moment to end by themselves, and are then killed and reaped. */
void children_end(void);

#endif
