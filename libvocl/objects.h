/* Objects that only OpenCL has: the client just stores them. */
#ifndef VOCL_LIBVOCL_OBJECTS_H
#define VOCL_LIBVOCL_OBJECTS_H

#include "client/client.h"

struct _cl_platform_id {
    struct object object;
    struct info_table infos;
    bool native;              /* the program sees the native platform's name */
    char *_Atomic extensions; /* the answer, once it has been asked for */
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
    uint64_t fixed_group[3]; /* reqd_work_group_size, or zeros */
    uint32_t argument_count;
    struct argument_description *arguments;
    struct answer *answers; /* info.c; shared by all kernels of this name */
};

/* A step of a program's construction, with everything that is needed to repeat it. */
struct program_step {
    struct program_step *next;
    uint32_t number; /* count of steps before it */
    enum { STEP_NONE, STEP_BUILD, STEP_COMPILE, STEP_LINK } what;
    cl_uint device_count;
    cl_device_id *devices;
    char *options;            /* or NULL */
    struct wire_buffer files; /* the files that the source included at that time */
    cl_uint input_count;      /* headers of a compile, or inputs of a link; retained */
    cl_program *inputs;
    uint32_t *input_steps; /* how many steps each of them had */
    char *names;           /* of the headers */
    size_t names_length;
    cl_int error; /* its result */
};

/* The value of a specialization constant. */
struct special {
    uint32_t id, number; /* number: count of steps before it was set */
    uint32_t size;
    uint8_t value[MOST_SPECIAL];
};

struct _cl_program {
    struct object object;
    cl_context context;
    struct node_set known; /* nodes that have it: perhaps not all of the context */
    cl_uint device_count;
    cl_device_id *devices;
    char *source;
    struct {
        enum { MADE_BY_LINK, MADE_FROM_SOURCE, MADE_FROM_BINARIES, MADE_FROM_IL, MADE_FROM_NAMES } how;
        uint8_t *bytes;          /* the source, IL, names, or the devices' binaries one after the other */
        size_t length, *lengths; /* lengths: of each device's binary */
        cl_int *statuses;        /* of each device's binary, while the program is created, or NULL */
    } made;
    struct mutex lock; /* of kernels, built, building, options */
    pthread_cond_t built_now;
    unsigned building; /* builds with a callback that are not finished */
    struct kernel_description *kernels;
    uint32_t kernel_count;
    atomic_int live_kernels;
    bool built, tried, binary, il;
    struct program_step *done; /* remake.c: the last step for each device, in their order */
    atomic_uint steps;         /* count of steps so far */
    bool unkept;               /* one of the steps could not be saved */
    struct special *specials;  /* specialize.c */
    unsigned special_count;
    atomic_uint specialized; /* count of constants that were set */
    size_t *binary_sizes;    /* for each device the size that the application has got, and so has room for; or NULL */
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
    cl_kernel made_from; /* while a clone is created, its source: some of its state is known to the nodes only */
    bool sent_when_set;  /* arguments are sent when they are set; the copies here only serve to compare */
    bool uses_addresses; /* device_address.c */
    void **pointers;     /* shared virtual memory that it reaches indirectly (clSetKernelExecInfo()) */
    size_t pointer_count;
};

/* An object that a recorded command uses: a memory object, with the use that is made of it; or, with use 0, a kernel
 * or a sampler. */
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
    struct mutex lock; /* of all members below */
    cl_command_buffer_state_khr state;
    cl_uint points;
    struct recorded_use *uses;
    struct wire_buffer commands; /* as they were sent to the node */
    bool loose;                  /* one of them has an argument that had been released before */
    cl_event last;               /* of the last run, if only one run at a time is allowed */
};

#endif
