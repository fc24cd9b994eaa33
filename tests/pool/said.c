/* What a client of the pool sends and receives, seen from the other end of its connection: no text is cut within a
 * character. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "pool/client.h"
#include "tests/expect.h"

int main(void)
{
    struct channel daemon = {.is_daemon = true};
    struct client client = {.fd = -1};
    char letters[401] = "", why[256];
    json_t *answer = NULL, *question = json_pack("{s:s}", "do", "status"), *refusal;
    uint8_t *record;
    size_t length;
    int ends[2];

    EXPECT(!channel_prepare() && !socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    client.fd = ends[0];
    EXPECT(client_send(&client, NULL) == -ENOMEM);
    client_explain(&client, -ENOMEM, why, sizeof(why));
    EXPECT(strstr(why, "not UTF-8"));

    for (unsigned i = 0; i < 200; i++)
        strcat(letters, "\303\251");
    refusal = json_pack("{s:s}", "error", letters);
    record = channel_seal(&daemon, refusal, &length);
    EXPECT(record && send(ends[1], record, length, 0) == (ssize_t)length);
    EXPECT(client_call(&client, question, &answer, why, sizeof(why)) == -EPROTO);
    EXPECT(strlen(why) == sizeof(why) - 2);
    answer = json_string(why);
    EXPECT(answer);

    json_decref(answer);
    json_decref(refusal);
    json_decref(question);
    free(record);
    client_close(&client);
    return 0;
}
