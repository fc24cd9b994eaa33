/*
 * A session that the program itself suspends and resumes by `vocl suspend` and `vocl resume`: the rates (GB/s, 10^9
 * bytes) at which 256 MiB of contents come, over the whole suspend, since most of them come before its pause, and go,
 * beside the rates of the program's own writes of as much into a new buffer and reads into new memory in the same
 * rounds, and the time of each command (ms). Run it as VOCL_NETWORK=tls VOCL_SHARE=0 vocl run --
 * build/benchmarks/suspend, with VOCL_HOSTS for the rate of a link.
 */
#include <unistd.h>

#include "bench.h"

enum { BYTES = 256 << 20 };

/* Runs the command, and returns its message after the first colon. */
static void ask(const char *what, char line[512])
{
    char command[64];
    FILE *pipe;

    snprintf(command, sizeof(command), "vocl %s %d", what, (int)getpid());
    pipe = popen(command, "r");
    EXPECT(pipe != NULL);
    EXPECT(fgets(line, 512, pipe) != NULL);
    EXPECT(pclose(pipe) == 0);
    EXPECT(strchr(line, ':') != NULL);
    memmove(line, strchr(line, ':') + 1, strlen(strchr(line, ':')));
}

int main(int count, char **words)
{
    struct series reads = {0}, writes = {0}, suspends = {0}, resumes = {0}, suspended = {0}, resumed = {0};
    const cl_uint pattern = 12345;
    uint32_t *memory = malloc(BYTES);
    struct bench b;
    cl_mem buffer;
    cl_int status;

    bench_open(&b, count, words);
    EXPECT(memory != NULL);
    for (size_t i = 0; i < BYTES / 4; i++)
        memory[i] = (uint32_t)i * pattern;
    EACH_ROUND (round, 1, bench_rounds(&b, 9, 3)) {
        unsigned long bytes, contents, all; /* us */
        char said[512];
        double start;
        uint32_t *fresh;

        bench_touch(4ul * BYTES);
        buffer = clCreateBuffer(b.context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
        CHECK(status);
        start = bench_now();
        CHECK(clEnqueueWriteBuffer(b.queue, buffer, CL_TRUE, 0, BYTES, memory, 0, NULL, NULL));
        CHECK(clFinish(b.queue));
        round_add(&round, &writes, BYTES / (bench_now() - start));
        fresh = malloc(BYTES);
        EXPECT(fresh != NULL);
        start = bench_now();
        CHECK(clEnqueueReadBuffer(b.queue, buffer, CL_TRUE, 0, BYTES, fresh, 0, NULL, NULL));
        round_add(&round, &reads, BYTES / (bench_now() - start));
        free(fresh);
        ask("suspend", said);
        EXPECT(sscanf(said, "%lu%*[^,],%*[^,], %*u us for them, %lu us", &bytes, &all) == 2);
        EXPECT(bytes >= BYTES);
        round_add(&round, &suspends, BYTES / ((double)all * 1000));
        round_add(&round, &suspended, (double)all / 1000);
        ask("resume", said);
        EXPECT(sscanf(said, "%*u%*[^,], %lu us for them, %lu us", &contents, &all) == 2);
        round_add(&round, &resumes, BYTES / ((double)contents * 1000));
        round_add(&round, &resumed, (double)all / 1000);
        memset(memory, 0, BYTES);
        CHECK(clEnqueueReadBuffer(b.queue, buffer, CL_TRUE, 0, BYTES, memory, 0, NULL, NULL));
        for (size_t i = 0; i < BYTES / 4; i += 1021)
            EXPECT(memory[i] == (uint32_t)i * pattern);
        CHECK(clReleaseMemObject(buffer));
    }
    series_report(&writes, "rest_program_writes", "GB/s");
    series_report(&resumes, "rest_resume_contents", "GB/s");
    series_report(&reads, "rest_program_reads", "GB/s");
    series_report(&suspends, "rest_suspend_contents", "GB/s");
    series_report(&suspended, "rest_suspend", "ms");
    series_report(&resumed, "rest_resume", "ms");
    bench_close(&b);
    return 0;
}
