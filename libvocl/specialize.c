/*
 * Specialization constants of programs from IL. Each is saved with the number of steps before it, for when the program
 * is recreated on another node (remake.c).
 */
#include <string.h>

#include "libvocl/internal.h"

/* Whether a saved step was done after one was set and before other. */
static bool step_between(const struct _cl_program *program, const struct special *one, const struct special *other)
{
    const struct program_step *step = program->done;

    while (step && (step->number < one->number || step->number >= other->number))
        step = step->next;
    return step != NULL;
}

static bool is_replaced(const struct _cl_program *program, unsigned at)
{
    const struct special *one = &program->specials[at];

    for (unsigned i = at + 1; i < program->special_count; i++) {
        if (program->specials[i].id == one->id && !step_between(program, one, &program->specials[i]))
            return true;
    }
    return false;
}

void specials_prune(cl_program program)
{
    unsigned left = 0;

    for (unsigned i = 0; i < program->special_count; i++) {
        if (!is_replaced(program, i))
            program->specials[left++] = program->specials[i];
    }
    program->special_count = left;
}

static void keep(cl_program program, uint32_t id, size_t size, const void *value)
{
    struct special *more;

    mutex_lock(&program->lock);
    more = realloc(program->specials, (program->special_count + 1) * sizeof(*more));
    if (more) {
        struct special *added = &more[program->special_count++];

        *added = (struct special){.id = id, .number = atomic_load(&program->steps), .size = (uint32_t)size};
        memcpy(added->value, value, size);
        program->specials = more;
        specials_prune(program);
    }
    program->unkept |= !more;
    atomic_fetch_add(&program->specialized, 1);
    mutex_unlock(&program->lock);
}

static cl_int specialize(struct node *node, cl_program program, cl_uint id, size_t size, const void *value)
{
    struct wire_set_specialization m = {
        .program = program->object.id, .id = id, .value = value, .value_length = (uint32_t)size};
    struct wire_set_specialization_reply reply;
    struct call call;
    cl_int error = cl_error(call_set_specialization(node, &m, &reply, &call));

    if (error)
        return error;
    error = reply.error;
    call_free(&call);
    return error;
}

cl_int specials_send(cl_program program, struct node *node, uint32_t from, uint32_t number)
{
    struct special *own;
    unsigned count;
    cl_int error = CL_SUCCESS;

    mutex_lock(&program->lock);
    count = program->special_count;
    own = malloc((count + 1) * sizeof(*own));
    if (own && count)
        memcpy(own, program->specials, count * sizeof(*own));
    mutex_unlock(&program->lock);
    for (unsigned i = 0; own && !error && i < count; i++) {
        if (own[i].number >= from && own[i].number <= number)
            error = specialize(node, program, own[i].id, own[i].size, own[i].value);
    }
    free(own);
    return own ? error : CL_OUT_OF_HOST_MEMORY;
}

cl_int clSetProgramSpecializationConstant(cl_program program, cl_uint id, size_t size, const void *value)
{
    TIMELINE(clSetProgramSpecializationConstant);

    cl_int error = CL_SUCCESS;

    HALT_GUARD;
    if (!handle_check(program, WIRE_PROGRAM) || !program->il)
        return CL_INVALID_PROGRAM;
    if (!value || !size || size > MOST_SPECIAL)
        return CL_INVALID_VALUE;
    program_wait(program);
    for (unsigned i = 0; !error && i < program->context->node_count; i++)
        error = specialize(program->context->nodes[i], program, id, size, value);
    if (!error)
        keep(program, id, size, value);
    return error;
}
