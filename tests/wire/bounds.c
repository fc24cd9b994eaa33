/*
 * usage: bounds | bounds quota
 * Commands that reach beyond their objects, most of them by sums that wrap around, which no libvocl sends. Each must
 * fail, and the worker must survive: the program prints the worker's answer to each, and ends at the first that is not
 * refused.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/wire/client.h"
#include "wire/tables.h"

#define ENDING (UINT64_MAX - 7) /* eight bytes before the end of the address space */
#define HALF (UINT64_C(1) << 63)
#define IMAGE OBJECT(3)

static const uint8_t bytes[64] = {1, 2, 3, 4};

#define ON_BUFFER .queue = OBJECT(1), .buffer = OBJECT(1), .event = id
#define ON_IMAGE .queue = OBJECT(1), .image = IMAGE, .event = id
#define RECT(bytes, ...) .part.kind = WIRE_RECT, .part.size = (bytes), .part.region = {__VA_ARGS__}
#define DATA(count) .data = bytes, .data_length = (count)
#define PATTERN(count) .pattern = bytes, .pattern_length = (count)

/* BOUND(name, command, its fields): defines a function that puts the command into a frame. */
#define BOUND(name, command, ...)                                                                                      \
    static void name(struct wire_buffer *frame, uint32_t id)                                                           \
    {                                                                                                                  \
        const struct wire_##command m = {__VA_ARGS__};                                                                 \
                                                                                                                       \
        wire_put_##command(frame, &m);                                                                                 \
    }

struct bound {
    const char *name;
    void (*put)(struct wire_buffer *frame, uint32_t id);
    unsigned kind; /* of the new object */
};

/* The offset of the third slice wraps around to the first's; the second slice is far away. */
BOUND(write_rect, write_rect, ON_BUFFER, RECT(48, 16, 1, 3), .part.pitch = {16, HALF}, DATA(48))

/* The second row is before the start of the buffer. */
BOUND(write_rows, write_rect, ON_BUFFER, RECT(32, 16, 2, 1), .part.origin = {4080, 0, 0},
      .part.pitch = {UINT64_MAX - 4095}, DATA(32))

BOUND(read_rect, read_rect, ON_BUFFER, RECT(192, 64, 3, 1), .part.pitch = {HALF}, .tag = 9)

BOUND(copy_rect, copy_rect, .queue = OBJECT(1), .source = OBJECT(1), .target = OBJECT(2), .event = id,
      .region = {64, 1, 3}, .source_row_pitch = 64, .source_slice_pitch = 64, .target_row_pitch = 64,
      .target_slice_pitch = HALF)

BOUND(write_buffer, write_buffer, ON_BUFFER, .offset = ENDING, .size = 16, DATA(16))

BOUND(read_buffer, read_buffer, ON_BUFFER, .offset = ENDING, .size = 16, .tag = 9)

/* A read in pieces. */
BOUND(read_chunks, read_buffer, ON_BUFFER, .offset = 64, .size = UINT64_C(1) << 39, .tag = 0x80000009)

BOUND(copy_buffer, copy_buffer, .queue = OBJECT(1), .source = OBJECT(1), .target = OBJECT(2), .event = id,
      .target_offset = ENDING, .size = 64)

BOUND(fill_buffer, fill_buffer, ON_BUFFER, PATTERN(8), .offset = ENDING, .size = 64)

BOUND(fill_with_nothing, fill_buffer, ON_BUFFER, .pattern = bytes, .size = 64)

BOUND(map_buffer, map_buffer, ON_BUFFER, .flags = 3, .offset = ENDING, .size = 64)

BOUND(sub_buffer, create_sub_buffer, id, OBJECT(1), 1, UINT64_MAX - 127, 256)

/* 16 x 16 pixels of 4 bytes, in a buffer that has room for one row. */
BOUND(image_of_buffer, create_image, RGBA_IMAGE(id, 16, 128), .row_pitch = 1024, .buffer = OBJECT(1))

BOUND(write_image, write_image, ON_IMAGE, .part.kind = WIRE_IMAGE, .part.size = 64,
      .part.origin = {0, UINT64_MAX - 1, 0}, .part.region = {4, 4, 1}, DATA(64))

BOUND(copy_image, copy_image, .queue = OBJECT(1), .source = IMAGE, .target = IMAGE, .event = id,
      .source_origin = {8, 0, 0}, .target_origin = {UINT64_MAX - 3, 0, 0}, .region = {4, 4, 1})

BOUND(fill_image, fill_image, ON_IMAGE, .colour = bytes, .colour_length = 16, .origin = {0, UINT64_MAX - 1, 0},
      .region = {4, 4, 1})

BOUND(image_to_buffer, copy_image_to_buffer, .queue = OBJECT(1), .source = IMAGE, .target = OBJECT(1), .event = id,
      .region = {16, 16, 1}, .offset = ENDING)

BOUND(buffer_to_image, copy_buffer_to_image, .queue = OBJECT(1), .source = OBJECT(1), .target = IMAGE, .event = id,
      .offset = ENDING, .region = {16, 16, 1})

/* Puts a command buffer with the command so many times, and frees the command. */
static void put_recording(struct wire_buffer *frame, uint32_t id, struct wire_buffer *command, unsigned times)
{
    const struct wire_create_command_buffer create = {id, OBJECT(1), 0};
    const struct wire_record record = {
        .command_buffer = id, .command = command->bytes, .command_length = (uint32_t)command->length};

    wire_put_create_command_buffer(frame, &create);
    while (times--)
        wire_put_record(frame, &record);
    wire_buffer_free(command);
}

