/*
 * numbers POOLFILE NUMBER SIZE: gets a device, has a worker of this number started there for a session of so many
 * members, which nobody waits for, and prints the daemon's answer.
 */
#include <stdio.h>
#include <stdlib.h>

#include "pool/client.h"

enum { HEX_DIGITS = 64 };

static json_t *start_of(const json_t *grant, int number, int size)
{
    const json_t *part = json_object_get(json_array_get(json_object_get(grant, "nodes"), 0), "part");

    return json_pack("{s:s, s:O, s:s, s:s%, s:i, s:i, s:b, s:[]}", "do", "start", "session", part, "endpoint",
                     "tcp:127.0.0.1:1", "secret", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                     (size_t)HEX_DIGITS, "rank", number, "size", size, "joins", 1, "environment");
}

int main(int count, char **words)
{
    json_t *request = json_pack("{s:s}", "do", "request"), *answer = NULL, *start;
    struct client broker, node;
    struct poolfile pool;
    char why[512] = "";
    int error = 0;

    if (count != 4 || poolfile_read_file(&pool, words[1], why, sizeof(why))) {
        fprintf(stderr, "usage: numbers POOLFILE NUMBER SIZE %s\n", why);
        return 2;
    }
    if (client_ask(&broker, &pool, NULL, request, &answer, why, sizeof(why))) {
        printf("no device: %s\n", why);
        return 1;
    }
    start = start_of(answer, atoi(words[2]), atoi(words[3]));
    json_decref(answer);
    error = client_ask(&node, &pool, NULL, start, &answer, why, sizeof(why));
    puts(error ? why : json_object_get(answer, "started") ? "started" : "not started");
    return 0;
}
