/*
 * vocl-discover, which `vocl devices --discover` becomes: prints the daemons of pools that announce themselves in the
 * local network, as lines of a pool file. Anybody in the network can announce anything: what a record says is checked,
 * and whether it is true shows when the daemon has to prove itself.
 */
#include <avahi-client/lookup.h>
#include <avahi-common/error.h>
#include <avahi-common/malloc.h>
#include <avahi-common/simple-watch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dns_sd.h"
#include "base/socket.h"
#include "base/text.h"
#include "tools/tools.h"

#define MOST 1024

struct found {
    char node[64], address[160], auth[16];
    uint64_t devices;
    bool any; /* it listens at all addresses of its host, and address is one of them */
};

static struct {
    AvahiSimplePoll *poll;
    AvahiClient *client;
    unsigned pending; /* services that are being resolved */
    bool all;         /* the browser has listed all that it knows */
    struct found found[MOST];
    unsigned count;
} search;

static void end_if_done(void)
{
    if (search.all && !search.pending)
        avahi_simple_poll_quit(search.poll);
}

/* Copies a text of the record. Returns false if there is none that fits. */
static bool text_get(AvahiStringList *texts, const char *key, char *text, size_t size)
{
    AvahiStringList *entry = avahi_string_list_find(texts, key);
    char *name = NULL, *value = NULL;
    size_t length = 0;
    bool good = entry && !avahi_string_list_get_pair(entry, &name, &value, &length) && value && length &&
                length < size && strlen(value) == length && text_is_utf8(value);

    if (good)
        memcpy(text, value, length + 1);
    avahi_free(name);
    avahi_free(value);
    return good;
}

/* Whether the text is one word of a pool file, and harmless on a terminal. */
static bool is_word(const char *text)
{
    char visible[1024];

    return !strpbrk(text, " \t#") && !strcmp(text_visible(text, visible, sizeof(visible)), text);
}

static bool is_address(const char *text)
{
    const char *port = "";
    char host[128];
    uint64_t number;

    return is_word(text) && !address_split(text, host, sizeof(host), &port) && *host &&
           text_read_number(port, 1, 65535, &number);
}

/* Puts an address of the host in the place of "all addresses". Returns false if this one does not do. */
static bool choose_address(struct found *found, const AvahiAddress *address)
{
    char host[128], text[AVAHI_ADDRESS_STR_MAX] = "";
    const char *port = "";
    bool four, six;

    address_split(found->address, host, sizeof(host), &port);
    four = !strcmp(host, "0.0.0.0");
    six = !strcmp(host, "::");
    if (!four && !six)
        return true;
    if (!address || (address->proto == AVAHI_PROTO_INET6 && (four || address->data.ipv6.address[0] == 0xfe)))
        return false; /* an address of one interface is none for others */
    found->any = true;
    address_join(avahi_address_snprint(text, sizeof(text), address), (unsigned)atoi(port), found->address,
                 sizeof(found->address));
    return true;
}

/* A host with several interfaces is found at each of them. */
static void keep(const struct found *found)
{
    for (unsigned i = 0; i < search.count; i++) {
        const struct found *other = &search.found[i];

        if (!strcmp(other->node, found->node) &&
            ((other->any && found->any) || !strcmp(other->address, found->address)))
            return;
    }
    if (search.count < MOST)
        search.found[search.count++] = *found;
}

static void on_resolved(AvahiServiceResolver *resolver, AvahiIfIndex interface, AvahiProtocol protocol,
                        AvahiResolverEvent event, const char *name, const char *type, const char *domain,
                        const char *host, const AvahiAddress *address, uint16_t port, AvahiStringList *texts,
                        AvahiLookupResultFlags flags, void *unused)
{
    struct found found = {.auth = "?"};
    char devices[16] = "";

    (void)interface, (void)protocol, (void)name, (void)type, (void)domain, (void)host, (void)port;
    (void)flags, (void)unused;
    if (event == AVAHI_RESOLVER_FOUND && text_get(texts, DNS_SD_NODE, found.node, sizeof(found.node)) &&
        text_get(texts, DNS_SD_ADDRESS, found.address, sizeof(found.address)) && is_word(found.node) &&
        is_address(found.address)) {
        if (!text_get(texts, DNS_SD_AUTH, found.auth, sizeof(found.auth)) || !is_word(found.auth))
            strcpy(found.auth, "?");
        if (!text_get(texts, DNS_SD_DEVICES, devices, sizeof(devices)) ||
            !text_read_number(devices, 0, 100000, &found.devices))
            found.devices = 0;
        if (choose_address(&found, address))
            keep(&found);
    }
    avahi_service_resolver_free(resolver);
    search.pending--;
    end_if_done();
}

