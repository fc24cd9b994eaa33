/*
 * To be preloaded before an OpenCL library: each call waits for SLOW_CALLS_US microseconds first, so that something can
 * happen between any two of a program that is over in no time. Arguments stay where they are: a call passes through.
 */
#ifndef __x86_64__
#error "how arguments are passed elsewhere is not known here"
#endif
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

static long wait_us;

__attribute__((used)) static void slow_call(void)
{
    const struct timespec pause = {wait_us / 1000000, wait_us % 1000000 * 1000};

    unsetenv("SLOW_CALLS_US"); /* not the calls of who is started by this process, workers among them */
    nanosleep(&pause, NULL);
}

/* Six registers hold what OpenCL's functions are given first (none takes a number with a point), the stack the rest. */
#define EXPORTED(name, first, since)                                                                                   \
    __attribute__((used, visibility("hidden"))) void *next_##name;                                                     \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                                        \
            "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\nsub $8, %rsp\n"                           \
            "call slow_call\n"                                                                                         \
            "add $8, %rsp\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"                                 \
            "jmp *next_" #name "(%rip)\n.size " #name ", .-" #name "\n");
#include "base/opencl.def"

#define EXPORTED(name, first, since) next_##name = dlsym(RTLD_NEXT, #name);

__attribute__((constructor)) static void find_next(void)
{
    const char *us = getenv("SLOW_CALLS_US");

    wait_us = us ? atol(us) : 0;
#include "base/opencl.def"
}
