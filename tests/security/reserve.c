/* reserve POOLFILE USER NUMBER: requests a device so many times in that user's name, and starts nothing. Prints
 * "granted N" and why not more, and holds them until standard input ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pool/client.h"

int main(int count, char **words)
{
    const int number = count > 3 ? atoi(words[3]) : 0;
    struct poolfile pool;
    char why[512] = "", byte;
    int granted = 0;

    if (count < 4 || poolfile_read_file(&pool, words[1], why, sizeof(why))) {
        fprintf(stderr, "usage: reserve POOLFILE USER NUMBER %s\n", why);
        return 2;
    }
    pool.user = strdup(words[2]);
    for (int i = 0; i < number; i++) {
        json_t *question = json_pack("{s:s}", "do", "request"), *answer;
        struct client client; /* stays open */

        if (!client_connect(&client, &pool, pool.nodes[0].address, why, sizeof(why)) &&
            !client_call(&client, question, &answer, why, sizeof(why)))
            granted++;
    }
    printf("granted %d: %s\n", granted, why);
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    return 0;
}