/* A command buffer with a wrong command fails. */
static void recorded(struct wire_buffer *frame, uint32_t id)
{
    struct wire_buffer command = {0};

    fill_buffer(&command, 0);
    put_recording(frame, id, &command, 1);
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

/* ---- more memory than the session's limit of 128 KiB ---- */

/* The command's size field is 0. */
BOUND(image_unsaid, create_image, RGBA_IMAGE(id, 256, 256))

/* The number of pixels is within the limit, but not their bytes. */
BOUND(image_of_pixels, create_image, RGBA_IMAGE(id, 256, 200), .bytes = 1)

BOUND(large_pipe, create_pipe, id, OBJECT(1), 0, 1024, 1024)

BOUND(large_buffer, create_buffer, id, OBJECT(1), 1, 200000, 0, 0, NULL, 0)

BOUND(fill_inside, fill_buffer, ON_BUFFER, PATTERN(4), .size = 64)

static void long_recording(struct wire_buffer *frame, uint32_t id)
{
    struct wire_buffer command = {0};

    fill_inside(&command, 0);
    put_recording(frame, id, &command, 400);
}

/* Memory that the worker shares with the program, where the program allocates from the second page on. */
#ifdef __SANITIZE_THREAD__ /* which restricts where memory may be */
#define SHARED ((uint8_t *)0x4000000000)
#else
#define SHARED ((uint8_t *)0x230000000000)
#endif
#define SHARED_SIZE ((size_t)1 << 20)

static void put_argument(struct wire_buffer *list, uint32_t index, uint32_t what, uint32_t length, uint64_t value)
{
    wire_put_u32(list, index);
    wire_put_u32(list, what);
    wire_put_u32(list, length);
    wire_put_bytes(list, &value, length);
}

static void put_launch(struct wire_buffer *frame, uint32_t id, const uint8_t *memory)
{
    struct wire_buffer list = {0};
    struct wire_enqueue_ndrange m = {.queue = OBJECT(1),
                                     .kernel = OBJECT(1),
                                     .event = id,
                                     .global_count = 1,
                                     .global = {16},
                                     .local_count = 1,
                                     .local = {16}};

    put_argument(&list, 0, WIRE_ARGUMENT_SVM, 8, (uintptr_t)memory);
    put_argument(&list, 1, WIRE_ARGUMENT_VALUE, 4, 7);
    put_argument(&list, 2, WIRE_ARGUMENT_LOCAL, 8, 64);
    m.arguments = list.bytes;
    m.arguments_length = (uint32_t)list.length;
    wire_put_enqueue_ndrange(frame, &m);
    wire_buffer_free(&list);
}

static void put_counted(struct wire_buffer *frame, uint32_t id, uint64_t size)
{
    const struct wire_count_svm m = {.call = 9, .address = (uintptr_t)SHARED + 8192, .size = size};

    wire_put_count_svm(frame, &m);
    put_launch(frame, id, SHARED + 8192);
}

static void svm_unsaid(struct wire_buffer *frame, uint32_t id)
{
    put_launch(frame, id, SHARED + 8192);
}

static void large_svm(struct wire_buffer *frame, uint32_t id)
{
    put_counted(frame, id, 200000);
}

static void svm_freed(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_svm_free m = {(uintptr_t)SHARED + 8192};

    put_counted(frame, id + 1000, 4096);
    wire_put_svm_free(frame, &m);
    put_launch(frame, id, SHARED + 8192);
}

static void small_svm(struct wire_buffer *frame, uint32_t id)
{
    const struct wire_svm_free m = {(uintptr_t)SHARED + 8192};

    put_counted(frame, id, 4096);
    wire_put_svm_free(frame, &m);
}

static bool share(struct client *client)
{
    const int fd = memfd_create("bounds", MFD_CLOEXEC);
    const struct wire_share_memory m = {.call = 9,
                                        .address = (uintptr_t)SHARED,
                                        .size = SHARED_SIZE,
                                        .process = (uint32_t)getpid(),
                                        .descriptor = (uint32_t)fd,
                                        .nonce = bytes,
                                        .nonce_length = 16};
    struct wire_buffer frame = {0};

    if (fd < 0 || ftruncate(fd, SHARED_SIZE) || pwrite(fd, bytes, 16, 0) != 16)
        return false;
    wire_put_share_memory(&frame, &m);
    client_send(client, &frame);
    wire_buffer_free(&frame);
    return true;
}

static const struct bound small = {"shared memory that was told of", small_svm, WIRE_EVENT};

static const struct bound quotas[] = {{"an image that says nothing", image_unsaid, WIRE_MEMORY},
                                      {"an image of as many pixels", image_of_pixels, WIRE_MEMORY},
                                      {"a pipe", large_pipe, WIRE_MEMORY},
                                      {"a buffer", large_buffer, WIRE_MEMORY},
                                      {"shared memory that was not told of", svm_unsaid, WIRE_EVENT},
                                      {"shared memory that is too large", large_svm, WIRE_EVENT},
                                      {"shared memory that was freed", svm_freed, WIRE_EVENT},
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
    const struct wire_create_image image = {RGBA_IMAGE(IMAGE, 16, 16), .bytes = 1024};
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
        good = share(&client) && !is_refused(&client, &small, OBJECT(99)) && !client.lost &&
               all_refused(&client, quotas, sizeof(quotas) / sizeof(*quotas));
    else
        good = all_refused(&client, bounds, sizeof(bounds) / sizeof(*bounds));
    client_close(&client);
    return !good;
}
