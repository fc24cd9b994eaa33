/*
 * usage: bounds | bounds quota
 * Commands that reach beyond their objects, most of them by sums that wrap around, as no libvocl sends them. Each has
 * to fail, and the worker to go on: what it says of each is printed, and the first that it does not refuse ends the
 * program.
 */
#include <stdio.h>

#include "tests/wire/client.h"

#define ENDING (UINT64_MAX - 7) /* eight bytes before the end of all addresses */
#define HALF (UINT64_C(1) << 63)
#define IMAGE OBJECT(3)

static const uint8_t bytes[64] = {1, 2, 3, 4};

struct bound {
    const char *name;
    void (*put)(struct wire_buffer *frame, uint32_t id);
    unsigned kind; /* of what is made */
};

/* The third slice is where the first is, and the second far away. */
static void write_rect(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_write_rect m = {.queue = OBJECT(1),
                                      .buffer = OBJECT(1),
                                      .event = id,
                                      .origin_count = 3,
                                      .region_count = 3,
                                      .region = {16, 1, 3},
                                      .row_pitch = 16,
                                      .slice_pitch = HALF,
                                      .data = bytes,
                                      .data_length = 48};

    wire_put_write_rect(frame, &m);
}

/* The second row is before the buffer. */
static void write_rows(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_write_rect m = {.queue = OBJECT(1),
                                      .buffer = OBJECT(1),
                                      .event = id,
                                      .origin_count = 3,
                                      .origin = {4080, 0, 0},
                                      .region_count = 3,
                                      .region = {16, 2, 1},
                                      .row_pitch = UINT64_MAX - 4095,
                                      .data = bytes,
                                      .data_length = 32};

    wire_put_write_rect(frame, &m);
}

static void read_rect(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_read_rect m = {.queue = OBJECT(1),
                                     .buffer = OBJECT(1),
                                     .event = id,
                                     .origin_count = 3,
                                     .region_count = 3,
                                     .region = {64, 3, 1},
                                     .row_pitch = HALF,
                                     .tag = 9};

    wire_put_read_rect(frame, &m);
}

static void copy_rect(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_copy_rect m = {.queue = OBJECT(1),
                                     .source = OBJECT(1),
                                     .target = OBJECT(2),
                                     .event = id,
                                     .source_origin_count = 3,
                                     .target_origin_count = 3,
                                     .region_count = 3,
                                     .region = {64, 1, 3},
                                     .source_row_pitch = 64,
                                     .source_slice_pitch = 64,
                                     .target_row_pitch = 64,
                                     .target_slice_pitch = HALF};

    wire_put_copy_rect(frame, &m);
}

static void write_buffer(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_write_buffer m = {.queue = OBJECT(1),
                                        .buffer = OBJECT(1),
                                        .event = id,
                                        .offset = ENDING,
                                        .size = 16,
                                        .data = bytes,
                                        .data_length = 16};

    wire_put_write_buffer(frame, &m);
}

static void read_buffer(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_read_buffer m = {
        .queue = OBJECT(1), .buffer = OBJECT(1), .event = id, .offset = ENDING, .size = 16, .tag = 9};

    wire_put_read_buffer(frame, &m);
}

/* As if in pieces. */
static void read_chunks(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_read_buffer m = {.queue = OBJECT(1),
                                       .buffer = OBJECT(1),
                                       .event = id,
                                       .offset = 64,
                                       .size = UINT64_C(1) << 39,
                                       .tag = 0x80000009};

    wire_put_read_buffer(frame, &m);
}

static void copy_buffer(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_copy_buffer m = {
        .queue = OBJECT(1), .source = OBJECT(1), .target = OBJECT(2), .event = id, .target_offset = ENDING, .size = 64};

    wire_put_copy_buffer(frame, &m);
}

static void fill_buffer(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_fill_buffer m = {.queue = OBJECT(1),
                                       .buffer = OBJECT(1),
                                       .event = id,
                                       .pattern = bytes,
                                       .pattern_length = 8,
                                       .offset = ENDING,
                                       .size = 64};

    wire_put_fill_buffer(frame, &m);
}

static void fill_with_nothing(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_fill_buffer m = {
        .queue = OBJECT(1), .buffer = OBJECT(1), .event = id, .pattern = bytes, .size = 64};

    wire_put_fill_buffer(frame, &m);
}

static void map_buffer(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_map_buffer m = {
        .queue = OBJECT(1), .buffer = OBJECT(1), .event = id, .flags = 3, .offset = ENDING, .size = 64};

    wire_put_map_buffer(frame, &m);
}

