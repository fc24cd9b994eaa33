/* What a unit test is about: if it is not so the test says where, and ends. */
#ifndef VOCL_TESTS_EXPECT_H
#define VOCL_TESTS_EXPECT_H

#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
