/*
 * A hostile program: it opens a real session with a live worker, and breaks the protocol. It prints whether the worker
 * ended the session, which hostile.sh compares with what is expected, together with the worker's log.
 * usage: hostile names | hostile frame NAME | hostile flips SEED
 */
#include <stdio.h>

#include "tests/wire/client.h"

static const char sample_bytes[] = "some bytes, and an odd number";
/* ---- one broken frame in each session ---- */

static void put_raw(struct wire_buffer *frame, uint32_t length, uint32_t number)
{
    wire_put_u32(frame, length);
    wire_put_u32(frame, number);
}

static void put_marker(struct wire_buffer *frame, uint32_t queue, uint32_t event)
{
    struct wire_enqueue_marker m = {.queue = queue, .event = event};

    wire_put_enqueue_marker(frame, &m);
}

static void put_arguments(struct wire_buffer *frame, uint32_t index, uint32_t what, size_t length)
{
    static const uint8_t zeroes[64];
    struct wire_buffer list = {0};
    struct wire_set_arguments m = {.kernel = OBJECT(1)};

    wire_put_u32(&list, index);
    wire_put_u32(&list, what);
    wire_put_u32(&list, (uint32_t)length);
    wire_put_bytes(&list, zeroes, length);
    m.arguments = list.bytes;
    m.arguments_length = (uint32_t)list.length;
    wire_put_set_arguments(frame, &m);
    wire_buffer_free(&list);
}

/* Makes object 1 a command buffer, and records the command of a frame in it. */
static void put_recorded(struct wire_buffer *frame, struct wire_buffer *command, uint32_t point)
{
    static bool created;
    const struct wire_create_command_buffer create = {OBJECT(1), OBJECT(1), 1};
    const struct wire_record record = {OBJECT(1), &point, point != 0, command->bytes, (uint32_t)command->length};

    if (!created)
        wire_put_create_command_buffer(frame, &create);
    created = true;
    wire_put_record(frame, &record);
    wire_buffer_free(command);
}

static void put_barrier(struct wire_buffer *frame, uint32_t event)
{
    const struct wire_enqueue_barrier m = {.queue = OBJECT(1), .event = event};

    wire_put_enqueue_barrier(frame, &m);
}

/* SENDS(name, command, its fields): defines a function that puts the command into a frame. */
#define SENDS(name, command, ...)                                                                                      \
    static void name(struct wire_buffer *frame)                                                                        \
    {                                                                                                                  \
        const struct wire_##command m = {__VA_ARGS__};                                                                 \
                                                                                                                       \
        wire_put_##command(frame, &m);                                                                                 \
    }

/* HOLDS(name, statement): the same for anything else than one good command. */
#define HOLDS(name, ...)                                                                                               \
    static void name(struct wire_buffer *frame)                                                                        \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }

static uint8_t data[1 << 20];

/* Replaces a word of a frame, counted from the start of its header. */
static void put_word(struct wire_buffer *frame, unsigned at, uint32_t value)
{
    memcpy(frame->bytes + 4 * at, &value, sizeof(value));
}

HOLDS(put_nothing_wrong, put_marker(frame, OBJECT(1), 0))
HOLDS(put_empty, put_raw(frame, 0, WIRE_flush))
HOLDS(put_too_long, put_raw(frame, 4096, WIRE_flush))
HOLDS(put_odd_length, put_raw(frame, 12, WIRE_flush))
HOLDS(put_unknown, put_raw(frame, 8, 9999))
SENDS(put_note, event_status, .event = OBJECT(1))
SENDS(put_reply, list_platforms_reply, .call = 1)
HOLDS(put_no_queue, put_marker(frame, OBJECT(77), 0))
HOLDS(put_no_kernel, put_arguments(frame, 0, 1, 4); put_word(frame, 2, OBJECT(77)))
HOLDS(put_number_in_use, put_marker(frame, OBJECT(1), OBJECT(1)))
HOLDS(put_large_number, put_marker(frame, OBJECT(1), 0x01ffffff))
HOLDS(put_large_count, put_marker(frame, OBJECT(1), 0); put_word(frame, 5, 4000))
HOLDS(put_count_overflows, put_marker(frame, OBJECT(1), 0); put_word(frame, 5, 0x40000001))
SENDS(put_release_nothing, release, WIRE_EVENT, OBJECT(77))
SENDS(put_release_no_kind, release, 99, OBJECT(77))
HOLDS(put_argument_index, put_arguments(frame, 3, 1, 4))
HOLDS(put_value_for_buffer, put_arguments(frame, 0, 1, 8))
HOLDS(put_short_argument, put_arguments(frame, 2, 2, 4))
HOLDS(put_list_cut_off, put_arguments(frame, 1, 1, 4); put_word(frame, 6, 400))
SENDS(put_half_hint, create_queue, .queue = OBJECT(9), .context = OBJECT(1), .device = 1, .hints = (uint64_t[]){0x1096},
      .hints_length = 8)
