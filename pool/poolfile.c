#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "base/socket.h"
#include "base/text.h"
#include "pool/poolfile.h"

static int replace(char **text, const char *with)
{
    free(*text);
    *text = strdup(with);
    return *text ? 0 : -ENOMEM;
}

static int add_node(struct poolfile *pool, const char *name, const char *address)
{
    struct poolfile_node *node = &pool->nodes[pool->count];
    const char *port;
    char host[128];

    if (pool->count == POOLFILE_NODES || !text_is_utf8(name) || strlen(name) >= sizeof(node->name) ||
        strlen(address) >= sizeof(node->address) || address_split(address, host, sizeof(host), &port) ||
        atoi(port) < 1 || atoi(port) > 65535)
        return -EINVAL;
    strcpy(node->name, name);
    strcpy(node->address, address);
    pool->count++;
    return 0;
}

static int take_line(struct poolfile *pool, char *line)
{
    char *save, *word, *first, *second;

    line[strcspn(line, "#\n")] = '\0';
    word = strtok_r(line, " \t", &save);
    if (!word)
        return 0;
    first = strtok_r(NULL, " \t", &save);
    second = strtok_r(NULL, " \t", &save);
    if (!first || (strcmp(word, "node") ? second != NULL : !second) || strtok_r(NULL, " \t", &save))
        return -EINVAL;
    if (!strcmp(word, "node"))
        return add_node(pool, first, second);
    if (!strcmp(word, "auth") && (!strcmp(first, "munge") || !strcmp(first, "key")))
        strcpy(pool->method, first);
    else if (!strcmp(word, "network") && (!strcmp(first, "mpi") || !strcmp(first, "tls")))
        strcpy(pool->network, first);
    else if (!strcmp(word, "key-file"))
        return replace(&pool->key_file, first);
    else if (!strcmp(word, "munge-socket"))
        return replace(&pool->munge_socket, first);
    else if (!strcmp(word, "daemon-uid"))
        pool->daemon = (uid_t)atol(first);
    else
        return -EINVAL;
    return 0;
}

static int set_defaults(struct poolfile *pool, char *why, size_t why_size)
{
    struct passwd *user = getpwuid(geteuid());
    char path[4096];

    memset(pool, 0, sizeof(*pool));
    strcpy(pool->method, "munge");
    snprintf(path, sizeof(path), "%s/.config/vocl/key", user ? user->pw_dir : "");
    snprintf(why, why_size, "out of memory");
    return replace(&pool->key_file, path);
}

int poolfile_read_file(struct poolfile *pool, const char *path, char *why, size_t why_size)
{
    char line[512];
    FILE *file;
    int error = set_defaults(pool, why, why_size);

    if (error)
        return error;
    file = fopen(path, "re");
    if (!file) {
        error = -errno;
        snprintf(why, why_size, "%s: %s", path, strerror(-error));
        return error;
    }
    for (unsigned number = 1; !error && fgets(line, sizeof(line), file); number++) {
        error = take_line(pool, line);
        if (error)
            snprintf(why, why_size, "%s:%u: %s", path, number,
                     error == -ENOMEM ? "out of memory" : "no line of a pool file");
    }
    fclose(file);
    return error;
}

int poolfile_read(struct poolfile *pool, const char *where, char *why, size_t why_size)
{
    char list[4096], *save;

    if (!where || !*where)
        return poolfile_read_file(pool, SETTINGS_POOL_FILE, why, why_size);
    if (strchr(where, '/') || !strchr(where, ':'))
        return poolfile_read_file(pool, where, why, why_size);
    if (set_defaults(pool, why, why_size))
        return -ENOMEM;
    *pool->method = '\0';
    snprintf(list, sizeof(list), "%s", where);
    for (char *word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        if (add_node(pool, word, word)) {
            snprintf(why, why_size, "VOCL_POOL: \"%s\" is not host:port", word);
            return -EINVAL;
        }
    }
    return 0;
}

int poolfile_take_settings(struct poolfile *pool)
{
    const char *user = settings_string(SETTING_POOL_USER), *key = settings_string(SETTING_POOL_KEY);

    if ((*user && replace(&pool->user, user)) || (*key && replace(&pool->key, key)))
        return -ENOMEM;
    return 0;
}

void poolfile_free(struct poolfile *pool)
{
    free(pool->key_file);
    free(pool->munge_socket);
    free(pool->user);
    free(pool->key);
}