static void sub_buffer(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_create_sub_buffer m = {id, OBJECT(1), 1, UINT64_MAX - 127, 256};

    wire_put_create_sub_buffer(frame, &m);
}

/* 16 x 16 pixels of 4 bytes, in a buffer that has room for one row. */
static void image_of_buffer(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_create_image m = {.image = id,
                                        .context = OBJECT(1),
                                        .flags = 1,
                                        .order = 0x10b5,
                                        .type = 0x10da,
                                        .object_type = 0x10f1,
                                        .width = 16,
                                        .height = 128,
                                        .row_pitch = 1024,
                                        .buffer = OBJECT(1)};

    wire_put_create_image(frame, &m);
}

static void write_image(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_write_image m = {.queue = OBJECT(1),
                                       .image = IMAGE,
                                       .event = id,
                                       .origin_count = 3,
                                       .origin = {0, UINT64_MAX - 1, 0},
                                       .region_count = 3,
                                       .region = {4, 4, 1},
                                       .bytes = 64,
                                       .data = bytes,
                                       .data_length = 64};

    wire_put_write_image(frame, &m);
}

static void copy_image(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_copy_image m = {.queue = OBJECT(1),
                                      .source = IMAGE,
                                      .target = IMAGE,
                                      .event = id,
                                      .source_origin_count = 3,
                                      .source_origin = {8, 0, 0},
                                      .target_origin_count = 3,
                                      .target_origin = {UINT64_MAX - 3, 0, 0},
                                      .region_count = 3,
                                      .region = {4, 4, 1}};

    wire_put_copy_image(frame, &m);
}

static void fill_image(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_fill_image m = {.queue = OBJECT(1),
                                      .image = IMAGE,
                                      .event = id,
                                      .colour = bytes,
                                      .colour_length = 16,
                                      .origin_count = 3,
                                      .origin = {0, UINT64_MAX - 1, 0},
                                      .region_count = 3,
                                      .region = {4, 4, 1}};

    wire_put_fill_image(frame, &m);
}

static void image_to_buffer(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_copy_image_to_buffer m = {.queue = OBJECT(1),
                                                .source = IMAGE,
                                                .target = OBJECT(1),
                                                .event = id,
                                                .origin_count = 3,
                                                .region_count = 3,
                                                .region = {16, 16, 1},
                                                .offset = ENDING};

    wire_put_copy_image_to_buffer(frame, &m);
}

static void buffer_to_image(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_copy_buffer_to_image m = {.queue = OBJECT(1),
                                                .source = OBJECT(1),
                                                .target = IMAGE,
                                                .event = id,
                                                .offset = ENDING,
                                                .origin_count = 3,
                                                .region_count = 3,
                                                .region = {16, 16, 1}};

    wire_put_copy_buffer_to_image(frame, &m);
}

/* A command buffer that cannot be recorded has failed. */
static void recorded(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_create_command_buffer create = {id, OBJECT(1), 0};
    struct wire_buffer command = {0};
    struct wire_record record = {.command_buffer = id};

    wire_put_create_command_buffer(frame, &create);
    fill_buffer(&command, 0);
    record.command = command.bytes;
    record.command_length = (uint32_t)command.length;
    wire_put_record(frame, &record);
    wire_buffer_free(&command);
}

static const struct bound bounds[] = {{"write a rect", write_rect, WIRE_EVENT},
                                      {"write rows", write_rows, WIRE_EVENT},
                                      {"read a rect", read_rect, WIRE_EVENT},
                                      {"copy a rect", copy_rect, WIRE_EVENT},
                                      {"write a buffer", write_buffer, WIRE_EVENT},
                                      {"read a buffer", read_buffer, WIRE_EVENT},
                                      {"read a buffer in pieces", read_chunks, WIRE_EVENT},
                                      {"copy a buffer", copy_buffer, WIRE_EVENT},
                                      {"fill a buffer", fill_buffer, WIRE_EVENT},
                                      {"fill a buffer with nothing", fill_with_nothing, WIRE_EVENT},
                                      {"map a buffer", map_buffer, WIRE_EVENT},
                                      {"a sub-buffer", sub_buffer, WIRE_MEMORY},
                                      {"an image of a buffer", image_of_buffer, WIRE_MEMORY},
                                      {"write an image", write_image, WIRE_EVENT},
                                      {"copy an image", copy_image, WIRE_EVENT},
                                      {"fill an image", fill_image, WIRE_EVENT},
                                      {"copy an image to a buffer", image_to_buffer, WIRE_EVENT},
                                      {"copy a buffer to an image", buffer_to_image, WIRE_EVENT},
                                      {"fill a buffer, recorded", recorded, WIRE_COMMAND_BUFFER}};