SENDS(put_no_hint, create_queue, .queue = OBJECT(9), .context = OBJECT(1), .device = 1,
      .hints = (uint64_t[]){0x1094, 1}, .hints_length = 16)
SENDS(put_image_of_nothing, create_image, .image = OBJECT(9), .context = OBJECT(9), .object_type = 0x10f1)
/* PoCL itself ends the process for this. */
HOLDS(put_image_across, wire_put_create_context(frame, &(struct wire_create_context){OBJECT(5), &(uint32_t){1}, 1});
      wire_put_create_buffer(frame, &(struct wire_create_buffer){OBJECT(9), OBJECT(5), 1, 4096, 0, 0, NULL, 0});
      wire_put_create_image(frame, &(struct wire_create_image){RGBA_IMAGE(OBJECT(10), 16, 16), .row_pitch = 64,
                                                               .buffer = OBJECT(9)}))
/* Refused natively for its size; its data are under way all the same. */
SENDS(put_bulk, write_buffer, .queue = OBJECT(1), .buffer = OBJECT(1), .size = 100000, .tag = 7)
SENDS(put_no_data, write_buffer, .queue = OBJECT(1), .buffer = OBJECT(1), .size = 100000)

static void put_noise(struct wire_buffer *frame)
{
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)random_next();
    wire_put_bytes(frame, data, sizeof(data));
}

/* ---- command buffers, and repeated commands ---- */

static struct wire_buffer command;

HOLDS(put_marker_recorded, put_marker(&command, OBJECT(1), 0); put_recorded(frame, &command, 0))
HOLDS(put_event_recorded, put_barrier(&command, OBJECT(78)); put_recorded(frame, &command, 0))
HOLDS(put_two_recorded, put_barrier(&command, 0); put_barrier(&command, 0); put_recorded(frame, &command, 0))
HOLDS(put_later_point, put_barrier(&command, 0); put_recorded(frame, &command, 1))
SENDS(put_no_command_buffer, enqueue_command_buffer, .queue = OBJECT(1), .command_buffer = OBJECT(1))

static void put_again(struct wire_buffer *frame, uint16_t at, uint16_t words)
{
    const uint16_t patch[4] = {at, words, 0xffff, 0xffff};
    const struct wire_repeat m = {.times = 1, .patch = patch, .patch_length = words ? sizeof(patch) : 0};

    wire_put_repeat(frame, &m);
}

/* Natively it fails at worst. */
SENDS(put_launch, enqueue_ndrange, .queue = OBJECT(1), .kernel = OBJECT(1), .global_count = 1, .global = {1},
      .local_count = 1, .local = {1})

HOLDS(put_repeat_first, put_again(frame, 0, 0))
HOLDS(put_patch_beyond, put_launch(frame); put_again(frame, 1000, 1))
HOLDS(put_patch_header, put_launch(frame); put_again(frame, 1, 1))

/* ---- contents ---- */

SENDS(put_short_contents, create_buffer, OBJECT(2), OBJECT(1), 1, 4096, 0, 0, data, 4095)
SENDS(put_long_contents, create_image, RGBA_IMAGE(OBJECT(2), 4, 4), .bytes = 64, .data = data, .data_length = 68)
SENDS(put_contents_twice, create_buffer, OBJECT(2), OBJECT(1), 1, 4096, 7, 0, data, 4096)

