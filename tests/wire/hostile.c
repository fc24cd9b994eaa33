/*
 * A hostile application: it opens a real session with a live worker, and breaks the protocol. It prints whether the
 * worker ended the session, which hostile.sh compares with what should be, together with the worker's log.
 * usage: hostile frame NUMBER | hostile flips SEED
 */
#include <stdio.h>

#include "tests/wire/client.h"

static const char sample_bytes[] = "some bytes, and an odd number";
/* ---- one broken frame for each session ---- */

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

/* Object 1 becomes a command buffer, in which the command of a frame is recorded. */
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

static const char *const cases[] = {"nothing wrong",
                                    "empty command",
                                    "length beyond the frame",
                                    "length no multiple",
                                    "unknown command",
                                    "a note",
                                    "a reply",
                                    "no such queue",
                                    "no such kernel",
                                    "a number in use",
                                    "a number too large",
                                    "count beyond the frame",
                                    "count overflows",
                                    "release of nothing",
                                    "release of no kind",
                                    "argument index",
                                    "a value for a buffer",
                                    "argument too short",
                                    "list cut off",
                                    "image of nothing",
                                    "bulk too short",
                                    "bulk too long",
                                    "write without data",
                                    "a million bytes of noise",
                                    "a marker, recorded",
                                    "an event, recorded",
                                    "two commands, recorded as one",
                                    "a point that is yet to come",
                                    "no such command buffer",
                                    "again, before anything",
                                    "a patch beyond the command",
                                    "a patch of the header",
                                    "a loan of nothing",
                                    "contents shorter than their buffer",
                                    "contents longer than their image",
                                    "contents twice",
                                    "an allocation in no context",
                                    "an allocation of no bytes",
                                    "an allocation of no device",
                                    "half a property",
                                    "an allocation where nothing is shared",
                                    "a hint about any address",
                                    "a read of any address",
                                    "half a pointer for a kernel",
                                    "an unknown fact for a kernel",
                                    "an addressed buffer of the program's",
                                    "a loan to nobody",
                                    "a loan to itself",
                                    "contents fetched from nobody",
                                    "an event for nobody",
                                    "contents brought beyond the end",
                                    "contents taken beyond the end"};

/* Memory that is named by address. */
static void put_address_case(struct wire_buffer *frame, unsigned which)
{
    struct wire_usm_alloc alloc = {.call = 9,
                                   .context = OBJECT(1),
                                   .device = 1,
                                   .type = WIRE_USM_DEVICE,
                                   .size = 4096,
                                   .properties = sample_bytes};
    const struct wire_hint_usm hint = {
        .queue = OBJECT(1), .what = WIRE_HINT_MIGRATE, .address = (uintptr_t)sample_bytes, .size = 16};
    const struct wire_read_svm read = {.queue = OBJECT(1), .address = (uintptr_t)sample_bytes, .size = 16, .tag = 9};
    const struct wire_set_exec_info pointer = {OBJECT(1), 0x4203, sample_bytes, 4},
                                    unknown = {OBJECT(1), 0x7777, sample_bytes, 4};
    const struct wire_create_addressed_buffer buffer = {
        .call = 9, .buffer = OBJECT(9), .context = OBJECT(1), .flags = 1u << 3, .size = 4096};

    switch (which) {
    case 0:
        alloc.context = OBJECT(77);
        break;
    case 1:
        alloc.size = 0;
        break;
    case 2:
        alloc.device = 0;
        break;
    case 3:
        alloc.properties_length = 8;
        break;
    case 4:
        alloc.wanted = (uintptr_t)sample_bytes;
        break;
    case 5:
        wire_put_hint_usm(frame, &hint);
        return;
    case 6:
        wire_put_read_svm(frame, &read);
        return;
    case 7:
        wire_put_set_exec_info(frame, &pointer);
        return;
    case 8:
        wire_put_set_exec_info(frame, &unknown);
        return;
    case 9:
        wire_put_create_addressed_buffer(frame, &buffer);
        return;
    }
    wire_put_usm_alloc(frame, &alloc);
}

