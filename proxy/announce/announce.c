/*
 * vocl-announce NODE ADDRESS AUTH DEVICES: announces a daemon of a pool in the local network, by Avahi, until the
 * socket at descriptor 3 closes. The daemon starts it (`announce = true;`): Avahi's library waits for D-Bus and
 * avahi-daemon, which the daemon must not. Either may be started, or started again, at any time.
 */
#include <avahi-client/publish.h>
#include <avahi-common/alternative.h>
#include <avahi-common/error.h>
#include <avahi-common/malloc.h>
#include <avahi-common/simple-watch.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dns_sd.h"
#include "base/journal.h"

#define DAEMON 3
#define AGAIN_MS 5000

static struct {
    AvahiSimplePoll *poll;
    AvahiEntryGroup *group;
    char *name; /* of the service: the node's, unless another node has it */
    uint16_t port;
    AvahiStringList *texts;
    char told[256]; /* what the log says already */
} announced;

static void tell(const char *level, const char *text)
{
    char line[sizeof(announced.told)];

    snprintf(line, sizeof(line), "announce: %s", text);
    if (strcmp(line, announced.told))
        journal_print(level, line);
    snprintf(announced.told, sizeof(announced.told), "%s", line);
}

static void publish(AvahiClient *client);

/* Another service of that name exists: takes another name, as Avahi recommends. */
static void rename_service(AvahiClient *client)
{
    char *other = avahi_alternative_service_name(announced.name);

    avahi_free(announced.name);
    announced.name = other;
    publish(client);
}

static void on_group(AvahiEntryGroup *group, AvahiEntryGroupState state, void *unused)
{
    char text[160];

    (void)unused;
    announced.group = group;
    switch (state) {
    case AVAHI_ENTRY_GROUP_ESTABLISHED:
        snprintf(text, sizeof(text), "the local network sees \"%s\"", announced.name);
        tell("notice", text);
        break;
    case AVAHI_ENTRY_GROUP_COLLISION:
        rename_service(avahi_entry_group_get_client(group));
        break;
    case AVAHI_ENTRY_GROUP_FAILURE:
        tell("warning", avahi_strerror(avahi_client_errno(avahi_entry_group_get_client(group))));
        avahi_simple_poll_quit(announced.poll);
        break;
    default:
        break;
    }
}

static void publish(AvahiClient *client)
{
    AvahiEntryGroup *group = announced.group;
    int error;

    if (!group)
        group = announced.group = avahi_entry_group_new(client, on_group, NULL);
    else
        avahi_entry_group_reset(group);
    error = group ? avahi_entry_group_add_service_strlst(group, AVAHI_IF_UNSPEC, AVAHI_PROTO_UNSPEC, 0, announced.name,
                                                         DNS_SD_SERVICE, NULL, NULL, announced.port, announced.texts)
                  : avahi_client_errno(client);
    if (error == AVAHI_ERR_COLLISION) { /* with a service of this host */
        rename_service(client);
        return;
    }
    if (!error)
        error = avahi_entry_group_commit(group);
    if (!error)
        return;
    tell("warning", avahi_strerror(error));
    avahi_simple_poll_quit(announced.poll);
}

static void on_client(AvahiClient *client, AvahiClientState state, void *unused)
{
    (void)unused;
    switch (state) {
    case AVAHI_CLIENT_S_RUNNING:
        publish(client);
        break;
    case AVAHI_CLIENT_S_COLLISION: /* the host's own name changes */
    case AVAHI_CLIENT_S_REGISTERING:
        if (announced.group)
            avahi_entry_group_reset(announced.group);
        break;
    case AVAHI_CLIENT_CONNECTING:
        tell("warning", "avahi-daemon is not running");
        break;
    case AVAHI_CLIENT_FAILURE:
        tell("warning", avahi_strerror(avahi_client_errno(client)));
        avahi_simple_poll_quit(announced.poll);
        break;
    }
}

/* The socket carries nothing, so an event is its end. */
static void on_end(AvahiWatch *watch, int fd, AvahiWatchEvent event, void *unused)
{
    (void)watch;
    (void)fd;
    (void)event;
    (void)unused;
    exit(0);
}

/* Announces until Avahi fails. */
static void announce(void)
{
    const AvahiPoll *poll;
    AvahiClient *client;
    int error = AVAHI_ERR_NO_MEMORY;

    announced.poll = avahi_simple_poll_new();
    poll = announced.poll ? avahi_simple_poll_get(announced.poll) : NULL;
    if (!poll || !poll->watch_new(poll, DAEMON, AVAHI_WATCH_IN | AVAHI_WATCH_HUP, on_end, NULL))
        exit(1);
    client = avahi_client_new(poll, AVAHI_CLIENT_NO_FAIL, on_client, NULL, &error);
    if (client)
        avahi_simple_poll_loop(announced.poll);
    else
        tell("warning", avahi_strerror(error));
    if (client)
        avahi_client_free(client); /* with its group */
    announced.group = NULL;
    avahi_simple_poll_free(announced.poll);
}

int main(int count, char **words)
{
    struct pollfd daemon = {.fd = DAEMON, .events = POLLIN};
    const char *port = count == 5 ? strrchr(words[2], ':') : NULL;

    if (!port) {
        fputs("vocl-announce is started by vocl-proxy\n", stderr);
        return 2;
    }
    announced.name = avahi_strdup(words[1]);
    announced.port = (uint16_t)atoi(port + 1);
    announced.texts = avahi_string_list_add_pair(NULL, DNS_SD_DEVICES, words[4]);
    announced.texts = avahi_string_list_add_pair(announced.texts, DNS_SD_AUTH, words[3]);
    announced.texts = avahi_string_list_add_pair(announced.texts, DNS_SD_ADDRESS, words[2]);
    announced.texts = avahi_string_list_add_pair(announced.texts, DNS_SD_NODE, words[1]);
    do
        announce();
    while (!poll(&daemon, 1, AGAIN_MS));
    return 0;
}
