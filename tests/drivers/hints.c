/* cl_khr_priority_hints and cl_khr_throttle_hints: checks the values, and has no use for them. */
#include "newer.h"

enum { MOST = 16 };

static bool is_hint(cl_queue_properties name)
{
    return name == CL_QUEUE_PRIORITY_KHR || name == CL_QUEUE_THROTTLE_KHR;
}

static cl_command_queue CL_API_CALL create(cl_context context, cl_device_id device, const cl_queue_properties *given,
                                           cl_int *error)
{
    cl_queue_properties list[2 * MOST + 1];
    cl_command_queue queue;
    unsigned count = 0;

    for (const cl_queue_properties *at = given; at && *at && count < 2 * MOST; at += 2) {
        if (is_hint(at[0]) && (at[1] < 1 || at[1] > 4 || at[1] == 3)) {
            if (error)
                *error = CL_INVALID_VALUE;
            return NULL;
        }
        if (!is_hint(at[0])) {
            list[count++] = at[0];
            list[count++] = at[1];
        }
    }
    list[count] = 0;
    queue = real.clCreateCommandQueueWithProperties(context, device, count ? list : NULL, error);
    for (; queue && driver_logs() && given && *given; given += 2)
        fprintf(stderr, "queue property 0x%llx: %llu\n", (unsigned long long)given[0], (unsigned long long)given[1]);
    return queue;
}

void hints_install(struct _cl_icd_dispatch *table)
{
    table->clCreateCommandQueueWithProperties = create;
}
