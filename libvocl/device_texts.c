/* Queries whose answers are pointers to texts (cl_khr_spirv_queries). The node sends the texts, and the pointers are
 * the library's own. */
#include "libvocl/internal.h"

#include "base/cl_ext.h"

struct texts {
    size_t count;
    const char *texts[]; /* behind them, their bytes */
};

/* bytes: the node's answer: terminated texts, one after the other. */
static struct texts *texts_new(char *bytes, size_t length)
{
    struct texts *texts;
    size_t count = 0;
    char *to;

    if (length)
        bytes[length - 1] = '\0';
    for (size_t i = 0; i < length; i++)
        count += !bytes[i];
    texts = malloc(sizeof(*texts) + count * sizeof(*texts->texts) + length);
    if (!texts)
        return NULL;
    texts->count = 0;
    to = memcpy(&texts->texts[count], bytes, length);
    for (size_t at = 0; at < length; at += strlen(to + at) + 1)
        texts->texts[texts->count++] = to + at;
    return texts;
}

cl_int device_texts(cl_device_id device, cl_device_info param, size_t size, void *value, size_t *size_ret)
{
    _Atomic(struct texts *) *place = &device->texts[param == CL_DEVICE_SPIRV_EXTENSIONS_KHR];
    struct texts *texts = atomic_load(place), *other = NULL;

    if (!texts) {
        size_t length;
        void *bytes;
        cl_int error = cl_error(
            info_take_once(device->node, WIRE_INFO_DEVICE, &device->object, 0, param, NULL, 0, &bytes, &length));

        if (!error && !(texts = texts_new(bytes, length)))
            error = CL_OUT_OF_HOST_MEMORY;
        free(bytes);
        if (error)
            return error;
        if (!atomic_compare_exchange_strong(place, &other, texts)) { /* another thread's */
            free(texts);
            texts = other;
        }
    }
    return info_return(texts->texts, texts->count * sizeof(*texts->texts), size, value, size_ret);
}

void device_texts_free(cl_device_id device)
{
    for (unsigned i = 0; i < sizeof(device->texts) / sizeof(*device->texts); i++)
        free(atomic_load(&device->texts[i]));
}
