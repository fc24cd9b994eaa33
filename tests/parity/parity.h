/*
 * Shared by the parity programs: plain OpenCL programs which run natively and through VOCL, and have to print and to
 * return the same both times. So nothing that varies is printed: no pointers, no times, no names of platforms.
 */
#ifndef PARITY_H
#define PARITY_H

/* The old entry points are part of what is compared. */
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

/* Ends the program, naming the line, unless the call gave CL_SUCCESS. */
#define CHECK(call) parity_check((call), #call, __FILE__, __LINE__)

/* Ends the program, naming the line, unless the condition holds. */
#define EXPECT(condition) parity_expect((condition), #condition, __FILE__, __LINE__)

/* Prints `entry(case) = CODE_NAME`. */
#define SHOW(name, call) printf("%s = %s\n", name, parity_error_name(call))

/* The same of a call that creates something and tells its code in a variable named status. */
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

/* Of the platform: 120 for OpenCL 1.2. */
int parity_version(const struct parity *p);

/* Whether its driver answers as PoCL 3.1 does, whose answers VOCL gives where the specification leaves it open: newer
 * ones refuse reads and writes of nothing, and take priorities of queues. */
bool parity_answers_as_before(const struct parity *p);

/* Which version the device says that it has; 0: none, or of an old driver, which says nothing. */
cl_version parity_extension(cl_device_id device, const char *name);
/* Whether the queue's driver records commands as the headers have it: with cl_khr_command_buffer of before 0.9.5, or
 * after. */
bool parity_records(cl_command_queue queue);

cl_command_queue parity_queue(const struct parity *p, cl_command_queue_properties properties);
cl_program parity_program(const struct parity *p, const char *source, const char *options);
cl_kernel parity_kernel(cl_program program, const char *name);
cl_mem parity_buffer(const struct parity *p, cl_mem_flags flags, size_t size, void *host);

/* Sets arguments 0 to count - 1, each from a pair of size_t size and pointer to the value. */
void parity_args(cl_kernel kernel, cl_uint count, ...);

/* Enqueue and wait for the whole of it. */
void parity_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *global,
                   const size_t *local);
void parity_read(cl_command_queue queue, cl_mem buffer, size_t offset, size_t size, void *data);
void parity_write(cl_command_queue queue, cl_mem buffer, size_t offset, size_t size, const void *data);

/* How much of an answer is printed: what is not the same in every run is left out. */
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

/* Some clGet*Info, with what the answer is about in objects. */
typedef cl_int parity_get(void *const *objects, cl_uint param, size_t size, void *value, size_t *size_ret);

/* Asks each question with the right size, a larger and a smaller one, without a value and without a size. */
void parity_queries(parity_get *get, void *const *objects, const struct parity_query *queries, size_t count);

/* The reference count of each kind of object, from its clGet*Info. */
cl_uint parity_references_of_event(cl_event event);
cl_uint parity_references_of_memory(cl_mem memory);

/* How often the object is mapped. Natively an unmapping counts until a little after it is over: what is expected is
 * given a second to become so. */
cl_uint parity_map_count(cl_mem memory, cl_uint expected);

/* Execution status of an event: CL_COMPLETE to CL_QUEUED, or a negative error. */
cl_int parity_event_status(cl_event event);
const char *parity_status_name(cl_int status);

/* A user event, for commands to wait behind; and one that another thread sets when this one is in its wait. */
cl_event parity_gate(const struct parity *p);
pthread_t parity_gate_open_later(cl_event gate);

/* The program has most of its objects, and perhaps commands under way. Here tests/session/verbs moves it, suspends it
 * and so on: with VOCL_TEST_BARRIER=FOLDER the first call writes the PID to FOLDER/reached and returns when there is
 * FOLDER/go. With VOCL_TEST_PLACE=N that is the N-th call. Otherwise it does nothing. */
void parity_rich(void);

/* The largest sizes are left out, as tests/environment.sh says: what is large still takes several pieces. */
bool parity_modest(void);

/* Runs the program again with that argument, and prints how it ended. */
void parity_end_print(const char *argument);

/* The same numbers in every run. */
uint32_t parity_random(uint32_t *state);
void parity_random_floats(float *data, size_t count, uint32_t seed);
void parity_random_bytes(void *data, size_t size, uint32_t seed);

/* Memory behind which a page is missing, so that whoever reaches beyond its end is seen. */
unsigned char *parity_memory_new(size_t length, int fill);
void parity_memory_free(unsigned char *memory, size_t length);

bool parity_all_are(const unsigned char *bytes, size_t length, unsigned char wanted);

/* A hash of the bytes. */
uint64_t parity_hash(const void *data, size_t size);
void parity_hash_print(const char *name, const void *data, size_t size);

/* Ends the program where a result is further off than tolerance, taken as relative for values over 1. */
void parity_compare(const char *name, const float *result, const float *wanted, size_t count, float tolerance);

#endif
