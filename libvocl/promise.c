/*
 * Builds that are known to succeed: the same source was built with the same options for the same devices, by the same
 * drivers, in an earlier session, and the node's description of the kernels was cached (client/core/cache.h). The node
 * builds the program all the same, but nobody waits: the answer is compared when it arrives. If it differs, the cached
 * description is dropped, and the node's later errors tell the program.
 */
#include <string.h>

#include "base/log.h"
#include "client/core/cache.h"
#include "libvocl/internal.h"

#include "config.h"

struct promise {
    struct call call;
    struct wire_buffer key;
    struct cached cached;
};

/* Whether the source may read files, whose contents can change between sessions. */
static bool reads_files(const char *source)
{
    return strstr(source, "include") || strstr(source, "incbin") || strstr(source, "embed");
}

bool promise_key(cl_program program, const struct node *node, cl_uint count, const uint32_t *ids, const char *options,
                 const struct wire_buffer *files, struct wire_buffer *key)
{
    if (!program->source || !node->digest || node->observer || files->length || reads_files(program->source))
        return false;
    wire_put_u64(key, node->digest);
    wire_put_u32(key, options != NULL);
    wire_put_u32(key, count);
    wire_put_bytes(key, ids, count * sizeof(*ids));
    if (options)
        wire_put_bytes(key, options, strlen(options));
    wire_put_bytes(key, "", 1);
    wire_put_bytes(key, program->source, strlen(program->source));
    return !key->failed;
}

static void promise_free(struct promise *promise)
{
    wire_buffer_free(&promise->key);
    cache_free(&promise->cached);
    free(promise);
}

/* With the session's lock held. */
static void promise_over(struct call *call)
{
    struct promise *promise = (struct promise *)call;
    struct wire_build_program_reply reply;

    if (!call->status && (!wire_get_build_program_reply(&call->fields, &reply) || reply.error ||
                          reply.kernels_length != promise->cached.length ||
                          memcmp(reply.kernels, promise->cached.bytes, promise->cached.length))) {
        vocl_log(LOG_ERROR, "a build gave another result than the cached one, which is dropped");
        cache_drop(CACHE_BUILD, promise->key.bytes, promise->key.length);
    }
    free(call->bytes);
    promise_free(promise);
}

bool promise_build(cl_program program, struct node *node, cl_uint count, const uint32_t *ids, const char *options,
                   struct wire_buffer *key)
{
    static const struct wire_buffer no_files;
    struct promise *promise = calloc(1, sizeof(*promise));
    cl_int error;

    if (!promise || !cache_find(CACHE_BUILD, key->bytes, key->length, &promise->cached)) {
        free(promise);
        return false;
    }
    mutex_lock(&program->lock);
    error = program_take_kernels(program, promise->cached.bytes, (uint32_t)promise->cached.length);
    mutex_unlock(&program->lock);
    if (error) {
        promise_free(promise);
        return false;
    }
    promise->key = *key;
    *key = (struct wire_buffer){0};
    build_send(node, program, count, ids, options, &no_files, &promise->call, promise_over);
    return true;
}
