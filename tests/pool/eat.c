/*
 * eat MIB [wait]: creates buffers of 16 MiB, each filled by the device, until MIB MiB are reached or an error occurs;
 * prints "ate N MiB, then ERROR" (0: no error). wait: prints "ready" before that, when it has a session, and begins
 * when standard input ends. Then it releases all buffers, and prints whether it gets a small one: "after: ERROR".
 */
#include "tests/parity/parity.h"
#include "tests/pool/begin.h"

enum { PIECE = 16 << 20, MOST = 1024 };

static cl_int eat(const struct parity *p, size_t bytes, cl_mem *buffer)
{
    const cl_int pattern = 0x5a5a5a5a;
    cl_int status;

    *buffer = clCreateBuffer(p->context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    if (!status)
        status = clEnqueueFillBuffer(p->queue, *buffer, &pattern, sizeof(pattern), 0, bytes, 0, NULL, NULL);
    return status ? status : clFinish(p->queue);
}

int main(int count, char **words)
{
    const int most = count > 1 ? atoi(words[1]) >> 4 : 1;
    cl_mem buffers[MOST], small = NULL;
    cl_int status = CL_SUCCESS;
    struct parity p;
    int eaten = 0;

    parity_open(&p, 0);
    CHECK(eat(&p, 4096, &small));
    CHECK(clReleaseMemObject(small));
    if (count > 2)
        begin_when_told();
    for (; eaten < most && eaten < MOST && !status; eaten++)
        status = eat(&p, PIECE, &buffers[eaten]);
    printf("ate %d MiB, then %d\n", (eaten - (status != 0)) * 16, status);
    while (eaten--) {
        if (buffers[eaten])
            clReleaseMemObject(buffers[eaten]);
    }
    clFinish(p.queue);
    small = NULL;
    printf("after: %d\n", eat(&p, 4096, &small));
    /* The worker may be lost: the results of these do not matter. */
    if (small)
        clReleaseMemObject(small);
    clReleaseCommandQueue(p.queue);
    clReleaseContext(p.context);
    return 0;
}
