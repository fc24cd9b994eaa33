/* The output of VOCL_TRACE, on both sides. */
#include "base/log.h"
#include "wire/wire.h"

void wire_trace(const char *direction, unsigned peer, const void *bytes, size_t length)
{
    struct wire_cursor frame = wire_cursor(bytes, length), fields;
    const uint8_t *command = frame.at;
    uint16_t number;
    char text[512];

    if (!vocl_tracing())
        return;
    while (wire_next(&frame, &number, &fields) == 1) {
        wire_show(command, (size_t)(frame.at - command), text, sizeof(text));
        vocl_trace("%s %u: %s", direction, peer, text);
        command = frame.at;
    }
}
