/* crowd POOLFILE USER NUMBER: opens so many connections of an authenticated user, each of which asks something. Prints
 * "in N" and holds them until standard input ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pool/client.h"

int main(int count, char **words)
{
    const int number = count > 3 ? atoi(words[3]) : 0;
    struct client *clients = calloc((size_t)number + 1, sizeof(*clients));
    struct rlimit files = {4096, 4096};
    struct poolfile pool;
    char why[512] = "", byte;
    int in = 0;

    setrlimit(RLIMIT_NOFILE, &files);
    if (!clients || count < 4 || poolfile_read_file(&pool, words[1], why, sizeof(why))) {
        fprintf(stderr, "usage: crowd POOLFILE USER NUMBER %s\n", why);
        return 2;
    }
    pool.user = strdup(words[2]);
    for (int i = 0; i < number; i++) {
        json_t *question = json_pack("{s:s}", "do", "status"), *answer;

        if (!client_connect(&clients[in], &pool, pool.nodes[0].address, why, sizeof(why))) {
            if (client_call(&clients[in], question, &answer, why, sizeof(why))) {
                client_close(&clients[in]);
            } else {
                json_decref(answer);
                in++;
            }
        }
        json_decref(question);
    }
    printf("in %d: %s\n", in, why);
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    return 0;
}
