/* Devices that do not fit: see unfit.h. */
#include "proxy/launch/unfit.h"

static bool has(const json_t *of_node, json_int_t device)
{
    for (size_t i = 0; i < json_array_size(of_node); i++) {
        if (json_integer_value(json_array_get(of_node, i)) == device)
            return true;
    }
    return false;
}

/* A worker numbers its devices as its node does. */
static unsigned place_of(const json_t *devices, json_int_t device)
{
    unsigned place = 1;

    for (size_t i = 0; i < json_array_size(devices); i++)
        place += json_integer_value(json_array_get(devices, i)) < device;
    return place;
}

bool unfit_add(json_t **list, const char *node, const json_t *devices, unsigned device)
{
    json_t *of_node;
    bool added = false;

    if (!*list)
        *list = json_object();
    of_node = json_object_get(*list, node);
    if (!of_node) {
        of_node = json_array();
        json_object_set_new(*list, node, of_node);
    }
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_int_t one = json_integer_value(json_array_get(devices, i));

        if ((!device || place_of(devices, one) == device) && !has(of_node, one))
            added |= !json_array_append_new(of_node, json_integer(one));
    }
    return added;
}
