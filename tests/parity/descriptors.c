/* Programs that close descriptors which they do not know, and that take any descriptor number for themselves: daemons,
 * shells. */
#include "parity.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1 << 18, FREE = 16, MUCH = 48 << 20 };

static const char *source = "kernel void scale(global int *a, int by) { a[get_global_id(0)] *= by; }\n";
static int data[COUNT], back[COUNT];
static int last = 1024; /* the descriptors from 3 up to this one are closed and taken */

static void compute(const struct parity *p, cl_kernel kernel, cl_mem buffer, const char *when)
{
    int by = 3, wrong = 0;

    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    parity_write(p->queue, buffer, 0, sizeof(data), data);
    parity_args(kernel, 2, sizeof(cl_mem), &buffer, sizeof(by), &by);
    parity_launch(p->queue, kernel, 1, (size_t[]){COUNT}, NULL);
    parity_read(p->queue, buffer, 0, sizeof(back), back);
    for (int i = 0; i < COUNT; i++)
        wrong += back[i] != 3 * i;
    printf("%s: %d wrong\n", when, wrong);
}

static void use(const struct parity *p, const char *when)
{
    cl_program program = parity_program(p, source, NULL);
    cl_kernel kernel = parity_kernel(program, "scale");
    cl_mem buffer = parity_buffer(p, CL_MEM_READ_WRITE, sizeof(data), NULL);

    compute(p, kernel, buffer, when);
}

static int ours(int fd, const struct stat *file)
{
    struct stat now;

    return !fstat(fd, &now) && now.st_ino == file->st_ino && now.st_dev == file->st_dev;
}

/* Takes all numbers except a few, since a program without any free descriptor can do little. */
static void take_numbers(int fd)
{
    for (int number = 3; number < last - FREE; number++) {
        if (number != fd && dup2(fd, number) != number)
            printf("dup2 to %d: %s\n", number, strerror(errno));
    }
}

static void close_numbers(int fd, const struct stat *file, const char *what)
{
    int changed = 0;

    for (int number = 3; number < last - FREE; number++)
        changed += !ours(number, file);
    printf("%d numbers are no longer the %s\n", changed, what);
    for (int number = 3; number < last; number++) {
        if (number != fd)
            close(number);
    }
}

/* Uses more memory than before, so that memory has to be mapped. */
static void use_much(const struct parity *p)
{
    char *memory = calloc(1, MUCH), *back = calloc(1, MUCH);
    cl_mem buffer = parity_buffer(p, CL_MEM_READ_WRITE, MUCH, NULL);

    memset(memory, 7, MUCH);
    parity_write(p->queue, buffer, 0, MUCH, memory);
    parity_read(p->queue, buffer, 0, MUCH, back);
    printf("much memory: %s\n", memcmp(memory, back, MUCH) ? "wrong" : "right");
    CHECK(clReleaseMemObject(buffer));
    free(memory);
    free(back);
}

static void take_for_file(const struct parity *p)
{
    int fd = memfd_create("mine", 0);
    struct stat before, after;

    if (fd < 0 || write(fd, "mine", 4) != 4 || ftruncate(fd, 4L * MUCH) || fstat(fd, &before))
        abort();
    take_numbers(fd);
    use(p, "a file at all numbers");
    use_much(p);
    fstat(fd, &after);
    printf("its size is %ld, its offset %ld\n", (long)after.st_size, (long)lseek(fd, 0, SEEK_CUR));
    printf("it has %ld blocks more\n", (long)(after.st_blocks - before.st_blocks));
    close_numbers(fd, &before, "file");
    close(fd);
    use(p, "after it");
}

/* If VOCL still used these numbers, it would read what is sent to the program, or write what the program then reads. */
static void take_for_socket(const struct parity *p)
{
    struct stat before;
    char bytes[64];
    int pair[2];
    ssize_t got;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || fcntl(pair[1], F_DUPFD, last - FREE) != last - FREE ||
        fstat(pair[0], &before) || send(last - FREE, "for the program", 15, 0) != 15)
        abort();
    take_numbers(pair[0]);
    use(p, "a socket at all numbers");
    got = recv(pair[0], bytes, sizeof(bytes), MSG_DONTWAIT);
    printf("received: %.*s\n", (int)got, bytes);
    got = recv(last - FREE, bytes, sizeof(bytes), MSG_DONTWAIT);
    printf("sent: %zd\n", got);
    close_numbers(pair[0], &before, "socket");
    close(pair[0]);
    use(p, "after it");
}

static atomic_int closing = 1;

static void *close_all_the_time(void *argument)
{
    (void)argument;
    while (closing) {
        for (int number = 3; number < last; number++)
            close(number);
        usleep(1000);
    }
    return NULL;
}

/* Builds no program meanwhile: the compiler opens files of its own. */
static void close_meanwhile(const struct parity *p)
{
    cl_program program = parity_program(p, source, NULL);
    cl_kernel kernel = parity_kernel(program, "scale");
    cl_mem buffer = parity_buffer(p, CL_MEM_READ_WRITE, sizeof(data), NULL);
    pthread_t thread;

    compute(p, kernel, buffer, "before");
    if (pthread_create(&thread, NULL, close_all_the_time, NULL))
        abort();
    for (int i = 0; i < 100; i++)
        compute(p, kernel, buffer, "closed meanwhile");
    closing = 0;
    pthread_join(thread, NULL);
}

/* Shows the descriptors that a child process inherits. */
static void show_inherited(void)
{
    fflush(stdout);
    if (system("ls /proc/self/fd | tr '\\n' ' '; echo"))
        abort();
}

int main(void)
{
    struct rlimit limit;
    struct parity p;
    FILE *late;

    parity_open(&p, 0);
    use(&p, "at first");
    show_inherited();
    closefrom(3);
    use(&p, "after closefrom");
    parity_rich();
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < (rlim_t)last)
        last = (int)limit.rlim_cur;
    for (int number = 3; number < last; number++)
        close(number);
    use(&p, "after a loop");
    CHECK(close_range(3, ~0u, 0));
    use(&p, "after close_range");
    for (int i = 0; i < 2; i++) {
        take_for_file(&p);
        take_for_socket(&p);
    }
    close_meanwhile(&p);
    show_inherited();
    fflush(stdout);
    late = fdopen(dup(1), "a");
    if (!late)
        abort();
    fprintf(late, "written when the process ends\n");
    parity_close(&p);
    for (int number = 3; number < last; number++) { /* VOCL does not check its descriptors again before the end */
        if (number != fileno(late))
            close(number);
    }
    return 0;
}
