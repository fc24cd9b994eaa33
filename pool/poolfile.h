/*
 * The pool file: how to find a pool's daemons and to prove who one is. Lines of a word and its values; # begins a
 * comment:
 *
 *     node NAME HOST:PORT     one for each daemon; the order in which they are asked
 *     auth munge|key          default munge
 *     key-file PATH           of auth key; default ~/.config/vocl/key
 *     munge-socket PATH
 *     network mpi|tls         what carries sessions; default what the daemons say
 *     daemon-uid UID          whose daemons they are; default 0
 */
#ifndef VOCL_POOL_POOLFILE_H
#define VOCL_POOL_POOLFILE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#define POOLFILE_NODES 2048

struct poolfile_node {
    char name[64], address[128];
};

struct poolfile {
    struct poolfile_node nodes[POOLFILE_NODES];
    unsigned count;
    char method[16], network[8];
    char *key_file, *munge_socket, *user;
    uid_t daemon;
};

/* where: VOCL_POOL, a file or addresses with commas between them, whose daemons say how they authenticate; NULL or "":
 * the default file. 0, or negative errno and why. */
int poolfile_read(struct poolfile *pool, const char *where, char *why, size_t why_size);
int poolfile_read_file(struct poolfile *pool, const char *path, char *why, size_t why_size);
void poolfile_free(struct poolfile *pool);

#endif
