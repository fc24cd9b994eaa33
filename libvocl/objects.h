/* Objects that are OpenCL's alone: the client only keeps them. */
#ifndef VOCL_LIBVOCL_OBJECTS_H
#define VOCL_LIBVOCL_OBJECTS_H

#include "client/client.h"

struct _cl_platform_id {
    struct object object;
    struct info_table infos;
    bool native;              /* the program sees the native one's name */
    char *_Atomic extensions; /* the answer, once somebody has asked */
};

struct _cl_sampler {
    struct object object;
    cl_context context;
    cl_bool normalized;
    cl_addressing_mode addressing;
    cl_filter_mode filter;
    cl_sampler_properties *properties;
    size_t properties_size;
};

struct argument_description {
    uint32_t size, other_size, address, access, qualifier;
    uint32_t what; /* enum wire_argument, 0 if not known */
    bool known, image;
    char *type_name, *name;
};

#define MOST_SPECIAL 128 /* bytes of a specialization constant */

struct kernel_description {
    char *name, *attributes;
    uint64_t fixed_group[3]; /* reqd_work_group_size, or zeroes */
    uint32_t argument_count;
    struct argument_description *arguments;
    struct answer *answers; /* info.c; the same for all kernels of this name */
};

/* What was done with a program, with what: enough to do it again. */
struct program_step {
    struct program_step *next;
    uint32_t number; /* so many were before it */
    enum { STEP_NONE, STEP_BUILD, STEP_COMPILE, STEP_LINK } what;
    cl_uint device_count;
    cl_device_id *devices;
    char *options;            /* or NULL */
    struct wire_buffer files; /* what the source includes, as it was then */
    cl_uint input_count;      /* headers of a compile, or what was linked; used */
    cl_program *inputs;
    uint32_t *input_steps; /* how many steps each had seen */
    char *names;           /* of headers */
    size_t names_length;
    cl_int error; /* how it ended */
};

/* The value of a specialization constant. */
struct special {
    uint32_t id, number; /* so many steps were before it was set */
    uint32_t size;
    uint8_t value[MOST_SPECIAL];
};

struct _cl_program {
    struct object object;
    cl_context context;
    struct node_set known; /* nodes that have it: perhaps not all of the context's */
    cl_uint device_count;
    cl_device_id *devices;
    char *source;
    struct {
        enum { MADE_BY_LINK, MADE_FROM_SOURCE, MADE_FROM_BINARIES, MADE_FROM_IL, MADE_FROM_NAMES } how;
        uint8_t *bytes;          /* the source, IL, names, or the devices' binaries one after the other */
        size_t length, *lengths; /* lengths: of each device's */
        cl_int *statuses;        /* of each device's, while the program is made, or NULL */
    } made;
    struct mutex lock; /* kernels, built, building, options */
    pthread_cond_t built_now;
    unsigned building; /* builds with a callback that are under way */
    struct kernel_description *kernels;
    uint32_t kernel_count;
    atomic_int live_kernels;
    bool built, tried, binary, il;
    struct program_step *done; /* remake.c: of each device the last one, in their order */
    atomic_uint steps;         /* so many so far */
    bool unkept;               /* one of these could not be kept */
    struct special *specials;  /* specialize.c */
    unsigned special_count;
    atomic_uint specialized; /* so often */
    size_t *binary_sizes;    /* of each device, as the application was told them: it has room for so much; or NULL */
};

struct argument {
    bool set;
    uint32_t what; /* enum wire_argument */
    uint32_t length;
    struct node_set known; /* nodes that have it */
    union {
        uint8_t small[64];
        uint8_t *large;
        uint64_t local;
        uint32_t id;
    };
};

struct _cl_kernel {
    struct object object;
    cl_program program;
    struct node_set known; /* nodes that have it */
    struct kernel_description *description;
    struct lock lock; /* arguments and limits */
    struct argument *arguments;
    cl_kernel made_from; /* of a clone, while it is made: what only the nodes know of it */
    bool sent_when_set;  /* its arguments: only to compare with */
    bool uses_addresses; /* device_address.c */
    void **pointers;     /* to shared virtual memory that it reaches by others (clSetKernelExecInfo()) */
    size_t pointer_count;
};

/* What a recorded command uses: a memory object, and what is done with it; or, use 0, a kernel or a sampler. */
struct recorded_use {
    struct recorded_use *next;
    struct object *object;
    unsigned use;
};

struct _cl_command_buffer_khr {
    struct object object;
    cl_command_queue queue;
    cl_command_buffer_flags_khr flags;
    cl_command_buffer_properties_khr *properties;
    size_t properties_size;
    struct mutex lock; /* the rest */
    cl_command_buffer_state_khr state;
    cl_uint points;
    struct recorded_use *uses;
    struct wire_buffer commands; /* as the node was sent them */
    bool loose;                  /* one of them has an argument that was released before */
    cl_event last;               /* of the last run, where only one is allowed at a time */
};

#endif
