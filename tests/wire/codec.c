/*
 * The codec, for every command of commands.def: encoded commands are decoded; every truncation is refused; values and
 * lists beyond their limits are refused; printing a command does not read beyond it. With a folder as its argument,
 * writes each sample there instead, as a seed of the fuzzer.
 */
#include <stdio.h>

#include "tests/wire/samples.h"

static int failures;

static void expect(bool holds, const char *name, const char *what)
{
    if (holds)
        return;
    printf("%s: %s\n", name, what);
    failures++;
}

/* Returns a copy that ends where its block of memory ends, so that the sanitizers catch reads beyond it. */
static uint8_t *exact_copy(const void *bytes, size_t length)
{
    uint8_t *copy = malloc(length ? length : 1);

    if (!copy)
        abort();
    memcpy(copy, bytes, length);
    return copy;
}

static void show_all(const uint8_t *command, size_t length)
{
    for (size_t room = 0; room < 600; room += 7) {
        char *text = malloc(room + 1);

        wire_show(command, length, text, room);
        free(text);
    }
}

/* Tests every shorter length, with the length in the header as it was and reduced. */
static void truncate(const char *name, const struct wire_buffer *good, bool (*decodes)(struct wire_cursor *))
{
    for (uint32_t length = WIRE_HEADER; length < good->length; length += 8) {
        uint8_t *copy = exact_copy(good->bytes, length);
        struct wire_cursor frame = wire_cursor(copy, length), fields;
        uint16_t number;

        expect(wire_next(&frame, &number, &fields) < 0, name, "a frame shorter than its command is taken");
        memcpy(copy, &length, sizeof(length));
        frame = wire_cursor(copy, length);
        if (wire_next(&frame, &number, &fields) == 1)
            expect(!decodes(&fields) || good->length - length < 8, name, "a command without its last fields is taken");
        show_all(copy, length);
        free(copy);
    }
}

