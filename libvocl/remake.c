/*
 * Recreates programs on a node: the last step for each device (a build, compile or link) is saved, and repeated there.
 * The results are compared, so that an included file that has since changed or gone does not go unnoticed.
 */
#include <errno.h>
#include <string.h>

#include "libvocl/internal.h"

static void step_free(struct program_step *step)
{
    for (cl_uint i = 0; i < step->input_count; i++)
        handle_unhold(step->inputs[i]->context->node->session, &step->inputs[i]->object);
    free(step->devices);
    free(step->options);
    wire_buffer_free(&step->files);
    free(step->inputs);
    free(step->input_steps);
    free(step->names);
    free(step);
}

void program_forget_steps(cl_program program)
{
    while (program->done) {
        struct program_step *step = program->done;

        program->done = step->next;
        step_free(step);
    }
}

static void *copy(const void *bytes, size_t size)
{
    void *to = malloc(size + 1);

    if (to && size)
        memcpy(to, bytes, size);
    return to;
}

/* Whether later steps concern all devices of this one. */
static bool is_over(const struct program_step *step)
{
    for (cl_uint i = 0; i < step->device_count; i++) {
        const struct program_step *later = step->next;
        bool again = false;

        for (; later && !again; later = later->next) {
            for (cl_uint k = 0; k < later->device_count; k++)
                again |= later->devices[k] == step->devices[i];
        }
        if (!again)
            return false;
    }
    return true;
}

static bool take_inputs(struct program_step *to, cl_uint count, const cl_program *inputs)
{
    to->inputs = malloc((count + 1) * sizeof(cl_program));
    to->input_steps = malloc((count + 1) * sizeof(*to->input_steps));
    if (!to->inputs || !to->input_steps)
        return false;
    for (cl_uint i = 0; i < count; i++) {
        to->inputs[to->input_count] = inputs[i];
        to->input_steps[to->input_count] = atomic_load(&inputs[i]->steps);
        session_lock(inputs[i]->context->node->session);
        to->input_count += handle_hold(&inputs[i]->object);
        session_unlock(inputs[i]->context->node->session);
    }
    return to->input_count == count; /* otherwise one is just being destroyed */
}

static struct program_step *copy_step(cl_program program, const struct program_step *step)
{
    struct program_step *fresh = calloc(1, sizeof(*fresh));

    if (!fresh)
        return NULL;
    *fresh = (struct program_step){.what = step->what,
                                   .device_count = step->device_count,
                                   .devices = copy(step->devices, step->device_count * sizeof(cl_device_id)),
                                   .options = step->options ? strdup(step->options) : NULL,
                                   .names = step->names ? copy(step->names, step->names_length) : NULL,
                                   .names_length = step->names_length,
                                   .error = step->error};
    if (fresh->devices && !fresh->options == !step->options && !fresh->names == !step->names &&
        take_inputs(fresh, step->input_count, step->inputs)) {
        if (step->what != STEP_LINK)
            include_collect(NULL, program->source, step->options, &fresh->files);
        if (!fresh->files.failed)
            return fresh;
    }
    step_free(fresh);
    return NULL;
}

/* Appends a step, and frees those that are no longer needed. */
static void add_step(cl_program program, struct program_step *fresh)
{
    struct program_step **at = &program->done;

    while (*at)
        at = &(*at)->next;
    *at = fresh;
    for (at = &program->done; *at;) {
        struct program_step *step = *at;

        if (is_over(step)) {
            *at = step->next;
            step_free(step);
        } else {
            at = &step->next;
        }
    }
    specials_prune(program);
}

void program_keep_step(cl_program program, const struct program_step *step)
{
    struct program_step *fresh = copy_step(program, step);

    mutex_lock(&program->lock);
    program->unkept = !fresh || (program->unkept && step->device_count != program->device_count);
    if (fresh) {
        fresh->number = atomic_load(&program->steps);
        add_step(program, fresh);
    }
    atomic_fetch_add(&program->steps, 1);
    mutex_unlock(&program->lock);
}

/* Whether the inputs of a link, or the headers of a compile, have been compiled or built since. */
static bool inputs_changed(cl_program program)
{
    bool changed = false;

    mutex_lock(&program->lock);
    for (const struct program_step *step = program->done; step; step = step->next) {
        for (cl_uint i = 0; i < step->input_count; i++)
            changed |= atomic_load(&step->inputs[i]->steps) != step->input_steps[i];
    }
    mutex_unlock(&program->lock);
    return changed;
}

