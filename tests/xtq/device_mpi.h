/* Shared by the files of tests/xtq/device_mpi: memory of each kind, its contents, and the ranks next to this one. */
#ifndef DEVICE_MPI_H
#define DEVICE_MPI_H

#include <CL/cl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum kind { HOST, BUFFER, PART, SVM, KINDS };
enum { LONGEST = 1 << 20, TYPES = 12 };

extern const char *const names[KINDS];
extern int rank, size, wrong;
extern cl_context context;
extern cl_command_queue commands;
extern MPI_Comm comm;
extern unsigned char scratch[2 * LONGEST], other[2 * LONGEST];

struct memory {
    enum kind kind;
    size_t bytes;
    cl_mem buffer, whole;
    unsigned char *svm;
    void *address; /* for MPI */
};

/* ---- device_mpi_memory.c ---- */

void expect(const char *what, long is, long should);
#define MUST(call) expect(#call, (call), 0)

/* Returns the class of an error code, or an error if the code is success. */
int error_class(int code);
#define ERROR(class_, call) expect(#call, error_class(call), class_)

struct memory memory_make(enum kind kind, size_t bytes);
void memory_free(struct memory *m);
void put(struct memory *m, const void *data, size_t bytes);
void get(const struct memory *m, void *data, size_t bytes);

/* Fills data with bytes that depend on the rank `who` and on seed. */
void pattern(unsigned char *data, size_t bytes, int who, int seed);
void fill(struct memory *m, int who, int seed);

/* Expects the sender's pattern in the first bytes, and the old pattern behind them. */
void check(const char *what, const struct memory *m, size_t bytes, int who, int seed, int old);

/* begin() starts MPI and opens a device; end() closes both, and returns the program's exit status. */
void begin(int *count, char ***words);
int end(void);

/* The next and the previous rank in the ring. */
int after(void);
int before(void);

/* ---- the tests ---- */

void status_is(const MPI_Status *status, int from, int tag, long bytes);
void messages(MPI_Comm ring, enum kind from, enum kind to, size_t bytes, int ways);
void replaced(enum kind kind);
void many(int way);
void persistent(enum kind from, enum kind to);
void in_pieces(void);

void typed(enum kind from, enum kind to, int which, int count, int short_by);
void absolute(enum kind kind);

void broadcast(int shift, size_t bytes, bool later);
void reduction(int shift, int count);

void window_active(enum kind kind, enum kind origin_kind, int count);
void window_passive(enum kind kind, enum kind origin_kind);

void errors(enum kind kind);

#endif
