/* Stream sockets between processes of VOCL: endpoints to connect to, tokens to authenticate by, whole reads and
 * writes. */
#ifndef VOCL_BASE_SOCKET_H
#define VOCL_BASE_SOCKET_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TOKEN_BYTES 16
#define SECRET_BYTES 32      /* of a session over TLS */
#define MOST_DESCRIPTORS 200 /* in one message; the kernel's limit is a little higher */

/* Converts bytes of a token or secret to "0123...", and back. hex_read() returns false if text, which may be NULL, is
 * not of that form. */
void hex_show(const uint8_t *bytes, size_t count, char *text);
bool hex_read(const char *text, uint8_t *bytes, size_t count);

/* Splits "host:port" or "[::1]:port". Returns 0 or a negative errno. */
int address_split(const char *text, char *host, size_t size, const char **port);
/* Joins them. */
void address_join(const char *host, unsigned port, char *text, size_t size);
/* Like strerror(), for errors returned here: a host's name that cannot be resolved, and a wrong VOCL_PORTS, have errors
 * of their own. */
const char *address_error(int error);
#define ADDRESS_UNKNOWN ENONET
#define ADDRESS_PORTS EDOM

struct endpoint {
    char text[128]; /* unix:NAME (abstract) or tcp:ADDRESS:PORT, [ADDRESS] if it has colons */
    int fd;
};

int endpoint_listen_unix(struct endpoint *endpoint);
/* Gets the address of this host by which others reach it: VOCL_ADDRESS, or that of the interface that leads to the
 * first of the hosts, which are separated by commas. */
int endpoint_own_address(const char *hosts, char *address, size_t size);
/* Listens at a port of VOCL_PORTS that is free, or one that the kernel chooses. */
int endpoint_listen_tcp(struct endpoint *endpoint, const char *address);
/* Gets the numeric address of this host that the connection uses. Returns 0, or a negative errno, as for a Unix
 * socket. */
int socket_own_address(int fd, char *address, size_t size);
/* Listens at the address of this host that the connection fd uses. text: the endpoint that fd is connected to; the new
 * one is of the same kind. */
int endpoint_listen_beside(struct endpoint *endpoint, const char *text, int fd);
/* Connects, blocking for some seconds at most. Returns a descriptor or a negative errno. */
int endpoint_connect(const char *text);
int endpoint_connect_within(const char *text, long milliseconds);
/* The same without blocking: the descriptor becomes writable when it is connected. */
int endpoint_connect_start(const char *text);
/* Like poll() of one descriptor, but not interrupted by signals. Returns the events, 0 at the timeout, or a negative
 * errno. */
int socket_wait(int fd, short events, long milliseconds);
/* Reads or writes all bytes, within timeout_ms or 10 s. Returns 0 or a negative errno. */
int socket_read_all(int fd, void *bytes, size_t length, long timeout_ms);
int socket_write_all(int fd, const void *bytes, size_t length);
/* Writes all bytes to any kind of file, without a timeout. Returns 0 or a negative errno. */
int write_all(int fd, const void *bytes, size_t length);
/* Returns the descriptor that a variable of the environment names, left to this process by the one that started it, and
 * marks it close-on-exec; or -1. */
int environment_descriptor(const char *name);
/* Returns the PID of the process that made the connection of a Unix socket, if that is another, visible process of this
 * host; else 0. */
pid_t socket_process(int fd);
/* Sets the options of a long-lived connection. */
void socket_tune(int fd);
/* The same for a connection whose other end may be stopped for long while data to it are under way: the loss of that
 * end is noticed elsewhere. */
void socket_be_patient(int fd);
/* Sends one message with descriptors on a Unix socket. Returns 0 or a negative errno. */
int socket_send_descriptors(int fd, const void *bytes, size_t length, const int *descriptors, unsigned count);
/* Receives such a message within timeout_ms. Returns how many bytes came, 0 at the end of the connection, or a negative
 * errno. *count: the room for descriptors; on return, how many came. */
ssize_t socket_receive_descriptors(int fd, void *bytes, size_t length, int *descriptors, unsigned *count,
                                   long timeout_ms);
/* Whether the other end of a Unix socket is a process of the same user. */
bool socket_same_user(int fd);

/* Like poll(), for arrays with gaps (descriptors of -1): poll() refuses more entries than the process may have files,
 * even if most are gaps. */
int socket_poll(struct pollfd *fds, unsigned count, int milliseconds);

#endif
