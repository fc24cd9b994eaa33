/* gRPC's side that answers: see rpc.h. Each request has at most three operations under way, and lives until all are
 * complete. */
#include <errno.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "proxy/kubernetes/kubernetes.h"
#include "proxy/kubernetes/rpc.h"

#define MOST_REQUESTS 64 /* at a time; the kubelet makes few */

struct rpc_request {
    LIST_ENTRY(rpc_request) in;
    struct operation arrives, read, closes, sends;
    unsigned pending; /* operations that are not complete */
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
    const struct rpc_method *method;
    grpc_byte_buffer *received, *sent;
    int cancelled;
    bool taken;    /* its method has been called */
    bool answered; /* it needs no more */
    bool begun, sending;
    bool ends; /* after the message that is being sent */
};

static LIST_HEAD(, rpc_request) requests = LIST_HEAD_INITIALIZER(requests);
static unsigned request_count;
static const struct rpc_method *served;
static grpc_server *server;
static bool waits; /* for the next call */

static void next_request(void);

static void release(struct rpc_request *r)
{
    if (--r->pending)
        return;
    LIST_REMOVE(r, in);
    request_count--;
    grpc_byte_buffer_destroy(r->received);
    grpc_byte_buffer_destroy(r->sent);
    grpc_call_details_destroy(&r->details);
    grpc_metadata_array_destroy(&r->metadata);
    if (r->call)
        grpc_call_unref(r->call);
    free(r);
    next_request();
}

/* Starts operations whose end is reported to `operation`. */
static void begin(struct rpc_request *r, struct operation *operation, const grpc_op *ops, size_t count)
{
    r->pending++;
    if (grpc_call_start_batch(r->call, ops, count, operation, NULL) != GRPC_CALL_OK)
        operation->done(operation, false);
}

#define REQUEST_OF(operation, member) ((struct rpc_request *)((char *)(operation)-offsetof(struct rpc_request, member)))

/* ---- answers ---- */

static void on_sent(struct operation *operation, bool good)
{
    struct rpc_request *r = REQUEST_OF(operation, sends);

    (void)good;
    r->sending = false;
    grpc_byte_buffer_destroy(r->sent);
    r->sent = NULL;
    if (r->ends) {
        r->ends = r->answered = false;
        rpc_answer(r, NULL);
    }
    release(r);
}

/* message NULL: only the status. */
static void finish(struct rpc_request *r, const ProtobufCMessage *message, grpc_status_code code, const char *why)
{
    grpc_slice details = grpc_slice_from_copied_string(why);
    grpc_op ops[3];
    size_t count = 0;

    if (r->answered || r->sending) {
        r->ends |= !r->answered;
        r->answered = true;
        grpc_slice_unref(details);
        return;
    }
    r->answered = true;
    memset(ops, 0, sizeof(ops));
    if (!r->begun)
        ops[count++].op = GRPC_OP_SEND_INITIAL_METADATA;
    if (message) {
        r->sent = rpc_pack(message);
        ops[count].op = GRPC_OP_SEND_MESSAGE;
        ops[count++].data.send_message.send_message = r->sent;
    }
    ops[count].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    ops[count].data.send_status_from_server.status = code;
    ops[count++].data.send_status_from_server.status_details = &details;
    begin(r, &r->sends, ops, count);
    grpc_slice_unref(details);
}

void rpc_answer(struct rpc_request *r, const ProtobufCMessage *message)
{
    finish(r, message, GRPC_STATUS_OK, "");
}

void rpc_refuse(struct rpc_request *r, grpc_status_code code, const char *why)
{
    finish(r, NULL, code, why);
}

bool rpc_stream(struct rpc_request *r, const ProtobufCMessage *message)
{
    grpc_op ops[2];
    size_t count = 0;

    if (r->sending || r->answered)
        return false;
    memset(ops, 0, sizeof(ops));
    if (!r->begun)
        ops[count++].op = GRPC_OP_SEND_INITIAL_METADATA;
    r->begun = r->sending = true;
    r->sent = rpc_pack(message);
    ops[count].op = GRPC_OP_SEND_MESSAGE;
    ops[count++].data.send_message.send_message = r->sent;
    begin(r, &r->sends, ops, count);
    return true;
}

