#include "tests/draw.h"
#include "tests/wire/client.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static uint64_t random_state = 2026;

void random_seed(uint64_t seed)
{
    random_state = seed * 0x9e3779b97f4a7c15u;
}

uint64_t random_next(void)
{
    return draw(&random_state);
}

static const char source[] = "kernel void touch(global int *data, int value, local int *part)\n"
                             "{\n"
                             "    if (data && get_global_id(0) < 16)\n"
                             "        data[get_global_id(0)] = value;\n"
                             "}\n";

static int on_frame(void *owner, unsigned peer, const void *bytes, size_t length)
{
    struct wire_cursor frame = wire_cursor(bytes, length), fields;
    struct client *client = owner;
    struct wire_outcome_reply reply;
    uint16_t number;

    (void)peer;
    client->answers++;
    while (wire_next(&frame, &number, &fields) == 1) {
        if (number != (WIRE_outcome | WIRE_REPLY) || !wire_get_outcome_reply(&fields, &reply))
            continue;
        client->outcome = reply.error;
        client->outcomes++;
    }
    return 0;
}

static void on_lost(void *owner, unsigned peer, const char *why)
{
    (void)peer, (void)why;
    ((struct client *)owner)->lost = true;
}

void client_open(struct client *client)
{
    const struct transport_callbacks callbacks = {.owner = client, .frame = on_frame, .lost = on_lost};
    char why[512] = "";

    *client = (struct client){0};
    if (transport_open_client(&callbacks, why, sizeof(why), &client->transport)) {
        printf("no session: %s\n", why);
        exit(1);
    }
}

bool client_ended_within(struct client *client, int milliseconds)
{
    const struct timespec nap = {0, 200000};

    for (int i = 0; i < milliseconds * 5 && !client->lost; i++) {
        transport_poll(client->transport);
        nanosleep(&nap, NULL);
    }
    return client->lost;
}

void client_send(struct client *client, struct wire_buffer *frame)
{
    while (!client->lost && transport_send(client->transport, 1, frame->bytes, frame->length) == -EAGAIN)
        transport_poll(client->transport);
    frame->length = 0;
}

/* Waits for a number of answers. */
static void wait_answers(struct client *client, unsigned count)
{
    for (int i = 0; i < 50000 && client->answers < count && !client->lost; i++)
        client_ended_within(client, 1);
}

void client_prologue(struct client *client)
{
    const uint32_t device = 1;
    struct wire_buffer frame = {0};
    struct wire_list_platforms platforms = {1};
    struct wire_describe_platform platform = {2, 0};
    struct wire_create_context context = {OBJECT(1), &device, 1};
    struct wire_create_queue queue = {OBJECT(1), OBJECT(1), 1, 0, NULL, 0};
    struct wire_create_buffer buffer = {OBJECT(1), OBJECT(1), 1, 4096, 0, 0, NULL, 0};
    struct wire_create_program program = {OBJECT(1), OBJECT(1), source, sizeof(source) - 1};
    struct wire_build_program build = {
        .call = 3, .program = OBJECT(1), .devices = &device, .devices_count = 1, .with_options = 0};
    struct wire_create_kernel kernel = {OBJECT(1), OBJECT(1), "touch", 5};
    struct wire_create_user_event event = {OBJECT(1), OBJECT(1)};

    wire_put_list_platforms(&frame, &platforms);
    wire_put_describe_platform(&frame, &platform);
    wire_put_create_context(&frame, &context);
    wire_put_create_queue(&frame, &queue);
    wire_put_create_buffer(&frame, &buffer);
    buffer.buffer = OBJECT(2);
    wire_put_create_buffer(&frame, &buffer);
    wire_put_create_program(&frame, &program);
    wire_put_build_program(&frame, &build);
    client_send(client, &frame);
    wait_answers(client, 2);
    wire_put_create_kernel(&frame, &kernel);
    wire_put_create_user_event(&frame, &event);
    client_send(client, &frame);
    wire_buffer_free(&frame);
}

bool client_outcome(struct client *client, unsigned kind, uint32_t object, int *error)
{
    const struct wire_outcome m = {1, kind, object};
    const unsigned before = client->outcomes;
    struct wire_buffer frame = {0};

    wire_put_outcome(&frame, &m);
    client_send(client, &frame);
    wire_buffer_free(&frame);
    for (int i = 0; i < 50000 && client->outcomes == before && !client->lost; i++)
        client_ended_within(client, 1);
    *error = client->outcome;
    return client->outcomes != before;
}

void client_close(struct client *client)
{
    transport_close(client->transport);
}
