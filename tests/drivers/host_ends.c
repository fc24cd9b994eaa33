/* A buffer over the program's memory that begins and ends within pages: a kernel sees all of it, also if the buffer
 * exists for some time before the kernel is launched, and what the program writes in a map. */
#include <stdlib.h>

#include "tests/parity/parity.h"

#define COUNT ((size_t)129539)
#define SIZE (COUNT * sizeof(cl_int))
#define PAGE 4096

static size_t wrong_of(const struct parity *p, cl_kernel kernel, cl_mem copy, const cl_int *numbers)
{
    cl_int *seen = malloc(SIZE);
    size_t wrong = 0;

    parity_launch(p->queue, kernel, 1, (size_t[]){COUNT}, NULL);
    parity_read(p->queue, copy, 0, SIZE, seen);
    for (size_t i = 0; i < COUNT; i++)
        wrong += seen[i] != numbers[i];
    free(seen);
    return wrong;
}

int main(void)
{
    cl_int error, *numbers = (cl_int *)aligned_alloc(PAGE, (SIZE / PAGE + 3) * PAGE) + 4, *at;
    struct parity p;
    cl_kernel kernel;
    cl_mem over, copy;

    parity_open(&p, 0);
    for (size_t i = 0; i < COUNT; i++)
        numbers[i] = (cl_int)i + 1;
    over = clCreateBuffer(p.context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, SIZE, numbers, &error);
    CHECK(error);
    copy = parity_buffer(&p, CL_MEM_READ_WRITE, SIZE, NULL);
    /* the build is a round trip, in which the node creates the buffers */
    kernel = parity_kernel(parity_program(&p,
                                          "kernel void copy(global const int *from, global int *to)"
                                          "{ to[get_global_id(0)] = from[get_global_id(0)]; }",
                                          NULL),
                           "copy");
    parity_args(kernel, 2, sizeof(over), &over, sizeof(copy), &copy);
    printf("%zu of %zu numbers are wrong\n", wrong_of(&p, kernel, copy, numbers), COUNT);
    at = clEnqueueMapBuffer(p.queue, over, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, SIZE, 0, NULL, NULL, &error);
    CHECK(error);
    for (size_t i = 0; i < COUNT; i++)
        at[i] += 3;
    CHECK(clEnqueueUnmapMemObject(p.queue, over, at, 0, NULL, NULL));
    printf("%zu of %zu numbers are wrong after a map\n", wrong_of(&p, kernel, copy, numbers), COUNT);
    return 0;
}
