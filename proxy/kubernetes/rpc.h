/*
 * gRPC's C library, as far as VOCL uses it: single calls to other processes, and a server for calls and streams. It is
 * the interface that gRPC's bindings for other languages are built on. Everything happens in one thread, which calls
 * rpc_turn().
 */
#ifndef VOCL_PROXY_KUBERNETES_RPC_H
#define VOCL_PROXY_KUBERNETES_RPC_H

#include <grpc/grpc.h>
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#define RPC_MOST (16u << 20) /* bytes of a message */

/* ---- rpc.c ---- */
/* An operation of gRPC, which is its tag; part of a larger struct. done() is called when it is complete. good: it
 * succeeded. */
struct operation {
    void (*done)(struct operation *operation, bool good);
};

extern grpc_completion_queue *rpc_queue;

void rpc_open(void);
/* Waits for operations and completes them, for at most so many milliseconds. */
void rpc_turn(long milliseconds);
grpc_byte_buffer *rpc_pack(const ProtobufCMessage *message);
/* Returns the message in a buffer, to be freed with protobuf_c_message_free_unpacked(), or NULL if it is none. */
ProtobufCMessage *rpc_unpack(grpc_byte_buffer *buffer, const ProtobufCMessageDescriptor *kind);

/* Calls the method of the server at a Unix socket. answered() gets the answer, which is freed afterwards, or NULL and
 * the reason. */
void rpc_call(const char *socket, const char *method, const ProtobufCMessage *request,
              const ProtobufCMessageDescriptor *answer, long milliseconds,
              void (*answered)(const ProtobufCMessage *answer, const char *why));

/* ---- serve.c ---- */
struct rpc_request;

struct rpc_method {
    const char *name; /* "/PACKAGE.SERVICE/METHOD" */
    const ProtobufCMessageDescriptor *request;
    void (*take)(struct rpc_request *request, const ProtobufCMessage *message); /* message is borrowed */
    /* The other end is gone, or the server stops, before there was an answer; or a stream is over. May be NULL. */
    void (*gone)(struct rpc_request *request);
};

/* Serves these methods, of which the last has no name, at a Unix socket. Returns 0 or a negative errno. */
int rpc_serve(const char *socket, const struct rpc_method *methods);
/* Ends all requests and the server, if there is one. */
void rpc_stop(void);
/* Answers, with NULL only the end of a stream; or refuses. The request must not be used afterwards. */
void rpc_answer(struct rpc_request *request, const ProtobufCMessage *message);
void rpc_refuse(struct rpc_request *request, grpc_status_code code, const char *why);
/* Sends a message of a stream, which remains open. Returns false if the last message is still on its way. */
bool rpc_stream(struct rpc_request *request, const ProtobufCMessage *message);

#endif