/* ---- memory named by its address ---- */

#define ALLOC(which, ...)                                                                                              \
    SENDS(which, usm_alloc, .call = 9, .type = WIRE_USM_DEVICE, .properties = sample_bytes, __VA_ARGS__)
#define HERE .address = (uintptr_t)sample_bytes, .size = 16

ALLOC(put_alloc_no_context, .context = OBJECT(77), .device = 1, .size = 4096)
ALLOC(put_alloc_no_bytes, .context = OBJECT(1), .device = 1)
ALLOC(put_alloc_no_device, .context = OBJECT(1), .size = 4096)
ALLOC(put_half_property, .context = OBJECT(1), .device = 1, .size = 4096, .properties_length = 8)
SENDS(put_count_unshared, count_svm, .call = 9, .address = (uintptr_t)sample_bytes, .size = 16)
SENDS(put_hint, hint_usm, .queue = OBJECT(1), .what = WIRE_HINT_MIGRATE, HERE)
SENDS(put_read_address, read_svm, .queue = OBJECT(1), .tag = 9, HERE)
SENDS(put_half_pointer, set_exec_info, OBJECT(1), 0x4203, sample_bytes, 4)
SENDS(put_unknown_fact, set_exec_info, OBJECT(1), 0x7777, sample_bytes, 4)
SENDS(put_addressed_pointer, create_addressed_buffer, .call = 9, .buffer = OBJECT(9), .context = OBJECT(1),
      .flags = 1u << 3, .size = 4096)

SENDS(put_take, take, .memory = OBJECT(1), .part = PIECE(0, 64), .tag = 9)

/* ---- other workers, of which there are none; and contents outside of queues ---- */

SENDS(put_migrate_out_of_nothing, migrate_out, .memory = OBJECT(77), .peer = 1, .event = 1, .part = PIECE(0, 4))
SENDS(put_migrate_out_to_nobody, migrate_out, .memory = OBJECT(1), .peer = 40000, .event = OBJECT(5),
      .part = PIECE(0, 4096))
SENDS(put_migrate_out_to_itself, migrate_out, .memory = OBJECT(1), .peer = 1, .event = OBJECT(5),
      .part = PIECE(0, 4096))
SENDS(put_migrate_in_from_nobody, migrate_in, .queue = OBJECT(1), .memory = OBJECT(1), .event = OBJECT(5),
      .peer = 40000, .part = PIECE(0, 4096))
SENDS(put_event_for_nobody, export_event, OBJECT(1), 40000)
SENDS(put_large_region, read_rect, .queue = OBJECT(1), .buffer = OBJECT(1),
      .part = {WIRE_RECT, 17, {0}, {4, 4, 1}, {64, 256}}, .tag = 9)
SENDS(put_region_overflows, read_rect, .queue = OBJECT(1), .buffer = OBJECT(1),
      .part = {WIRE_RECT, 16, {0}, {UINT64_C(1) << 62, 4, 1}, {64, 256}}, .tag = 9)
SENDS(put_empty_region, take, .memory = OBJECT(1), .part = PIECE(0, 0), .tag = 9)
HOLDS(put_region_of_no_kind, put_take(frame); put_word(frame, 3, 3))
HOLDS(put_region_of_another_kind, put_take(frame); put_word(frame, 3, WIRE_RECT))
SENDS(put_bring_beyond, bring, .memory = OBJECT(1), .part = PIECE(UINT64_MAX - 7, 16), .data = sample_bytes,
      .data_length = 16)
SENDS(put_keep_beyond, keep, .memory = OBJECT(1), .contents = 9, .part = PIECE(UINT64_MAX - 7, 64))
SENDS(put_bring_not_kept, bring_kept, .memory = OBJECT(1), .contents = 9, .part = PIECE(0, 64))
SENDS(put_keep_of_nobody, keep_too, .contents = 9, .peer = 40000, .size = 64)
SENDS(put_keep_of_itself, keep_too, .contents = 9, .peer = 1, .size = 64)
HOLDS(put_keep_twice, for (int i = 0; i < 2; i++) wire_put_keep(frame, &(struct wire_keep){OBJECT(1), 9, PIECE(0, 64)}))
SENDS(put_take_beyond, take, .memory = OBJECT(1), .part = PIECE(UINT64_MAX - 7, 64), .tag = 9)