static void on_service(AvahiServiceBrowser *browser, AvahiIfIndex interface, AvahiProtocol protocol,
                       AvahiBrowserEvent event, const char *name, const char *type, const char *domain,
                       AvahiLookupResultFlags flags, void *unused)
{
    (void)browser, (void)flags, (void)unused;
    switch (event) {
    case AVAHI_BROWSER_NEW:
        if (avahi_service_resolver_new(search.client, interface, protocol, name, type, domain, AVAHI_PROTO_UNSPEC, 0,
                                       on_resolved, NULL))
            search.pending++;
        break;
    case AVAHI_BROWSER_ALL_FOR_NOW:
        search.all = true;
        end_if_done();
        break;
    case AVAHI_BROWSER_FAILURE:
        fail(EXIT_FAILURE, "Avahi: %s", avahi_strerror(avahi_client_errno(search.client)));
    default:
        break;
    }
}

static void on_client(AvahiClient *client, AvahiClientState state, void *unused)
{
    (void)unused;
    if (state == AVAHI_CLIENT_FAILURE)
        fail(EXIT_FAILURE, "Avahi: %s", avahi_strerror(avahi_client_errno(client)));
}

static void look(void)
{
    int error = AVAHI_ERR_NO_MEMORY;

    search.poll = avahi_simple_poll_new();
    search.client =
        search.poll ? avahi_client_new(avahi_simple_poll_get(search.poll), 0, on_client, NULL, &error) : NULL;
    if (!search.client)
        fail(EXIT_FAILURE, "Avahi: %s (is avahi-daemon running?)", avahi_strerror(error));
    if (!avahi_service_browser_new(search.client, AVAHI_IF_UNSPEC, AVAHI_PROTO_UNSPEC, DNS_SD_SERVICE, NULL, 0,
                                   on_service, NULL))
        fail(EXIT_FAILURE, "Avahi: %s", avahi_strerror(avahi_client_errno(search.client)));
    avahi_simple_poll_loop(search.poll);
}

static int compare(const void *one, const void *other)
{
    return strcmp(((const struct found *)one)->node, ((const struct found *)other)->node);
}

static void print_lines(void)
{
    puts("# Lines for a pool file. Nobody has checked yet who announces these daemons.");
    for (unsigned i = 0; i < search.count; i++) {
        const struct found *found = &search.found[i];

        printf("node %s %s    # %llu devices, auth %s\n", found->node, found->address,
               (unsigned long long)found->devices, found->auth);
    }
}

static void print_json(void)
{
    for (unsigned i = 0; i < search.count; i++) {
        const struct found *found = &search.found[i];

        fputs(i ? ",\n {\"node\": " : "[{\"node\": ", stdout);
        json_text(found->node);
        fputs(", \"address\": ", stdout);
        json_text(found->address);
        fputs(", \"auth\": ", stdout);
        json_text(found->auth);
        printf(", \"devices\": %llu}", (unsigned long long)found->devices);
    }
    puts("]");
}

int main(int count, char **words)
{
    look();
    if (!search.count)
        fail(EXIT_FAILURE, "no daemon of a pool announces itself here (announce = true; in vocl-proxy.conf(5))");
    qsort(search.found, search.count, sizeof(*search.found), compare);
    if (count > 1 && !strcmp(words[1], "--json"))
        print_json();
    else
        print_lines();
    return 0;
}