#define TEST(name, number)                                                                                             \
    static bool decodes_##name(struct wire_cursor *fields)                                                             \
    {                                                                                                                  \
        struct wire_##name m;                                                                                          \
                                                                                                                       \
        return wire_get_##name(fields, &m);                                                                            \
    }                                                                                                                  \
                                                                                                                       \
    static void test_##name(struct sampler_state *state)                                                               \
    {                                                                                                                  \
        struct wire_##name in, out;                                                                                    \
        struct wire_buffer buffer = {0};                                                                               \
        struct wire_cursor frame, fields;                                                                              \
        uint16_t found = 0;                                                                                            \
                                                                                                                       \
        fill_##name(&in, state);                                                                                       \
        wire_put_##name(&buffer, &in);                                                                                 \
        expect(!buffer.failed && buffer.length % 8 == 0, #name, "is not encoded");                                     \
        frame = wire_cursor(buffer.bytes, buffer.length);                                                              \
        expect(wire_next(&frame, &found, &fields) == 1 && found == (number) && frame.left == 0, #name, "number");      \
        expect(wire_get_##name(&fields, &out) && same_##name(&in, &out), #name, "is not decoded as it was");           \
        expect(strcmp(wire_name(number), "unknown"), #name, "has no name");                                            \
        show_all(buffer.bytes, buffer.length);                                                                         \
        truncate(#name, &buffer, decodes_##name);                                                                      \
        wire_buffer_free(&buffer);                                                                                     \
    }
#define SEND(name, number) TEST(name, number)
#define NOTE(name, number) TEST(name, number)
#define PEER(name, number) TEST(name, number)
#define CALL(name, number) TEST(name, number)
#define REPLY(name) TEST(name##_reply, WIRE_##name | WIRE_REPLY)
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"

static void test_all(struct sampler_state *state)
{
#define SEND(name, number) test_##name(state);
#define NOTE(name, number) test_##name(state);
#define PEER(name, number) test_##name(state);
#define CALL(name, number) test_##name(state);
#define REPLY(name) test_##name##_reply(state);
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
}

static void test_limits(void)
{
    const struct wire_release kinds[] = {{0, 1}, {WIRE_KIND_LAST + 1, 1}, {UINT32_MAX, 1}};
    struct wire_subscribe_event want = {1, 8};
    struct wire_migrate flags = {.flags = 4};
    struct wire_enqueue_marker waits = {.wait_count = WIRE_MAX_WAIT + 1};
    struct wire_buffer buffer = {0};

    for (size_t i = 0; i < 3; i++) {
        wire_put_release(&buffer, &kinds[i]);
        expect(!decodes_release(&(struct wire_cursor){buffer.bytes + WIRE_HEADER, buffer.length - WIRE_HEADER, false}),
               "release", "a kind that does not exist is taken");
        buffer.length = 0;
    }
    wire_put_subscribe_event(&buffer, &want);
    expect(
        !decodes_subscribe_event(&(struct wire_cursor){buffer.bytes + WIRE_HEADER, buffer.length - WIRE_HEADER, false}),
        "subscribe_event", "a mask beyond its range is taken");
    buffer.length = 0;
    wire_put_migrate(&buffer, &flags);
    expect(!decodes_migrate(&(struct wire_cursor){buffer.bytes + WIRE_HEADER, buffer.length - WIRE_HEADER, false}),
           "migrate", "an unknown flag is taken");
    buffer.length = 0;
    waits.wait = calloc(waits.wait_count, sizeof(uint32_t));
    wire_put_enqueue_marker(&buffer, &waits);
    expect(buffer.failed, "enqueue_marker", "a list beyond its limit is encoded");
    free((void *)(uintptr_t)waits.wait);
    wire_buffer_free(&buffer);
}

static void test_headers(void)
{
    static const uint32_t headers[][2] = {{0, 1}, {4, 1}, {12, 1}, {16, 1}, {UINT32_MAX - 7, 1}, {8, 0x10001}};

    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
        struct wire_cursor frame = wire_cursor(headers[i], sizeof(headers[i])), fields;
        uint16_t number;

        expect(wire_next(&frame, &number, &fields) < 0, "frame", "an impossible header is taken");
    }
}

static void write_sample(const char *folder, const char *name, struct wire_buffer *buffer)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    if (!file || fwrite(buffer->bytes, 1, buffer->length, file) != buffer->length || fclose(file)) {
        perror(path);
        exit(1);
    }
    buffer->length = 0;
}

static void write_samples(const char *folder)
{
    struct sampler_state state = {1};
    struct wire_buffer buffer = {0};

#define WRITE(name)                                                                                                    \
    {                                                                                                                  \
        struct wire_##name m;                                                                                          \
        fill_##name(&m, &state);                                                                                       \
        wire_put_##name(&buffer, &m);                                                                                  \
        write_sample(folder, #name, &buffer);                                                                          \
    }
#define SEND(name, number) WRITE(name)
#define NOTE(name, number) WRITE(name)
#define PEER(name, number) WRITE(name)
#define CALL(name, number) WRITE(name)
#define REPLY(name) WRITE(name##_reply)
#include "wire/fields.h"
#include "wire/commands.def"
#include "wire/fields_end.h"
    wire_buffer_free(&buffer);
}

/* A patched command equals the intended one, however many words differ; a patch that does not fit is refused. */
static void test_patches(struct sampler_state *state)
{
    uint8_t before[256], after[256], patch[WIRE_MAX_PATCH];
    uint32_t length = 0;

    for (int round = 0; round < 1000; round++) {
        for (size_t i = 0; i < sizeof(before); i++)
            before[i] = (uint8_t)(i * 7);
        memcpy(after, before, sizeof(after));
        for (int change = 0; change < round % 12; change++)
            after[WIRE_HEADER + (size_t)(draw(&state->random) % (sizeof(after) - WIRE_HEADER))] ^= 0x55;
        length = wire_diff(before, after, sizeof(before), patch);
        if (length == WIRE_NO_PATCH)
            continue;
        if (!wire_patch(before, sizeof(before), patch, length) || memcmp(before, after, sizeof(after)))
            expect(false, "patch", "makes something else");
    }
    for (uint32_t cut = 1; cut < 12; cut++) {
        const uint16_t words[6] = {3, 2, 1, 2, 3, 4};

        if (wire_patch(before, sizeof(before), words, cut))
            expect(false, "patch", "is taken though cut off");
    }
    for (uint16_t at = 0; at < 2; at++) {
        const uint16_t words[4] = {at ? 64 : 1, 1, 0, 0};

        if (wire_patch(before, sizeof(before), words, sizeof(words)))
            expect(false, "patch", "is taken though outside of the fields");
    }
}

int main(int count, char **arguments)
{
    struct sampler_state state = {42};

    if (count > 1) {
        write_samples(arguments[1]);
        return 0;
    }
    for (int round = 0; round < 50; round++)
        test_all(&state);
    test_limits();
    test_headers();
    test_patches(&state);
    return failures ? 1 : 0;
}
