/*
 * Contents of a new object that are still on their way. The session's stream continues meanwhile: commands that use the
 * object, or one made from it, wait for the contents natively; a step that is no command in a queue holds the stream
 * until the contents have arrived.
 */
#include "executor/internal.h"

struct contents {
    struct job job;
    unsigned users;  /* objects, recordings, and one until they have arrived */
    cl_event event;  /* NULL: they have arrived */
    uint64_t behind; /* as in struct event */
    bool holds;      /* the stream is held for them */
};

void contents_drop(struct contents *contents)
{
    if (contents && !--contents->users)
        free(contents);
}

struct contents *contents_use(struct contents *contents)
{
    if (contents)
        contents->users++;
    return contents;
}

static void are_there(struct executor *x, struct job *job)
{
    struct contents *contents = (struct contents *)job;
    const bool holds = contents->holds;

    clReleaseEvent(contents->event);
    contents->event = NULL;
    x->contents_coming--;
    contents_drop(contents);
    if (holds)
        executor_resume(x);
}

bool contents_come(struct executor *x, struct memory *memory, cl_event event, uint64_t behind)
{
    struct contents *contents = malloc(sizeof(*contents));

    if (!contents)
        return false;
    *contents = (struct contents){.users = 2, .event = event, .behind = behind};
    memory->contents = contents;
    x->contents_coming++;
    event_when(x, event, CL_COMPLETE, are_there, &contents->job);
    return true;
}

bool contents_are_coming(const struct contents *contents)
{
    return contents && contents->event;
}

cl_event contents_event(const struct contents *contents)
{
    return contents->event;
}

void contents_before(struct command *c, const struct contents *contents)
{
    if (!contents_are_coming(contents) || c->error)
        return;
    if (transfer_event_error(contents->event)) /* native OpenCL would wait for ever */
        c->error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    else if (!command_wait(c, contents->event))
        c->error = CL_OUT_OF_HOST_MEMORY;
    else if (gates_may_fail(c->gates, contents->behind))
        c->behind = true;
}

bool contents_hold(struct executor *x, const struct memory *memory)
{
    if (!contents_are_coming(memory->contents))
        return false;
    memory->contents->holds = true;
    x->held = true;
    return true;
}