const char *program_bound(const struct object *object, const struct node *node)
{
    struct _cl_program *program = (struct _cl_program *)object;

    (void)node;
    if (program->unkept)
        return "the inputs of a program's build could not be saved";
    if (inputs_changed(program))
        return "an input of a program's link was compiled again since";
    return NULL;
}

/* Returns -EAGAIN if the step's inputs are not on the node yet in the state that the step used. */
static int inputs_of(const struct program_step *step, struct object *const *all, const bool *done)
{
    for (cl_uint i = 0; i < step->input_count; i++) {
        size_t at = 0;

        if (atomic_load(&step->inputs[i]->steps) != step->input_steps[i])
            return -EAGAIN; /* which will not change */
        while (all[at] && all[at] != &step->inputs[i]->object)
            at++;
        if (!all[at])
            return -EAGAIN;
        if (!done[at])
            return -EAGAIN;
    }
    return 0;
}

static int inputs_there(cl_program program, struct object *const *all, const bool *done)
{
    int error = 0;

    mutex_lock(&program->lock);
    for (const struct program_step *step = program->done; step && !error; step = step->next)
        error = inputs_of(step, all, done);
    mutex_unlock(&program->lock);
    return error;
}

uint32_t program_state(const struct object *object)
{
    const struct _cl_program *program = (const struct _cl_program *)object;

    return atomic_load(&program->steps) + atomic_load(&program->specialized);
}

/* With the program's lock held, as the program may be built again meanwhile. Returns 0 when the request was sent, or
 * an error. */
static int ask_step(cl_program program, const struct program_step *step, struct node *node, const uint32_t *ids,
                    cl_uint count, struct call *call)
{
    switch (step->what) {
    case STEP_BUILD:
        build_send(node, program, count, ids, step->options, &step->files, call, NULL);
        return 0;
    case STEP_COMPILE:
        return call_verdict(compile_send(node, program, count, ids, step, call));
    default:
        return call_verdict(link_send(node, program, count, ids, step->options, step->input_count, step->inputs, call));
    }
}

static int take_step(cl_program program, int what, struct call *call)
{
    bool created = false;

    if (what == STEP_BUILD)
        return build_take(program, false, call, NULL);
    return what == STEP_COMPILE ? compile_take(call) : link_take(program, false, call, &created);
}

/* Returns the first step with that number or a later one. */
static const struct program_step *step_from(cl_program program, uint32_t number)
{
    const struct program_step *step = program->done;

    while (step && step->number < number)
        step = step->next;
    return step;
}

/* Finds the step by its number, as the program may be built anew meanwhile; then what is created here is not used. */
static int do_step(cl_program program, struct node *node, uint32_t number)
{
    const struct program_step *step;
    uint32_t ids[WIRE_MAX_DEVICES];
    cl_uint own = 0;
    struct call call;
    int what = STEP_NONE, wanted = 0, error = 0;

    mutex_lock(&program->lock);
    step = step_from(program, number);
    if (step && step->number == number) {
        what = step->what;
        wanted = step->error;
        own = devices_of_node(node, step->device_count, step->devices, ids);
    }
    if (own)
        error = ask_step(program, step, node, ids, own, &call);
    mutex_unlock(&program->lock);
    if (error || !own)
        return error;
    error = take_step(program, what, &call);
    return error == wanted ? 0 : error ? -error : -EILSEQ;
}

/* Advances *number to the next step's. Returns false if there is none. */
static bool next_step(cl_program program, uint32_t *number)
{
    const struct program_step *step;

    mutex_lock(&program->lock);
    step = step_from(program, *number);
    if (step)
        *number = step->number;
    mutex_unlock(&program->lock);
    return step != NULL;
}

int program_settle_on(struct object *object, struct node *node, struct object *const *all, const bool *done)
{
    cl_program program = (cl_program)object;
    uint32_t number = 0, from = 0;
    int error = inputs_there(program, all, done);

    while (!error && next_step(program, &number)) {
        error = call_verdict(specials_send(program, node, from, number));
        if (!error)
            error = do_step(program, node, number);
        from = ++number;
    }
    return error ? error : call_verdict(specials_send(program, node, from, UINT32_MAX));
}