/* A session may write or read by address only memory that the program has placed. */
#define PLACE UINT64_C(0x21f000000000)
SENDS(put_place, svm_alloc, .call = 9, .context = OBJECT(1), .wanted = PLACE, .flags = 1, .size = 4096)
SENDS(put_bring_nowhere, bring_svm, .address = (uintptr_t)sample_bytes, .size = 16, .data = sample_bytes,
      .data_length = 16)
SENDS(put_take_nowhere, take_svm, .address = (uintptr_t)sample_bytes, .size = 16, .tag = 9)
SENDS(put_bring_past, bring_svm, .address = PLACE + 4088, .size = 16, .data = sample_bytes, .data_length = 16)
SENDS(put_bring_less, bring_svm, .address = PLACE, .size = 64, .data = sample_bytes, .data_length = 16)
SENDS(put_take_past, take_svm, .address = PLACE + 8, .size = 4096, .tag = 9)
SENDS(put_take_wrapped, take_svm, .address = PLACE + 8, .size = UINT64_MAX - 7, .tag = 9)
SENDS(put_take_untold, take_svm, .address = PLACE, .size = 64)
HOLDS(put_past, put_place(frame); put_bring_past(frame))
HOLDS(put_less, put_place(frame); put_bring_less(frame))
HOLDS(put_taken_past, put_place(frame); put_take_past(frame))
HOLDS(put_wrapped, put_place(frame); put_take_wrapped(frame))
HOLDS(put_untold, put_place(frame); put_take_untold(frame))

static const struct hostile {
    const char *name;
    void (*put)(struct wire_buffer *frame);
    size_t bulk; /* bytes that follow under tag 7 */
} cases[] = {
    {"nothing wrong", put_nothing_wrong, 0},
    {"empty command", put_empty, 0},
    {"length beyond the frame", put_too_long, 0},
    {"length no multiple", put_odd_length, 0},
    {"unknown command", put_unknown, 0},
    {"a note", put_note, 0},
    {"a reply", put_reply, 0},
    {"no such queue", put_no_queue, 0},
    {"no such kernel", put_no_kernel, 0},
    {"a number in use", put_number_in_use, 0},
    {"a number too large", put_large_number, 0},
    {"count beyond the frame", put_large_count, 0},
    {"count overflows", put_count_overflows, 0},
    {"release of nothing", put_release_nothing, 0},
    {"release of no kind", put_release_no_kind, 0},
    {"argument index", put_argument_index, 0},
    {"a value for a buffer", put_value_for_buffer, 0},
    {"argument too short", put_short_argument, 0},
    {"list cut off", put_list_cut_off, 0},
    {"half a hint for a queue", put_half_hint, 0},
    {"a queue's property that is no hint", put_no_hint, 0},
    {"image of nothing", put_image_of_nothing, 0},
    {"bulk too short", put_bulk, 1000},
    {"bulk too long", put_bulk, 200000},
    {"write without data", put_no_data, 0},
    {"a million bytes of noise", put_noise, 0},
    {"a marker, recorded", put_marker_recorded, 0},
    {"an event, recorded", put_event_recorded, 0},
    {"two commands, recorded as one", put_two_recorded, 0},
    {"a point that is yet to come", put_later_point, 0},
    {"no such command buffer", put_no_command_buffer, 0},
    {"repeat, before anything", put_repeat_first, 0},
    {"a patch beyond the command", put_patch_beyond, 0},
    {"a patch of the header", put_patch_header, 0},
    {"a migration of nothing", put_migrate_out_of_nothing, 0},
    {"contents shorter than their buffer", put_short_contents, 0},
    {"contents longer than their image", put_long_contents, 0},
    {"contents twice", put_contents_twice, 0},
    {"an image of another context's buffer", put_image_across, 0},
    {"an allocation in no context", put_alloc_no_context, 0},
    {"an allocation of no bytes", put_alloc_no_bytes, 0},
    {"an allocation of no device", put_alloc_no_device, 0},
    {"half a property", put_half_property, 0},
    {"an allocation where nothing is shared", put_count_unshared, 0},
    {"a hint about any address", put_hint, 0},
    {"a read of any address", put_read_address, 0},
    {"half a pointer for a kernel", put_half_pointer, 0},
    {"an unknown fact for a kernel", put_unknown_fact, 0},
    {"an addressed buffer of the program's", put_addressed_pointer, 0},
    {"a migration to nobody", put_migrate_out_to_nobody, 0},
    {"a migration to itself", put_migrate_out_to_itself, 0},
    {"contents fetched from nobody", put_migrate_in_from_nobody, 0},
    {"an event for nobody", put_event_for_nobody, 0},
    {"a rect of another size", put_large_region, 0},
    {"a rect whose size overflows", put_region_overflows, 0},
    {"a part of no bytes", put_empty_region, 0},
    {"a part of no kind", put_region_of_no_kind, 0},
    {"a part of another kind", put_region_of_another_kind, 0},
    {"contents brought beyond the end", put_bring_beyond, 0},
    {"contents taken beyond the end", put_take_beyond, 0},
    {"contents brought to any address", put_bring_nowhere, 0},
    {"contents taken from any address", put_take_nowhere, 0},
    {"contents brought beyond an allocation", put_past, 0},
    {"contents of an allocation, too short", put_less, 0},
    {"contents taken beyond an allocation", put_taken_past, 0},
    {"contents taken from all addresses", put_wrapped, 0},
    {"contents taken under no tag", put_untold, 0},
    {"contents kept from beyond the end", put_keep_beyond, 0},
    {"contents kept twice under a number", put_keep_twice, 0},
    {"contents brought that are not kept", put_bring_not_kept, 0},
    {"contents that nobody keeps", put_keep_of_nobody, 0},
    {"contents that the worker itself is to give", put_keep_of_itself, 0},
};
#define CASES (sizeof(cases) / sizeof(*cases))