/* Other workers, of which there is none; and contents outside of queues. */
static void put_peer_case(struct wire_buffer *frame, unsigned which)
{
    const struct wire_lend loan = {
        .memory = OBJECT(1), .peer = which ? 1 : 40000, .event = OBJECT(5), .part = PIECE(0, 4096)};
    const struct wire_fetch fetch = {
        .queue = OBJECT(1), .memory = OBJECT(1), .event = OBJECT(5), .peer = 40000, .part = PIECE(0, 4096)};
    const struct wire_export_event event = {OBJECT(1), 40000};
    const struct wire_bring bring = {
        .memory = OBJECT(1), .part = PIECE(UINT64_MAX - 7, 16), .data = sample_bytes, .data_length = 16};
    const struct wire_take take = {.memory = OBJECT(1), .part = PIECE(UINT64_MAX - 7, 64), .tag = 9};

    switch (which) {
    case 0:
    case 1:
        wire_put_lend(frame, &loan);
        return;
    case 2:
        wire_put_fetch(frame, &fetch);
        return;
    case 3:
        wire_put_export_event(frame, &event);
        return;
    case 4:
        wire_put_bring(frame, &bring);
        return;
    }
    wire_put_take(frame, &take);
}

static void put_again(struct wire_buffer *frame, uint16_t at, uint16_t words)
{
    const uint16_t patch[4] = {at, words, 0xffff, 0xffff};
    const struct wire_again m = {.times = 1, .patch = patch, .patch_length = words ? sizeof(patch) : 0};

    wire_put_again(frame, &m);
}

/* One that fails natively, at most. */
static void put_launch(struct wire_buffer *frame)
{
    const struct wire_enqueue_ndrange m = {
        .queue = OBJECT(1), .kernel = OBJECT(1), .global_count = 1, .global = {1}, .local_count = 1, .local = {1}};

    wire_put_enqueue_ndrange(frame, &m);
}

static void put_case(struct wire_buffer *frame, unsigned which)
{
    static uint8_t data[1 << 20];
    struct wire_write_buffer write = {.queue = OBJECT(1), .buffer = OBJECT(1), .size = 100000, .tag = 7};
    struct wire_create_image image = {.image = OBJECT(9), .context = OBJECT(9), .object_type = 0x10f1};
    struct wire_release release = {8, OBJECT(77)};
    struct wire_event_status note = {.event = OBJECT(1)};
    struct wire_list_platforms_reply reply = {.call = 1};
    const struct wire_lend loan = {.memory = OBJECT(77), .peer = 1, .event = 1, .part = PIECE(0, 4)};
    struct wire_enqueue_command_buffer run = {.queue = OBJECT(1), .command_buffer = OBJECT(1)};
    struct wire_buffer command = {0};

    switch (which) {
    case 0:
        put_marker(frame, OBJECT(1), 0);
        break;
    case 1:
        put_raw(frame, 0, WIRE_flush);
        break;
    case 2:
        put_raw(frame, 4096, WIRE_flush);
        break;
    case 3:
        put_raw(frame, 12, WIRE_flush);
        break;
    case 4:
        put_raw(frame, 8, 9999);
        break;
    case 5:
        wire_put_event_status(frame, &note);
        break;
    case 6:
        wire_put_list_platforms_reply(frame, &reply);
        break;
    case 7:
        put_marker(frame, OBJECT(77), 0);
        break;
    case 8:
        put_arguments(frame, 0, 1, 4);
        ((uint32_t *)(void *)frame->bytes)[2] = OBJECT(77);
        break;
    case 9:
        put_marker(frame, OBJECT(1), OBJECT(1));
        break;
    case 10:
        put_marker(frame, OBJECT(1), 0x01ffffff);
        break;
    case 11:
        put_marker(frame, OBJECT(1), 0);
        ((uint32_t *)(void *)frame->bytes)[5] = 4000;
        break;
    case 12:
        put_marker(frame, OBJECT(1), 0);
        ((uint32_t *)(void *)frame->bytes)[5] = 0x40000001;
        break;
    case 13:
        wire_put_release(frame, &release);
        break;
    case 14:
        release.kind = 99;
        wire_put_release(frame, &release);
        break;
    case 15:
        put_arguments(frame, 3, 1, 4);
        break;
    case 16:
        put_arguments(frame, 0, 1, 8);
        break;
    case 17:
        put_arguments(frame, 2, 2, 4);
        break;
    case 18:
        put_arguments(frame, 1, 1, 4);
        ((uint32_t *)(void *)frame->bytes)[6] = 400;
        break;
    case 19:
        wire_put_create_image(frame, &image);
        break;
    case 20:
    case 21:
        wire_put_write_buffer(frame, &write);
        write.size =
            4096; /* of the buffer; the command's size is refused natively, its data is on the way all the same */
        break;
    case 22:
        write.tag = 0;
        wire_put_write_buffer(frame, &write);
        break;
    case 23:
        for (size_t i = 0; i < sizeof(data); i++)
            data[i] = (uint8_t)random_next();
        wire_put_bytes(frame, data, sizeof(data));
        break;
    case 24:
        put_marker(&command, OBJECT(1), 0);
        put_recorded(frame, &command, 0);
        break;
    case 25:
        put_barrier(&command, OBJECT(78));
        put_recorded(frame, &command, 0);
        break;
    case 26:
        put_barrier(&command, 0);
        put_barrier(&command, 0);
        put_recorded(frame, &command, 0);
        break;
    case 27:
        put_barrier(&command, 0);
        put_recorded(frame, &command, 1);
        break;
    case 28:
        wire_put_enqueue_command_buffer(frame, &run);
        break;
    case 29:
        put_again(frame, 0, 0);
        break;
    case 30:
        put_launch(frame);
        put_again(frame, 1000, 1);
        break;
    case 31:
        put_launch(frame);
        put_again(frame, 1, 1);
        break;
    case 32:
        wire_put_lend(frame, &loan);
        break;
    case 33:
        wire_put_create_buffer(frame, &(struct wire_create_buffer){OBJECT(2), OBJECT(1), 1, 4096, 0, 0, data, 4095});
        break;
    case 34:
        wire_put_create_image(frame, &(struct wire_create_image){RGBA_IMAGE(OBJECT(2), 4, 4), .bytes = 64, .data = data,
                                                                 .data_length = 68});
        break;
    case 35:
        wire_put_create_buffer(frame, &(struct wire_create_buffer){OBJECT(2), OBJECT(1), 1, 4096, 7, 0, data, 4096});
        break;
    default:
        if (which < 46)
            put_address_case(frame, which - 36);
        else
            put_peer_case(frame, which - 46);
    }
}

