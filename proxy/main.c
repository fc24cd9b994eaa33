/* vocl-proxy: the process on a node that has devices. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "config.h"

#include "proxy/worker.h"

static void usage(FILE *to)
{
    fputs("usage: vocl-proxy --worker\n"
          "  --worker   serve one session: started by VOCL, or by mpiexec beside the program that is served\n"
          "  --help     this text\n"
          "  --version\n",
          to);
}

int main(int count, char **arguments)
{
    static const struct option options[] = {{"worker", no_argument, NULL, 'w'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"version", no_argument, NULL, 'v'},
                                            {NULL, 0, NULL, 0}};
    int option, worker = 0;

    while ((option = getopt_long(count, arguments, "", options, NULL)) != -1) {
        switch (option) {
        case 'w':
            worker = 1;
            break;
        case 'h':
            usage(stdout);
            return 0;
        case 'v':
            puts("vocl-proxy " PACKAGE_VERSION);
            return 0;
        default:
            usage(stderr);
            return 2;
        }
    }
    if (!worker || optind < count) {
        usage(stderr);
        return 2;
    }
    return worker_run();
}
