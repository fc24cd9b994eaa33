/* Which of the session's devices the application sees, and in which order (VOCL_DEVICES). */
#define _GNU_SOURCE
#include <fnmatch.h>

#include "base/log.h"
#include "base/selection.h"
#include "base/settings.h"
#include "libvocl/internal.h"

static cl_device_type type_of(const char *name)
{
    if (!strcmp(name, "cpu"))
        return CL_DEVICE_TYPE_CPU;
    if (!strcmp(name, "gpu"))
        return CL_DEVICE_TYPE_GPU;
    return strcmp(name, "custom") ? CL_DEVICE_TYPE_ACCELERATOR : CL_DEVICE_TYPE_CUSTOM;
}

static bool is_chosen(cl_device_id device, long index, const struct selection *item)
{
    const char *host = transport_peer_host(session_transport(device->node->session), device->node->peer);
    cl_device_type type = 0;
    const char *name = info_text(&device->infos, CL_DEVICE_NAME);

    device_number(device, CL_DEVICE_TYPE, &type, sizeof(type));
    if (item->first >= 0 && (index < item->first || index > item->last))
        return false;
    if (*item->type && !(type & type_of(item->type)))
        return false;
    if (*item->node && fnmatch(item->node, host, FNM_CASEFOLD))
        return false;
    return !*item->name || (name && !fnmatch(item->name, name, FNM_CASEFOLD));
}

static bool is_among(cl_device_id device, const cl_device_id *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (list[i] == device)
            return true;
    }
    return false;
}

/* Nothing was chosen: logs the devices that there are. */
static void tell_devices(const cl_device_id *devices, unsigned count)
{
    vocl_log(LOG_ERROR, "VOCL_DEVICES=%s matches none of the available devices:", settings_string(SETTING_DEVICES));
    for (unsigned i = 0; i < count; i++) {
        const char *host = transport_peer_host(session_transport(devices[i]->node->session), devices[i]->node->peer);
        const char *name = info_text(&devices[i]->infos, CL_DEVICE_NAME);

        vocl_log(LOG_ERROR, "  %u: %s, on %s", i, name ? name : "?", host);
    }
}

unsigned choose_devices(cl_device_id *devices, unsigned count)
{
    const char *at = settings_string(SETTING_DEVICES);
    cl_device_id *chosen = calloc(count + 1, sizeof(*chosen));
    struct selection item;
    unsigned found = 0;
    char why[700];
    int more = 1;

    if (!*at || !chosen) {
        free(chosen);
        return count;
    }
    while ((more = selection_next(&at, &item, why, sizeof(why))) > 0) {
        unsigned before = found;

        for (unsigned i = 0; i < count; i++) {
            if (is_chosen(devices[i], i, &item) && !is_among(devices[i], chosen, found))
                chosen[found++] = devices[i];
        }
        if (found == before)
            vocl_log(LOG_WARN, "VOCL_DEVICES: an item matches no device, or only devices that earlier items match");
    }
    if (more == 0 && !found)
        tell_devices(devices, count);
    if (more < 0) { /* no devices are better than other devices than were meant */
        vocl_log(LOG_ERROR, "%s", why);
        found = 0;
    }
    memcpy(devices, chosen, found * sizeof(*chosen));
    free(chosen);
    return found;
}
