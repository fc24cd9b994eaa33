/* Memory objects of any type, as commands use them. */
#include "executor/internal.h"

void command_uses(struct command *c, struct memory *memory)
{
    if (!is_usable(memory) && !c->error)
        c->error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (!c->queue)
        return;
    memory_used_at(memory, c->queue);
    if (!contents_are_coming(memory->contents))
        return;
    if (c->recording)
        recording_behind(c->x->recording, memory->contents);
    else
        contents_before(c, memory->contents);
}

void command_uses_arguments(struct command *c, const struct kernel *kernel)
{
    for (cl_uint i = 0; kernel->memories && i < kernel->kind_count; i++) {
        struct memory *memory = kernel->memories[i] ? object_get(c->x, WIRE_MEMORY, kernel->memories[i]) : NULL;

        if (memory && is_usable(memory))
            command_uses(c, memory);
    }
}

void command_copies(struct command *c, struct memory *source, struct memory *target, uint64_t bytes)
{
    unsigned ordinal;
    const bool moves = memory_is_elsewhere(c, source, &ordinal);

    command_uses(c, source);
    command_uses(c, target);
    if (moves)
        arbitration_begin(c, ordinal, c->queue->ordinal, bytes, (cl_mem[]){source->native, target->native}, 2);
}

/* Objects that are all on one other device move together. */
static void migrate_begin(struct command *c, const struct exec_migrate *m)
{
    cl_mem memories[MOST_MOVED];
    unsigned ordinal = 0, other;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < m->objects_count; i++) {
        const struct memory *object = m->objects[i];
        size_t size = 0;

        if (i == MOST_MOVED || !is_usable(object) || !memory_is_elsewhere(c, object, &other) || (i && other != ordinal))
            return;
        ordinal = other;
        clGetMemObjectInfo(object->native, CL_MEM_SIZE, sizeof(size), &size, NULL);
        memories[i] = object->native;
        bytes += size;
    }
    if (m->flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)
        return;
    arbitration_begin(c, ordinal, m->flags & CL_MIGRATE_MEM_OBJECT_HOST ? EXECUTOR_HOST : c->queue->ordinal, bytes,
                      memories, m->objects_count);
}

int exec_migrate(struct command *c, const struct exec_migrate *m)
{
    cl_mem *objects = malloc((m->objects_count + 1) * sizeof(*objects));

    if (!objects)
        return -ENOMEM;
    if (m->objects_count)
        migrate_begin(c, m);
    for (uint32_t i = 0; i < m->objects_count; i++) {
        command_uses(c, m->objects[i]);
        objects[i] = m->objects[i]->native;
    }
    if (!c->error)
        c->error = clEnqueueMigrateMemObjects(c->queue->native, m->objects_count, objects, m->flags, c->wait_count,
                                              command_waits(c), c->ask);
    free(objects);
    return 0;
}