/* ---- more than the session may have, which is 128 KiB ---- */

/* Its bytes are said to be none. */
static void image_unsaid(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_create_image m = {.image = id,
                                        .context = OBJECT(1),
                                        .flags = 1,
                                        .order = 0x10b5,
                                        .type = 0x10da,
                                        .object_type = 0x10f1,
                                        .width = 256,
                                        .height = 256};

    wire_put_create_image(frame, &m);
}

/* As many pixels as there may be bytes. */
static void image_of_pixels(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_create_image m = {.image = id,
                                        .context = OBJECT(1),
                                        .flags = 1,
                                        .order = 0x10b5,
                                        .type = 0x10da,
                                        .object_type = 0x10f1,
                                        .width = 256,
                                        .height = 200,
                                        .bytes = 1};

    wire_put_create_image(frame, &m);
}

static void pipe(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_create_pipe m = {id, OBJECT(1), 0, 1024, 1024};

    wire_put_create_pipe(frame, &m);
}

static void large_buffer(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_create_buffer m = {id, OBJECT(1), 1, 200000, 0, 0, NULL, 0};

    wire_put_create_buffer(frame, &m);
}

static void long_recording(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_create_command_buffer create = {id, OBJECT(1), 0};
    struct wire_buffer command = {0};
    struct wire_record record = {.command_buffer = id};
    const struct wire_fill_buffer fill = {
        .queue = OBJECT(1), .buffer = OBJECT(1), .pattern = bytes, .pattern_length = 4, .size = 64};

    wire_put_create_command_buffer(frame, &create);
    wire_put_fill_buffer(&command, &fill);
    record.command = command.bytes;
    record.command_length = (uint32_t)command.length;
    for (int i = 0; i < 400; i++)
        wire_put_record(frame, &record);
    wire_buffer_free(&command);
}

static const struct bound quotas[] = {{"an image that says nothing", image_unsaid, WIRE_MEMORY},
                                      {"an image of as many pixels", image_of_pixels, WIRE_MEMORY},
                                      {"a pipe", pipe, WIRE_MEMORY},
                                      {"a buffer", large_buffer, WIRE_MEMORY},
                                      {"a long recording", long_recording, WIRE_COMMAND_BUFFER}};

static bool is_refused(struct client *client, const struct bound *bound, uint32_t id)
{
    struct wire_buffer frame = {0};
    int error = 0;
    bool told;

    bound->put(&frame, id);
    client_send(client, &frame);
    wire_buffer_free(&frame);
    told = client_outcome(client, bound->kind, id, &error);
    if (told)
        printf("%s: %d\n", bound->name, error);
    else
        printf("%s: the worker is gone\n", bound->name);
    fflush(stdout);
    return told && error < 0;
}

static bool all_refused(struct client *client, const struct bound *list, size_t count)
{
    bool all = true;

    for (unsigned i = 0; !client->lost && i < count; i++)
        all &= is_refused(client, &list[i], OBJECT(100 + i));
    return all;
}

int main(int count, char **arguments)
{
    const struct wire_create_image image = {.image = IMAGE,
                                            .context = OBJECT(1),
                                            .flags = 1,
                                            .order = 0x10b5,
                                            .type = 0x10da,
                                            .object_type = 0x10f1,
                                            .width = 16,
                                            .height = 16,
                                            .bytes = 1024};
    const bool quota = count == 2 && !strcmp(arguments[1], "quota");
    struct wire_buffer frame = {0};
    struct client client;
    int error = -1;
    bool good;

    if (quota)
        setenv("VOCL_WORKER_MEMORY", "131072", 1);
    client_open(&client);
    client_prologue(&client);
    wire_put_create_image(&frame, &image);
    client_send(&client, &frame);
    wire_buffer_free(&frame);
    good = client_outcome(&client, WIRE_MEMORY, IMAGE, &error) && !error;
    if (!good)
        printf("no image: %d\n", error);
    else if (quota)
        good = all_refused(&client, quotas, sizeof(quotas) / sizeof(*quotas));
    else
        good = all_refused(&client, bounds, sizeof(bounds) / sizeof(*bounds));
    client_close(&client);
    return !good;
}
