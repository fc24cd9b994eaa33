/* Which of native OpenCL's answers may be sent to the program: numbers and texts, which mean the same in another
 * process. Pointers and handles do not: they would crash the program, and tell it addresses of the worker. A query that
 * is not listed here may have such an answer, so it is refused. */
#include "executor/internal.h"

/* The values of the names that Debian's headers lack are from Khronos's registry (cl.xml). */
static const struct {
    cl_uint first, last;
} plain[] = {
    /* devices, but for CL_DEVICE_PLATFORM, CL_DEVICE_PARENT_DEVICE and CL_DEVICE_REFERENCE_COUNT */
    {CL_DEVICE_TYPE, CL_DEVICE_EXTENSIONS},
    {CL_DEVICE_DOUBLE_FP_CONFIG, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE},
    {CL_DEVICE_PARTITION_MAX_SUB_DEVICES, CL_DEVICE_PARTITION_TYPE},
    {CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, 0x1076}, /* to CL_DEVICE_KERNEL_CLOCK_CAPABILITIES_KHR */
    /* memory objects: not their host pointers, contexts and other memory objects */
    {CL_MEM_TYPE, CL_MEM_SIZE},
    {CL_MEM_OFFSET, CL_MEM_OFFSET},
    {CL_IMAGE_FORMAT, CL_IMAGE_ARRAY_SIZE},
    {CL_IMAGE_NUM_MIP_LEVELS, CL_IMAGE_NUM_SAMPLES},
    /* programs: not their contexts, devices and binaries, which are pointers */
    {CL_PROGRAM_NUM_DEVICES, CL_PROGRAM_NUM_DEVICES},
    {CL_PROGRAM_SOURCE, CL_PROGRAM_BINARY_SIZES},
    {CL_PROGRAM_NUM_KERNELS, CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT},
    {CL_PROGRAM_BUILD_STATUS, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE},
    /* kernels: not their contexts and programs */
    {CL_KERNEL_FUNCTION_NAME, CL_KERNEL_NUM_ARGS},
    {CL_KERNEL_ATTRIBUTES, CL_KERNEL_ARG_NAME},
    {CL_KERNEL_WORK_GROUP_SIZE, CL_KERNEL_GLOBAL_WORK_SIZE},
    {CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, CL_KERNEL_COMPILE_NUM_SUB_GROUPS},
    {CL_EVENT_COMMAND_EXECUTION_STATUS, CL_EVENT_COMMAND_EXECUTION_STATUS},
    {CL_COMMAND_BUFFER_STATE_KHR, CL_COMMAND_BUFFER_STATE_KHR},
    /* devices, by extensions: command buffers, without CL_DEVICE_COMMAND_BUFFER_SYNC_DEVICES_KHR (0x12AC); mutable
     * command buffers; capabilities of SPIR-V, whose sets and extensions are texts (below) */
    {0x12A9, 0x12AB},
    {0x12B0, 0x12B0},
    {CL_DEVICE_SPIRV_CAPABILITIES_KHR, CL_DEVICE_SPIRV_CAPABILITIES_KHR},
    {0x2031, 0x2031}, /* CL_DEVICE_TERMINATE_CAPABILITY_KHR */
    {0x2033, 0x2035}, /* sub-groups of an NDRange, CL_DEVICE_MAX_NAMED_BARRIER_COUNT_KHR */
    {0x204C, 0x204F}, /* types of semaphores and of handles */
    {0x2052, 0x2052}, /* CL_DEVICE_EXTERNAL_MEMORY_IMPORT_ASSUME_LINEAR_IMAGES_HANDLE_TYPES_KHR */
    /* vendors: NVIDIA; AMD; device fission without the parent device; Intel, Qualcomm, Arm; SPIR; PCI; Intel's unified
     * shared memory; Arm; C++ for OpenCL; Intel */
    {0x4000, 0x4010},
    {0x4030, 0x404C},
    {0x4055, 0x4056},
    {0x4058, 0x4058},
    {0x407E, 0x407E},
    {0x40A0, 0x40A1},
    {0x40B6, 0x40B6},
    {0x40BF, 0x40BF},
    {0x40E0, 0x40E0},
    {0x4104, 0x4105},
    {0x4108, 0x410D},
    {0x410F, 0x410F},
    {0x417E, 0x417F},
    {0x418B, 0x418B},
    {0x4190, 0x4194},
    {0x41E0, 0x41E0},
    {0x41E4, 0x41E4},
    {0x41E9, 0x41EB},
    {0x41EE, 0x41EE},
    {0x4230, 0x4233}, /* to CL_DEVICE_HALF_FP_ATOMIC_CAPABILITIES_EXT */
    {0x4250, 0x4256},
};

bool query_is_plain(cl_uint param)
{
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
        if (param >= plain[i].first && param <= plain[i].last)
            return true;
    }
    return false;
}

bool query_is_texts(cl_uint param)
{
    return param == CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR || param == CL_DEVICE_SPIRV_EXTENSIONS_KHR;
}