static void ignore(void *argument, int status)
{
    (void)argument, (void)status;
}

static void run_case(const struct hostile *hostile)
{
    struct wire_buffer frame = {0};
    struct client client;

    client_open(&client);
    client_prologue(&client);
    hostile->put(&frame);
    client_send(&client, &frame);
    if (hostile->bulk)
        transport_give(client.transport, 1, 7, data, hostile->bulk, ignore, NULL);
    printf("%s: %s\n", hostile->name,
           client_ended_within(&client, hostile == cases ? 100 : 3000) ? "ended" : "goes on");
    client_close(&client);
    wire_buffer_free(&frame);
}

static const struct hostile *find(const char *name)
{
    for (size_t i = 0; i < CASES; i++) {
        if (!strcmp(cases[i].name, name))
            return &cases[i];
    }
    return NULL;
}

/* ---- bits flipped in good commands ---- */

static uint32_t fresh;

static void put_good(struct wire_buffer *frame, unsigned which)
{
    const uint32_t wait = OBJECT(1);
    struct wire_write_buffer write = {
        .queue = wait, .buffer = wait, .size = 29, .data = sample_bytes, .data_length = 29};
    struct wire_read_buffer read = {.queue = wait, .buffer = wait, .offset = 64, .size = 512, .tag = 5};
    struct wire_copy_buffer copy = {.queue = wait, .source = wait, .target = OBJECT(2), .size = 256};
    struct wire_fill_buffer fill = {
        .queue = wait, .buffer = wait, .pattern = sample_bytes, .pattern_length = 4, .size = 64};
    struct wire_enqueue_marker marker = {.queue = wait, .event = ++fresh, .wait = &wait, .wait_count = 1};
    struct wire_create_sub_buffer sub = {++fresh, wait, 1, 1024, 256};
    struct wire_create_user_event user = {++fresh, wait};
    struct wire_subscribe_event want = {wait, 1};
    struct wire_get_info info = {.call = 9, .kind = WIRE_INFO_MEMORY, .object = wait, .param = 0x1102};
    struct wire_outcome outcome = {9, WIRE_MEMORY, wait};
    struct wire_create_sampler sampler = {++fresh, wait, 1, 0x1131, 0x1140};
    struct wire_create_image image = {RGBA_IMAGE(++fresh, 16, 16)};
    struct wire_write_rect rect = {.queue = wait,
                                   .buffer = wait,
                                   .part = {WIRE_RECT, 16, {0}, {4, 4, 1}, {64, 256}},
                                   .data = sample_bytes,
                                   .data_length = 16};

    const struct wire_usm_alloc alloc = {.call = 9, .context = wait, .device = 1, .type = WIRE_USM_DEVICE, .size = 64};
    const struct wire_set_exec_info fact = {wait, 0x4203, sample_bytes, 16};
    const struct wire_create_addressed_buffer addressed = {9, ++fresh, wait, 1, 4096};

    switch (which % 20) {
    case 0:
        wire_put_write_buffer(frame, &write);
        break;
    case 1:
        wire_put_read_buffer(frame, &read);
        break;
    case 2:
        wire_put_copy_buffer(frame, &copy);
        break;
    case 3:
        wire_put_fill_buffer(frame, &fill);
        break;
    case 4:
        wire_put_enqueue_marker(frame, &marker);
        break;
    case 5:
        wire_put_create_sub_buffer(frame, &sub);
        break;
    case 6:
        wire_put_create_user_event(frame, &user);
        break;
    case 7:
        wire_put_subscribe_event(frame, &want);
        break;
    case 8:
        wire_put_get_info(frame, &info);
        break;
    case 9:
        wire_put_outcome(frame, &outcome);
        break;
    case 10:
        wire_put_create_sampler(frame, &sampler);
        break;
    case 11:
        wire_put_create_image(frame, &image);
        break;
    case 12:
        wire_put_write_rect(frame, &rect);
        break;
    case 13:
        put_arguments(frame, 1, 1, 4);
        break;
    case 14:
        put_arguments(frame, 2, 2, 8);
        break;
    case 15:
        wire_put_copy_buffer(&command, &copy);
        put_recorded(frame, &command, 0);
        break;
    case 16:
        wire_put_fill_buffer(&command, &fill);
        put_recorded(frame, &command, 0);
        break;
    case 17:
        wire_put_usm_alloc(frame, &alloc);
        break;
    case 18:
        wire_put_set_exec_info(frame, &fact);
        break;
    case 19:
        wire_put_create_addressed_buffer(frame, &addressed);
        break;
    }
}

