/*
 * Preloaded before an OpenCL library: each call first waits for SLOW_CALLS_US microseconds, so that something can
 * happen between any two calls of a short program. The wait leaves all arguments as they are, and jumps to the real
 * function.
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

    unsetenv("SLOW_CALLS_US"); /* processes that this one starts, such as workers, are not slowed */
    nanosleep(&pause, NULL);
}

/* OpenCL's functions take no floating-point arguments: the first six are in these registers, the rest on the stack. */
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