/* ---- requests ---- */

static void on_closed(struct operation *operation, bool good)
{
    struct rpc_request *r = REQUEST_OF(operation, closes);

    (void)good;
    if (r->taken && !r->answered && r->method->gone)
        r->method->gone(r);
    r->answered = true;
    r->ends = false;
    release(r);
}

static void on_read(struct operation *operation, bool good)
{
    struct rpc_request *r = REQUEST_OF(operation, read);
    ProtobufCMessage *message = good ? rpc_unpack(r->received, r->method->request) : NULL;

    if (message && !r->answered) {
        r->taken = true;
        r->method->take(r, message);
    } else if (!r->answered) {
        rpc_refuse(r, GRPC_STATUS_INVALID_ARGUMENT, "this is not such a message");
    }
    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
    release(r);
}

static bool is_method(const grpc_slice *slice, const char *name)
{
    return GRPC_SLICE_LENGTH(*slice) == strlen(name) && !memcmp(GRPC_SLICE_START_PTR(*slice), name, strlen(name));
}

static void on_arrived(struct operation *operation, bool good)
{
    struct rpc_request *r = REQUEST_OF(operation, arrives);
    grpc_op op;

    waits = false;
    if (good) {
        memset(&op, 0, sizeof(op));
        op.op = GRPC_OP_RECV_CLOSE_ON_SERVER;
        op.data.recv_close_on_server.cancelled = &r->cancelled;
        begin(r, &r->closes, &op, 1);
        for (r->method = served; r->method->name && !is_method(&r->details.method, r->method->name); r->method++)
            ;
        if (r->method->name) {
            memset(&op, 0, sizeof(op));
            op.op = GRPC_OP_RECV_MESSAGE;
            op.data.recv_message.recv_message = &r->received;
            begin(r, &r->read, &op, 1);
        } else {
            rpc_refuse(r, GRPC_STATUS_UNIMPLEMENTED, "there is no such method");
        }
    }
    release(r);
    next_request();
}

/* Takes another call, if there are not too many. */
static void next_request(void)
{
    struct rpc_request *r;

    if (!server || waits || request_count >= MOST_REQUESTS)
        return;
    r = calloc(1, sizeof(*r));
    if (!r)
        return; /* when the next request ends */
    *r = (struct rpc_request){.arrives.done = on_arrived,
                              .read.done = on_read,
                              .closes.done = on_closed,
                              .sends.done = on_sent,
                              .pending = 1};
    grpc_call_details_init(&r->details);
    grpc_metadata_array_init(&r->metadata);
    LIST_INSERT_HEAD(&requests, r, in);
    request_count++;
    waits = true;
    if (grpc_server_request_call(server, &r->call, &r->details, &r->metadata, rpc_queue, rpc_queue, &r->arrives) ==
        GRPC_CALL_OK)
        return;
    say("gRPC takes no more calls");
    exit(1);
}

int rpc_serve(const char *socket, const struct rpc_method *methods)
{
    grpc_server_credentials *none = grpc_insecure_server_credentials_create();
    char address[256];
    int port;

    snprintf(address, sizeof(address), "unix:%s", socket);
    server = grpc_server_create(NULL, NULL);
    grpc_server_register_completion_queue(server, rpc_queue, NULL);
    port = grpc_server_add_http2_port(server, address, none);
    grpc_server_credentials_release(none);
    served = methods;
    grpc_server_start(server);
    if (!port) {
        rpc_stop();
        return -EADDRNOTAVAIL;
    }
    next_request();
    return 0;
}

static bool stopped;

static void on_stopped(struct operation *operation, bool good)
{
    (void)operation;
    (void)good;
    stopped = true;
}

void rpc_stop(void)
{
    struct operation stop = {on_stopped};
    grpc_server *ending = server;

    if (!ending)
        return;
    server = NULL; /* no more requests */
    stopped = false;
    grpc_server_shutdown_and_notify(ending, rpc_queue, &stop);
    grpc_server_cancel_all_calls(ending);
    while (!stopped || !LIST_EMPTY(&requests))
        rpc_turn(100);
    grpc_server_destroy(ending);
}
