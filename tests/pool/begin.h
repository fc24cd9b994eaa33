/* Programs that a test has begin together, or when it has seen to something. */
#ifndef TESTS_POOL_BEGIN_H
#define TESTS_POOL_BEGIN_H

#include <stdio.h>

/* Says "ready", and waits until standard input ends. */
static inline void begin_when_told(void)
{
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
}

#endif
