/* See rpc.h. */
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/kubernetes/rpc.h"

grpc_completion_queue *rpc_queue;

static gpr_timespec in_ms(long milliseconds)
{
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(milliseconds, GPR_TIMESPAN));
}

void rpc_open(void)
{
    grpc_init();
    rpc_queue = grpc_completion_queue_create_for_next(NULL);
}

void rpc_turn(long milliseconds)
{
    grpc_event event = grpc_completion_queue_next(rpc_queue, in_ms(milliseconds), NULL);

    while (event.type == GRPC_OP_COMPLETE) {
        struct operation *operation = event.tag;

        operation->done(operation, event.success);
        event = grpc_completion_queue_next(rpc_queue, in_ms(0), NULL);
    }
}

grpc_byte_buffer *rpc_pack(const ProtobufCMessage *message)
{
    const size_t size = protobuf_c_message_get_packed_size(message);
    grpc_slice slice = grpc_slice_malloc(size);
    grpc_byte_buffer *buffer;

    protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

ProtobufCMessage *rpc_unpack(grpc_byte_buffer *buffer, const ProtobufCMessageDescriptor *kind)
{
    grpc_byte_buffer_reader reader;
    ProtobufCMessage *message;
    grpc_slice slice;

    if (!buffer || !grpc_byte_buffer_reader_init(&reader, buffer))
        return NULL;
    slice = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
    message = protobuf_c_message_unpack(kind, NULL, GRPC_SLICE_LENGTH(slice), GRPC_SLICE_START_PTR(slice));
    grpc_slice_unref(slice);
    return message;
}

/* ---- calls ---- */

struct outgoing {
    struct operation operation;
    grpc_channel *channel;
    grpc_call *call;
    grpc_metadata_array initial, trailing;
    grpc_byte_buffer *sent, *received;
    grpc_status_code status;
    grpc_slice details;
    const ProtobufCMessageDescriptor *kind;
    void (*answered)(const ProtobufCMessage *answer, const char *why);
};

static void outgoing_free(struct outgoing *o)
{
    grpc_metadata_array_destroy(&o->initial);
    grpc_metadata_array_destroy(&o->trailing);
    grpc_byte_buffer_destroy(o->sent);
    grpc_byte_buffer_destroy(o->received);
    grpc_slice_unref(o->details);
    grpc_call_unref(o->call);
    grpc_channel_destroy(o->channel);
    free(o);
}

static void outgoing_done(struct operation *operation, bool good)
{
    struct outgoing *o = (struct outgoing *)operation;
    ProtobufCMessage *answer = good && o->status == GRPC_STATUS_OK ? rpc_unpack(o->received, o->kind) : NULL;
    char why[256] = "its answer cannot be read";

    if (!good || o->status != GRPC_STATUS_OK)
        snprintf(why, sizeof(why), "status %d: %.*s", (int)o->status, (int)GRPC_SLICE_LENGTH(o->details),
                 (const char *)GRPC_SLICE_START_PTR(o->details));
    o->answered(answer, answer ? NULL : why);
    if (answer)
        protobuf_c_message_free_unpacked(answer, NULL);
    outgoing_free(o);
}

/* Each call has a channel of its own, which is not slowed down by earlier failures. */
static grpc_channel *open_channel(const char *socket)
{
    grpc_arg arguments[] = {
        {.type = GRPC_ARG_INTEGER, .key = (char[]){GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL}, .value.integer = 1},
        {.type = GRPC_ARG_INTEGER, .key = (char[]){GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH}, .value.integer = RPC_MOST}};
    const grpc_channel_args all = {sizeof(arguments) / sizeof(*arguments), arguments};
    grpc_channel_credentials *none = grpc_insecure_credentials_create();
    grpc_channel *channel;
    char target[256];

    snprintf(target, sizeof(target), "unix:%s", socket);
    channel = grpc_channel_create(target, none, &all);
    grpc_channel_credentials_release(none);
    return channel;
}

void rpc_call(const char *socket, const char *method, const ProtobufCMessage *request,
              const ProtobufCMessageDescriptor *answer, long milliseconds,
              void (*answered)(const ProtobufCMessage *answer, const char *why))
{
    struct outgoing *o = calloc(1, sizeof(*o));
    grpc_op ops[6];

    if (!o) {
        answered(NULL, "out of memory");
        return;
    }
    *o = (struct outgoing){.operation.done = outgoing_done, .kind = answer, .answered = answered};
    o->details = grpc_empty_slice();
    o->channel = open_channel(socket);
    o->call = grpc_channel_create_call(o->channel, NULL, GRPC_PROPAGATE_DEFAULTS, rpc_queue,
                                       grpc_slice_from_copied_string(method), NULL, in_ms(milliseconds), NULL);
    o->sent = rpc_pack(request);
    memset(ops, 0, sizeof(ops));
    ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
    ops[1].op = GRPC_OP_SEND_MESSAGE;
    ops[1].data.send_message.send_message = o->sent;
    ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
    ops[3].data.recv_initial_metadata.recv_initial_metadata = &o->initial;
    ops[4].op = GRPC_OP_RECV_MESSAGE;
    ops[4].data.recv_message.recv_message = &o->received;
    ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
    ops[5].data.recv_status_on_client.trailing_metadata = &o->trailing;
    ops[5].data.recv_status_on_client.status = &o->status;
    ops[5].data.recv_status_on_client.status_details = &o->details;
    if (grpc_call_start_batch(o->call, ops, 6, &o->operation, NULL) == GRPC_CALL_OK)
        return;
    answered(NULL, "the call cannot be made");
    outgoing_free(o);
}