static void ignore(void *argument, int status)
{
    (void)argument, (void)status;
}

static void run_case(unsigned which)
{
    static uint8_t data[200000];
    struct wire_buffer frame = {0};
    struct client client;

    client_open(&client);
    client_prologue(&client);
    put_case(&frame, which);
    client_send(&client, &frame);
    if (which == 20 || which == 21)
        transport_give(client.transport, 1, 7, data, which == 20 ? 1000 : sizeof(data), ignore, NULL);
    printf("%s: %s\n", cases[which], client_ended_within(&client, which ? 3000 : 100) ? "ended" : "goes on");
    client_close(&client);
    wire_buffer_free(&frame);
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
    struct wire_want_event want = {wait, 1};
    struct wire_get_info info = {.call = 9, .kind = WIRE_INFO_MEMORY, .object = wait, .param = 0x1102};
    struct wire_outcome outcome = {9, WIRE_MEMORY, wait};
    struct wire_create_sampler sampler = {++fresh, wait, 1, 0x1131, 0x1140};
    struct wire_create_image image = {RGBA_IMAGE(++fresh, 16, 16)};
    struct wire_write_rect rect = {.queue = wait,
                                   .buffer = wait,
                                   .origin_count = 3,
                                   .region_count = 3,
                                   .region = {4, 4, 1},
                                   .row_pitch = 64,
                                   .slice_pitch = 256,
                                   .data = sample_bytes,
                                   .data_length = 16};

    const struct wire_usm_alloc alloc = {.call = 9, .context = wait, .device = 1, .type = WIRE_USM_DEVICE, .size = 64};
    const struct wire_set_exec_info fact = {wait, 0x4203, sample_bytes, 16};
    const struct wire_create_addressed_buffer addressed = {9, ++fresh, wait, 1, 4096};
    struct wire_buffer command = {0};

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
        wire_put_want_event(frame, &want);
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

/* Flipped commands until the worker has had enough. */
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
    unsigned number = count == 3 ? (unsigned)atoi(arguments[2]) : 0;

    if (count == 3 && !strcmp(arguments[1], "frame") && number < sizeof(cases) / sizeof(*cases))
        run_case(number);
    else if (count == 3 && !strcmp(arguments[1], "flips"))
        run_flips(number);
    else
        return 99;
    return 0;
}
