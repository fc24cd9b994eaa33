/*
 * The pool file: how to find a pool's daemons, and how to authenticate to them. Each line has a word and its values; #
 * begins a comment:
 *
 *     node NAME HOST:PORT     one for each daemon, in the order in which they are tried
 *     auth munge|key          default munge
 *     key-file PATH           for auth key; default ~/.config/vocl/key
 *     munge-socket PATH
 *     network mpi|tls         the network of sessions; default: as the daemons say
 *     daemon-uid UID          the user that the daemons run as; default 0
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
    char *key_file, *munge_socket, *user, *key;
    uid_t daemon;
};

/* where: the value of VOCL_POOL, which is a file, or addresses separated by commas, whose daemons say how they
 * authenticate; NULL or "": the default file. Returns 0, or a negative errno with the reason in why. */
int poolfile_read(struct poolfile *pool, const char *where, char *why, size_t why_size);
int poolfile_read_file(struct poolfile *pool, const char *path, char *why, size_t why_size);
/* Takes the user and the key from the settings POOL_USER and POOL_KEY, where these are not empty. Returns 0 or
 * -ENOMEM. */
int poolfile_take_settings(struct poolfile *pool);
void poolfile_free(struct poolfile *pool);

#endif
