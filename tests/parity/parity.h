/*
 * Shared by the parity programs: plain OpenCL programs that run natively and through VOCL, and must print and return
 * the same both times. Hence they print nothing that varies: no pointers, times or names of platforms.
 */
#ifndef PARITY_H
#define PARITY_H

/* The deprecated entry points are compared, too. */
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARITY_COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Ends the program, naming the line, unless the call returns CL_SUCCESS. */
#define CHECK(call) parity_check((call), #call, __FILE__, __LINE__)

/* Ends the program, naming the line, unless the condition holds. */
#define EXPECT(condition) parity_expect((condition), #condition, __FILE__, __LINE__)

/* Prints `entry(case) = CODE_NAME`. */
#define SHOW(name, call) printf("%s = %s\n", name, parity_error_name(call))

/* The same for a call that creates something and stores its code in a variable named status. */
#define SHOW_NEW(name, create)                                                                                         \
    do {                                                                                                               \
        cl_int status = parity_untouched;                                                                              \
        const void *created = (create);                                                                                \
        printf("%s = %s, %s\n", name, parity_error_name(status), created ? "something" : "nothing");                   \
    } while (0)

enum { parity_untouched = 12345 };

/* The first device of the first platform, with a context and a queue. */
struct parity {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
};

void parity_check(cl_int status, const char *call, const char *file, int line);
void parity_expect(bool holds, const char *condition, const char *file, int line);
const char *parity_error_name(cl_int status);

void parity_open(struct parity *p, cl_command_queue_properties properties);
void parity_close(struct parity *p);

/* Returns the platform's version: 120 for OpenCL 1.2. */
int parity_version(const struct parity *p);

/* Whether the driver answers as PoCL 3.1 does, whose answers VOCL gives where the specification leaves them open: newer
 * ones refuse reads and writes of 0 bytes, and accept priorities of queues. */
bool parity_answers_as_before(const struct parity *p);

/* Whether a case is tried: VOCL_TEST_OMIT names those that a driver natively does not survive or gets wrong, separated
 * by spaces. The test of the driver has the list, with the reasons (tests/drivers/intel.omit). */
bool parity_tries(const char *what);

/* Returns the version of an extension that the device reports; 0: it has none, or the driver is too old to report
 * versions. */
cl_version parity_extension(cl_device_id device, const char *name);
/* Whether the queue's driver has command buffers with the headers' functions: cl_khr_command_buffer before 0.9.5, or
 * since. */
bool parity_records(cl_command_queue queue);

cl_command_queue parity_queue(const struct parity *p, cl_command_queue_properties properties);
cl_program parity_program(const struct parity *p, const char *source, const char *options);
cl_kernel parity_kernel(cl_program program, const char *name);
cl_mem parity_buffer(const struct parity *p, cl_mem_flags flags, size_t size, void *host);

/* Sets arguments 0 to count - 1, each from a pair of size_t size and pointer to the value. */
void parity_args(cl_kernel kernel, cl_uint count, ...);

/* Enqueues, and waits for completion. */
void parity_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *global,
                   const size_t *local);
void parity_read(cl_command_queue queue, cl_mem buffer, size_t offset, size_t size, void *data);
void parity_write(cl_command_queue queue, cl_mem buffer, size_t offset, size_t size, const void *data);

/* Which part of an answer is printed: the part that is the same in every run. */
enum parity_shown { PARITY_NUMBERS, PARITY_TEXT, PARITY_HANDLES, PARITY_SIZE, PARITY_CODES };

struct parity_query {
    const char *name;
    cl_uint param;
    enum parity_shown shown;
};

#define PARITY_QUERY(param, shown)                                                                                     \
    {                                                                                                                  \
#param, param, shown                                                                                           \
    }

/* Calls a clGet*Info for the objects in question. */
typedef cl_int parity_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret);

/* Asks each question with the right size, a larger and a smaller one, without a value and without a size. */
void parity_queries(parity_get *get, void *const *objects, const struct parity_query *queries, size_t count);

/* Returns the reference count of an object, from its clGet*Info. */
cl_uint parity_references_of_event(cl_event event);
cl_uint parity_references_of_memory(cl_mem memory);

/* Returns how often the object is mapped. Natively a map counts until a little after its unmapping is complete, so this
 * waits up to a second for the expected count. */
cl_uint parity_map_count(cl_mem memory, cl_uint expected);

/* Returns the execution status of an event: CL_COMPLETE to CL_QUEUED, or a negative error. */
cl_int parity_event_status(cl_event event);
const char *parity_status_name(cl_int status);

/* Returns a user event (gate), behind which commands wait; the second function starts a thread that completes it while
 * this thread waits. */
cl_event parity_gate(const struct parity *p);
pthread_t parity_gate_open_later(cl_event gate);

/* Called where the program has most of its objects, and perhaps commands under way. Here tests/session/verbs moves the
 * session, suspends it and so on: with VOCL_TEST_BARRIER=FOLDER, the first call (with VOCL_TEST_PLACE=N, the N-th)
 * writes the PID to FOLDER/reached and returns when FOLDER/go exists. Otherwise it does nothing. */
void parity_rich(void);

/* Whether the largest sizes are left out (tests/environment.sh); large data still take several pieces. */
bool parity_modest(void);

/* Runs the program again with that argument, and prints how that run ended. */
void parity_end_print(const char *argument);

/* Returns pseudo-random numbers, the same in every run. */
uint32_t parity_random(uint32_t *state);
void parity_random_floats(float *data, size_t count, uint32_t seed);
void parity_random_bytes(void *data, size_t size, uint32_t seed);

/* Returns memory that ends at an unmapped page, so that accesses beyond its end are caught. */
unsigned char *parity_memory_new(size_t length, int fill);
void parity_memory_free(unsigned char *memory, size_t length);

bool parity_all_are(const unsigned char *bytes, size_t length, unsigned char wanted);

/* Returns a hash of the bytes. */
uint64_t parity_hash(const void *data, size_t size);
void parity_hash_print(const char *name, const void *data, size_t size);

/* Ends the program if a result is off by more than tolerance, which is relative for values over 1. */
void parity_compare(const char *name, const float *result, const float *wanted, size_t count, float tolerance);

#endif
