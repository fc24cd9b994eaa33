/* Error codes of the calls about command queues for wrong arguments. */
#include "parity.h"

static struct parity p;

static void create_ask(void)
{
    SHOW_NEW("clCreateCommandQueue(NULL context)", clCreateCommandQueue(NULL, p.device, 0, &status));
    SHOW_NEW("clCreateCommandQueue(NULL device)", clCreateCommandQueue(p.context, NULL, 0, &status));
    SHOW_NEW("clCreateCommandQueue(unknown flag)", clCreateCommandQueue(p.context, p.device, 1 << 10, &status));
    SHOW_NEW("clCreateCommandQueue(device queue)",
             clCreateCommandQueue(p.context, p.device, CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                                  &status));
    SHOW_NEW("clCreateCommandQueue(both)", clCreateCommandQueue(p.context, p.device, 3, &status));
    printf("clCreateCommandQueue(no code wanted) = %s\n",
           clCreateCommandQueue(NULL, p.device, 0, NULL) ? "something" : "nothing");
}

/* Without queues on the device, for which PoCL 3.1 ends the program. */
static void properties_ask(void)
{
    static const cl_queue_properties empty[] = {0}, none[] = {CL_QUEUE_PROPERTIES, 0, 0}, unknown[] = {0x7777, 1, 0},
                                     flag[] = {CL_QUEUE_PROPERTIES, 1 << 10, 0}, size[] = {CL_QUEUE_SIZE, 1024, 0},
                                     best[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE_DEFAULT, 0},
                                     twice[] = {CL_QUEUE_PROPERTIES, 1, CL_QUEUE_PROPERTIES, 2, 0},
                                     priority[] = {CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_LOW_KHR, 0},
                                     no_priority[] = {CL_QUEUE_PRIORITY_KHR, 7, 0},
                                     throttle[] = {CL_QUEUE_THROTTLE_KHR, CL_QUEUE_THROTTLE_HIGH_KHR, 0},
                                     hints[] = {CL_QUEUE_PRIORITY_KHR,
                                                CL_QUEUE_PRIORITY_MED_KHR,
                                                CL_QUEUE_PROPERTIES,
                                                CL_QUEUE_PROFILING_ENABLE,
                                                CL_QUEUE_THROTTLE_KHR,
                                                CL_QUEUE_THROTTLE_MED_KHR,
                                                0};
    static const struct {
        const char *name;
        const cl_queue_properties *list;
    } lists[] = {{"empty", empty},
                 {"no flags", none},
                 {"unknown property", unknown},
                 {"unknown flag", flag},
                 {"size of a host queue", size},
                 {"default of a host queue", best},
                 {"flags twice", twice},
                 {"priority", priority},
                 {"no such priority", no_priority},
                 {"throttle", throttle},
                 {"both hints and flags", hints}};
    char name[128];
    if (parity_version(&p) < 200)
        return;
    SHOW_NEW("clCreateCommandQueueWithProperties(NULL context)",
             clCreateCommandQueueWithProperties(NULL, p.device, NULL, &status));
    SHOW_NEW("clCreateCommandQueueWithProperties(NULL device)",
             clCreateCommandQueueWithProperties(p.context, NULL, NULL, &status));
    for (size_t i = 0; i < PARITY_COUNT(lists); i++) {
        snprintf(name, sizeof(name), "clCreateCommandQueueWithProperties(%s)", lists[i].name);
        SHOW_NEW(name, clCreateCommandQueueWithProperties(p.context, p.device, lists[i].list, &status));
    }
}

/* Without clSetCommandQueueProperty of a queue: PoCL 3.1 crashes. */
static void use_ask(void)
{
    cl_command_queue_properties old = 77;
    cl_uint count;
    SHOW("clRetainCommandQueue(NULL)", clRetainCommandQueue(NULL));
    SHOW("clReleaseCommandQueue(NULL)", clReleaseCommandQueue(NULL));
    SHOW("clFlush(NULL)", clFlush(NULL));
    SHOW("clFinish(NULL)", clFinish(NULL));
    SHOW("clGetCommandQueueInfo(NULL)",
         clGetCommandQueueInfo(NULL, CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, NULL));
    SHOW("clGetCommandQueueInfo(no such question)", clGetCommandQueueInfo(p.queue, 0x7777, 0, NULL, NULL));
    SHOW("clGetCommandQueueInfo(too small)", clGetCommandQueueInfo(p.queue, CL_QUEUE_REFERENCE_COUNT, 1, &count, NULL));
    SHOW("clSetCommandQueueProperty(NULL)", clSetCommandQueueProperty(NULL, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, &old));
    if (parity_version(&p) < 210)
        return;
    SHOW("clSetDefaultDeviceCommandQueue(NULL context)", clSetDefaultDeviceCommandQueue(NULL, p.device, p.queue));
    SHOW("clSetDefaultDeviceCommandQueue(NULL device)", clSetDefaultDeviceCommandQueue(p.context, NULL, p.queue));
    SHOW("clSetDefaultDeviceCommandQueue(NULL queue)", clSetDefaultDeviceCommandQueue(p.context, p.device, NULL));
    SHOW("clSetDefaultDeviceCommandQueue(host queue)", clSetDefaultDeviceCommandQueue(p.context, p.device, p.queue));
}

int main(void)
{
    parity_open(&p, 0);
    create_ask();
    properties_ask();
    parity_rich();
    use_ask();
    parity_close(&p);
    return 0;
}
