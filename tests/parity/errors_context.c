/* Error codes of the calls about contexts for wrong arguments. */
#include "parity.h"
#include <CL/cl_gl.h>

static struct parity p;

static void CL_CALLBACK notify(const char *text, const void *data, size_t size, void *user)
{
    (void)text;
    (void)data;
    (void)size;
    (void)user;
}

static void CL_CALLBACK destroyed(cl_context context, void *user)
{
    (void)context;
    (void)user;
}

static void create_ask(void)
{
    cl_device_id none = NULL, mixed[] = {p.device, NULL};
    int user;
    SHOW_NEW("clCreateContext(no devices)", clCreateContext(NULL, 0, &p.device, NULL, NULL, &status));
    SHOW_NEW("clCreateContext(NULL devices)", clCreateContext(NULL, 1, NULL, NULL, NULL, &status));
    SHOW_NEW("clCreateContext(NULL device)", clCreateContext(NULL, 1, &none, NULL, NULL, &status));
    SHOW_NEW("clCreateContext(second device NULL)", clCreateContext(NULL, 2, mixed, NULL, NULL, &status));
    SHOW_NEW("clCreateContext(user data, no function)", clCreateContext(NULL, 1, &p.device, NULL, &user, &status));
    printf("clCreateContext(no code wanted) = %s\n",
           clCreateContext(NULL, 1, &p.device, notify, NULL, NULL) ? "something" : "nothing");
    printf("clCreateContext(no code wanted, no devices) = %s\n",
           clCreateContext(NULL, 0, NULL, NULL, NULL, NULL) ? "something" : "nothing");
}

/* Returns only the code: without such devices PoCL 3.1 gives CL_DEVICE_NOT_FOUND and yet returns a context. */
static cl_int type_try(const cl_context_properties *properties, cl_device_type type)
{
    cl_int status = parity_untouched;
    clCreateContextFromType(properties, type, NULL, NULL, &status);
    return status;
}

static void type_ask(void)
{
    cl_context_properties platform[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)p.platform, 0};
    int user;
    SHOW("clCreateContextFromType(no type)", type_try(platform, 0));
    SHOW("clCreateContextFromType(unknown type)", type_try(platform, 1 << 20));
    SHOW("clCreateContextFromType(GPU)", type_try(platform, CL_DEVICE_TYPE_GPU));
    SHOW("clCreateContextFromType(accelerator)", type_try(platform, CL_DEVICE_TYPE_ACCELERATOR));
    SHOW_NEW("clCreateContextFromType(user data, no function)",
             clCreateContextFromType(platform, CL_DEVICE_TYPE_ALL, NULL, &user, &status));
    SHOW_NEW("clCreateContextFromType(no properties)",
             clCreateContextFromType(NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, &status));
}

static void properties_ask(void)
{
    cl_context_properties platform = (cl_context_properties)p.platform;
    cl_context_properties empty[] = {0}, none[] = {CL_CONTEXT_PLATFORM, 0, 0}, unknown[] = {0x7777, 1, 0},
                          twice[] = {CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_PLATFORM, platform, 0},
                          sync[] = {CL_CONTEXT_PLATFORM, platform, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE, 0},
                          later[] = {CL_CONTEXT_PLATFORM, platform, 0x7777, 1, 0},
                          gl[] = {CL_CONTEXT_PLATFORM, platform, CL_GL_CONTEXT_KHR, 0, 0};
    const struct {
        const char *name;
        cl_context_properties *list;
    } lists[] = {{"empty", empty},          {"NULL platform", none}, {"unknown property", unknown},
                 {"platform twice", twice}, {"user sync", sync},     {"unknown property after the platform", later},
                 {"GL context", gl}};
    char name[128];
    for (size_t i = 0; i < PARITY_COUNT(lists); i++) {
        snprintf(name, sizeof(name), "clCreateContext(%s)", lists[i].name);
        SHOW_NEW(name, clCreateContext(lists[i].list, 1, &p.device, NULL, NULL, &status));
        snprintf(name, sizeof(name), "clCreateContextFromType(%s)", lists[i].name);
        SHOW_NEW(name, clCreateContextFromType(lists[i].list, CL_DEVICE_TYPE_ALL, NULL, NULL, &status));
    }
}

static void use_ask(void)
{
    cl_uint count;
    SHOW("clRetainContext(NULL)", clRetainContext(NULL));
    SHOW("clReleaseContext(NULL)", clReleaseContext(NULL));
    SHOW("clGetContextInfo(NULL)", clGetContextInfo(NULL, CL_CONTEXT_NUM_DEVICES, sizeof(count), &count, NULL));
    SHOW("clGetContextInfo(no such question)", clGetContextInfo(p.context, 0x7777, 0, NULL, NULL));
    SHOW("clGetContextInfo(too small)", clGetContextInfo(p.context, CL_CONTEXT_NUM_DEVICES, 1, &count, NULL));
    if (parity_version(&p) >= 300) {
        SHOW("clSetContextDestructorCallback(NULL)", clSetContextDestructorCallback(NULL, destroyed, NULL));
        SHOW("clSetContextDestructorCallback(no function)", clSetContextDestructorCallback(p.context, NULL, NULL));
    }
    SHOW("clGetGLContextInfoKHR(NULL)",
         clGetGLContextInfoKHR(NULL, CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR, 0, NULL, NULL));
}

int main(void)
{
    parity_open(&p, 0);
    create_ask();
    type_ask();
    properties_ask();
    parity_rich();
    use_ask();
    parity_close(&p);
    return 0;
}
