/*
 * usage: carried [wait]
 * Sends data of a known pattern to the device and back, of several sizes, some at the same time: the program ends with
 * an error unless the data read are those sent and computed. It prints "wrong" and returns 9 only if data differ. wait:
 * prints "ready" after that, and repeats it when standard input ends.
 */
#include "tests/parity/parity.h"

#define PATTERN "THIS IS SAID IN THE CLEAR. "

enum { BUFFERS = 4, ROUNDS = 3, LARGE = 3 << 20 };

static const char *source = "kernel void add(global int *data, int what) { data[get_global_id(0)] += what; }\n";

static void fill(char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = PATTERN[i % (sizeof(PATTERN) - 1)];
}

/* Whether got is sent with added in each word. */
static bool is_right(const char *got, const char *sent, size_t size, int added)
{
    for (size_t i = 0; i < size; i += 4) {
        int before, after;

        memcpy(&before, sent + i, 4);
        memcpy(&after, got + i, 4);
        if (after != (int)((unsigned)before + (unsigned)added))
            return false;
    }
    return true;
}

static char sent[LARGE], got[BUFFERS][LARGE];

static int work(const struct parity *p, const cl_mem *buffers, const size_t *sizes, cl_kernel kernel)
{
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < BUFFERS; i++)
            CHECK(clEnqueueWriteBuffer(p->queue, buffers[i], CL_FALSE, 0, sizes[i], sent, 0, NULL, NULL));
        for (int i = 0; i < BUFFERS; i++) {
            const size_t count = sizes[i] / 4;

            parity_args(kernel, 2, sizeof(cl_mem), &buffers[i], sizeof(round), &round);
            CHECK(clEnqueueNDRangeKernel(p->queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
        }
        for (int i = 0; i < BUFFERS; i++)
            CHECK(clEnqueueReadBuffer(p->queue, buffers[i], CL_FALSE, 0, sizes[i], got[i], 0, NULL, NULL));
        CHECK(clFinish(p->queue));
        for (int i = 0; i < BUFFERS; i++) {
            if (!is_right(got[i], sent, sizes[i], round)) {
                printf("wrong: buffer %d, round %d\n", i, round);
                return 9;
            }
        }
    }
    return 0;
}

int main(int count, char **words)
{
    static const size_t sizes[BUFFERS] = {4096, 65536, 400000, LARGE};
    struct parity p;
    cl_mem buffers[BUFFERS];
    cl_kernel kernel;
    int status;

    (void)words;
    parity_open(&p, 0);
    kernel = parity_kernel(parity_program(&p, source, ""), "add");
    fill(sent, sizeof(sent));
    for (int i = 0; i < BUFFERS; i++)
        buffers[i] = parity_buffer(&p, CL_MEM_READ_WRITE, sizes[i], NULL);
    status = work(&p, buffers, sizes, kernel);
    if (!status && count > 1) {
        puts("ready");
        fflush(stdout);
        while (getchar() != EOF)
            ;
        status = work(&p, buffers, sizes, kernel);
    }
    if (!status)
        puts("right");
    return status;
}
