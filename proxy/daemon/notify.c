/*
 * Messages to systemd (sd_notify(3)): a datagram of lines NAME=VALUE to the socket that NOTIFY_SOCKET names. Without
 * that variable none is sent.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "proxy/daemon/internal.h"

static struct sockaddr_un service;
static socklen_t service_length; /* 0: there is no socket */

void notify_open(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    const size_t length = path ? strlen(path) : 0;

    if (length > 1 && length < sizeof(service.sun_path) && (*path == '/' || *path == '@')) {
        service.sun_family = AF_UNIX;
        memcpy(service.sun_path, path, length);
        if (*path == '@')
            *service.sun_path = '\0'; /* an abstract address */
        service_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    }
    unsetenv("NOTIFY_SOCKET"); /* child processes must not use it */
}

void notify_say(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    int fd;

    if (!service_length)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&service, service_length) < 0)
        daemon_log("warning", "cannot notify systemd: %m");
    if (fd >= 0)
        close(fd);
}

void notify_reloading(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    notify_say("RELOADING=1\nMONOTONIC_USEC=%lld", now.tv_sec * 1000000ll + now.tv_nsec / 1000);
}
