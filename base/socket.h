/* Stream sockets between processes of VOCL: endpoints to meet at, tokens to know each other by, whole reads and writes.
 */
#ifndef VOCL_BASE_SOCKET_H
#define VOCL_BASE_SOCKET_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TOKEN_BYTES 16
#define SECRET_BYTES 32      /* of a session over TLS */
#define MOST_DESCRIPTORS 200 /* in one message: the kernel takes a few more */

/* So many bytes of a token or secret as "0123...", and back: false if text, which may be NULL, is no such thing. */
void hex_show(const uint8_t *bytes, size_t count, char *text);
bool hex_read(const char *text, uint8_t *bytes, size_t count);

/* "host:port" or "[::1]:port" apart; 0 or negative errno. */
int address_split(const char *text, char *host, size_t size, const char **port);
/* And together. */
void address_join(const char *host, unsigned port, char *text, size_t size);
/* strerror() of what is returned here, where a name that nobody knows is an error of its own. */
const char *address_error(int error);
#define ADDRESS_UNKNOWN ENONET

struct endpoint {
    char text[128]; /* unix:NAME (abstract) or tcp:ADDRESS:PORT, [ADDRESS] if it has colons */
    int fd;
};

int endpoint_listen_unix(struct endpoint *endpoint);
/* The address of this host by which others reach it: VOCL_ADDRESS, or of the interface that leads to the first of the
 * hosts, which have commas between them. */
int endpoint_own_address(const char *hosts, char *address, size_t size);
int endpoint_listen_tcp(struct endpoint *endpoint, const char *address);
/* The numeric address of this host that the connection has. 0; or negative errno, as on a Unix socket. */
int socket_own_address(int fd, char *address, size_t size);
/* Where fd, a connection with an endpoint of that text, has its address on this host; of the same kind. */
int endpoint_listen_beside(struct endpoint *endpoint, const char *text, int fd);
/* Blocks at most some seconds; a descriptor or negative errno. */
int endpoint_connect(const char *text);
int endpoint_connect_within(const char *text, long milliseconds);
/* The same without waiting: it does not block, and can be written to when it is connected. */
int endpoint_connect_start(const char *text);
/* As poll() of one descriptor, which signals of the program do not end: what has happened, 0 if nothing has within that
 * time, or negative errno. */
int socket_wait(int fd, short events, long milliseconds);
/* Read or write all of it within the time given (ms); 0 or negative errno. */
int socket_read_all(int fd, void *bytes, size_t length, long timeout_ms);
int socket_write_all(int fd, const void *bytes, size_t length);
/* To any kind of file, for as long as it takes; 0 or negative errno. */
int write_all(int fd, const void *bytes, size_t length);
/* The descriptor that a variable of the environment names, which whoever started this process has left it, and which
 * goes to nobody else; or -1. */
int environment_descriptor(const char *name);
/* Who made the connection of a Unix socket, if that is another process of this host that can be told; else 0. */
pid_t socket_process(int fd);
/* For a connection that lives long. */
void socket_tune(int fd);
/* And whose other end may be stopped for long, with what is sent to it under way: that it is gone is found out
 * elsewhere. */
void socket_be_patient(int fd);
/* One message with descriptors on a Unix socket; 0 or negative errno. */
int socket_send_descriptors(int fd, const void *bytes, size_t length, const int *descriptors, unsigned count);
/* And its other end, within the time given (ms): how many bytes came, 0 at the end, or negative errno. *count: of
 * descriptors there is room, and so many came. */
ssize_t socket_receive_descriptors(int fd, void *bytes, size_t length, int *descriptors, unsigned *count,
                                   long timeout_ms);
/* Whether the other end of a Unix socket is a process of the same user. */
bool socket_same_user(int fd);

/* As poll(), for arrays with gaps: poll() refuses more entries than the process may have files, also where most have no
 * descriptor (-1). */
int socket_poll(struct pollfd *fds, unsigned count, int milliseconds);

#endif