/* Sends flipped commands until the worker ends the session. */
static void run_flips(unsigned seed)
{
    struct wire_buffer frame = {0};
    struct client client;
    unsigned frames = 0;

    random_seed(seed);
    fresh = OBJECT(100);
    client_open(&client);
    client_prologue(&client);
    while (frames < 2000 && !client.lost) {
        put_good(&frame, (unsigned)random_next());
        for (unsigned flips = 1 + random_next() % 3; flips; flips--)
            frame.bytes[random_next() % frame.length] ^= (uint8_t)(1u << random_next() % 8);
        client_send(&client, &frame);
        frames++;
        transport_poll(client.transport);
    }
    printf("%u frames: %s\n", frames, client_ended_within(&client, 3000) ? "ended" : "goes on");
    client_close(&client);
    wire_buffer_free(&frame);
}

int main(int count, char **arguments)
{
    const char *verb = count > 1 ? arguments[1] : "";
    const struct hostile *hostile = count == 3 ? find(arguments[2]) : NULL;

    if (count == 2 && !strcmp(verb, "names")) {
        for (size_t i = 0; i < CASES; i++)
            puts(cases[i].name);
    } else if (!strcmp(verb, "frame") && hostile) {
        run_case(hostile);
    } else if (count == 3 && !strcmp(verb, "flips")) {
        run_flips((unsigned)atoi(arguments[2]));
    } else {
        return 99;
    }
    return 0;
}
