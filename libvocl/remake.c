/*
 * Programs that are made on a node again: what was done with them last is kept, and done there once more. It is
 * compared, so that what a file held that is no more read is not missed.
 */
#include <errno.h>
#include <string.h>

#include "libvocl/internal.h"

void program_step_free(struct program_step *step)
{
    for (cl_uint i = 0; i < step->input_count; i++)
        handle_unhold(step->inputs[i]->context->node->session, &step->inputs[i]->object);
    free(step->devices);
    free(step->options);
    wire_buffer_free(&step->files);
    free(step->inputs);
    free(step->input_steps);
    free(step->names);
    *step = (struct program_step){0};
}

static void *copy(const void *bytes, size_t size)
{
    void *to = malloc(size + 1);

    if (to && size)
        memcpy(to, bytes, size);
    return to;
}

static bool same_devices(const struct program_step *one, const struct program_step *other)
{
    return one->device_count == other->device_count &&
           !memcmp(one->devices, other->devices, one->device_count * sizeof(cl_device_id));
}

static bool take_inputs(struct program_step *to, cl_uint count, const cl_program *inputs)
{
    to->inputs = copy(inputs, count * sizeof(*inputs));
    to->input_steps = malloc((count + 1) * sizeof(*to->input_steps));
    if (!to->inputs || !to->input_steps)
        return false;
    for (cl_uint i = 0; i < count; i++) {
        session_lock(inputs[i]->context->node->session);
        to->input_count += handle_hold(&inputs[i]->object);
        session_unlock(inputs[i]->context->node->session);
        to->input_steps[i] = atomic_load(&inputs[i]->steps);
    }
    return to->input_count == count; /* else one goes just now */
}

void program_keep_step(cl_program program, const struct program_step *step)
{
    struct program_step fresh = {.what = step->what,
                                 .device_count = step->device_count,
                                 .devices = copy(step->devices, step->device_count * sizeof(cl_device_id)),
                                 .options = step->options ? strdup(step->options) : NULL,
                                 .names = step->names ? copy(step->names, step->names_length) : NULL,
                                 .names_length = step->names_length,
                                 .error = step->error};
    bool good = fresh.devices && !fresh.options == !step->options && !fresh.names == !step->names &&
                take_inputs(&fresh, step->input_count, step->inputs);

    if (step->what != STEP_LINK)
        include_collect(NULL, program->source, step->options, &fresh.files);
    good &= !fresh.files.failed;
    pthread_mutex_lock(&program->lock);
    program->mixed = !good || (step->device_count != program->device_count && program->step.what &&
                               (program->mixed || !same_devices(&program->step, step)));
    atomic_fetch_add(&program->steps, 1);
    program_step_free(&program->step);
    program->step = fresh;
    pthread_mutex_unlock(&program->lock);
}

/* Whether what it was linked from, or the headers that it was compiled with, have been compiled or built since. */
static bool inputs_changed(cl_program program)
{
    const struct program_step *step = &program->step;
    bool changed = false;

    pthread_mutex_lock(&program->lock);
    for (cl_uint i = 0; i < step->input_count; i++)
        changed |= atomic_load(&step->inputs[i]->steps) != step->input_steps[i];
    pthread_mutex_unlock(&program->lock);
    return changed;
}

const char *program_bound(const struct object *object, const struct node *node)
{
    struct _cl_program *program = (struct _cl_program *)object;

    (void)node;
    if (program->special)
        return "a program has specialization constants";
    if (program->mixed)
        return "a program was built for some of its devices, and then for others";
    if (inputs_changed(program))
        return "what a program was linked from has been compiled anew since";
    return NULL;
}

/* -EAGAIN: they are not there yet, what they are now. */
static int inputs_there(const struct program_step *step, struct object *const *all, const bool *done)
{
    for (cl_uint i = 0; i < step->input_count; i++) {
        size_t at = 0;

        if (atomic_load(&step->inputs[i]->steps) != step->input_steps[i])
            return -EAGAIN; /* for ever */
        while (all[at] && all[at] != &step->inputs[i]->object)
            at++;
        if (!all[at])
            return -EAGAIN;
        if (!done[at])
            return -EAGAIN;
    }
    return 0;
}

uint32_t program_state(const struct object *object)
{
    return atomic_load(&((const struct _cl_program *)object)->steps);
}

/* Under the program's lock: it may be built again meanwhile. 0, and something was asked; or an error. */
static int ask_step(cl_program program, struct node *node, const uint32_t *ids, cl_uint count, struct call *call)
{
    const struct program_step *step = &program->step;

    switch (step->what) {
    case STEP_BUILD:
        build_send(node, program, count, ids, step->options, &step->files, call, NULL);
        return 0;
    case STEP_COMPILE:
        return compile_send(node, program, count, ids, step, call);
    default:
        link_send(node, program, count, ids, step->options, step->input_count, step->inputs, call);
        return 0;
    }
}

static int take_step(cl_program program, int what, struct call *call)
{
    bool created = false;

    if (what == STEP_BUILD)
        return build_take(program, false, call, NULL);
    return what == STEP_COMPILE ? compile_take(call) : link_take(program, false, call, &created);
}

int program_settle_on(struct object *object, struct node *node, struct object *const *all, const bool *done)
{
    cl_program program = (cl_program)object;
    uint32_t ids[WIRE_MAX_DEVICES];
    struct call call;
    int what, wanted, error;
    cl_uint own;

    pthread_mutex_lock(&program->lock);
    what = program->step.what;
    wanted = program->step.error;
    own = devices_of_node(node, program->step.device_count, program->step.devices, ids);
    error = what ? inputs_there(&program->step, all, done) : 0;
    if (!error && own)
        error = ask_step(program, node, ids, own, &call);
    pthread_mutex_unlock(&program->lock);
    if (error || !own)
        return error;
    error = take_step(program, what, &call);
    return error == wanted ? 0 : error ? -error : -EILSEQ;
}
