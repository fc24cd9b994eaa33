/* A function for each CALL of wire/commands.def: a round trip to a node. */
#include <errno.h>

#include "client/core/stream.h"

#define CALL(name, number)                                                                                             \
    void call_send_##name(struct node *node, struct wire_##name *m, struct call *call)                                 \
    {                                                                                                                  \
        struct wire_buffer *out = call_begin(node, number, call);                                                      \
                                                                                                                       \
        m->call = call->id;                                                                                            \
        wire_put_##name(out, m);                                                                                       \
        call_send(call);                                                                                               \
    }                                                                                                                  \
                                                                                                                       \
    int call_wait_##name(struct call *call, struct wire_##name##_reply *reply)                                         \
    {                                                                                                                  \
        int error = call_wait(call);                                                                                   \
                                                                                                                       \
        if (error || wire_get_##name##_reply(&call->fields, reply))                                                    \
            return error;                                                                                              \
        call_free(call);                                                                                               \
        return -EBADMSG;                                                                                               \
    }                                                                                                                  \
                                                                                                                       \
    int call_##name(struct node *node, struct wire_##name *m, struct wire_##name##_reply *reply, struct call *call)    \
    {                                                                                                                  \
        call_send_##name(node, m, call);                                                                               \
        return call_wait_##name(call, reply);                                                                          \
    }
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
