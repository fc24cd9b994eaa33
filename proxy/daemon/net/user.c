/* A user's data and rights on this node, looked up by the processes of question.c. */
#include <pwd.h>
#include <string.h>

#include "base/text.h"
#include "proxy/daemon/net/question.h"

static void find(const struct daemon *d, void *bytes)
{
    struct user *user = bytes;
    const struct passwd *here = user->by_name ? getpwnam(user->name) : getpwuid(user->uid);

    user->known = here != NULL;
    if (here) {
        text_print(user->here, sizeof(user->here), "%s", here->pw_name);
        text_print(user->home, sizeof(user->home), "%s", here->pw_dir);
    }
    if (here && user->by_name) {
        user->uid = here->pw_uid;
        user->gid = here->pw_gid;
    } else if (here && !*user->name) {
        text_print(user->name, sizeof(user->name), "%s", here->pw_name);
    } else if (!*user->name) {
        text_print(user->name, sizeof(user->name), "%u", (unsigned)user->uid);
    }
    user->allowed = config_allows(d->config, user->name, user->gid);
    user->admin = config_is_admin(d->config, user->name, user->uid, user->gid);
    user->limit = config_limit(d->config, user->name, user->gid);
}

struct question *user_ask(struct daemon *d, const struct user *user, void (*answered)(void *argument, void *user),
                          void *argument)
{
    return question_ask(d, QUESTION_USER, find, user, sizeof(*user), answered, argument);
}

bool user_may_have_devices(const struct daemon *d, const struct user *user, char *why, size_t why_size)
{
    const char *node = d->config->name;

    if (user->uid < d->config->least_uid)
        text_print(why, why_size, "%s lends devices to users from number %u on (least-uid)", node,
                   d->config->least_uid);
    else if (!user->known)
        text_print(why, why_size, "%s knows no user %u", node, (unsigned)user->uid);
    else if (strcmp(user->here, user->name))
        text_print(why, why_size, "to %s user %u is %s, and not %s", node, (unsigned)user->uid, user->here, user->name);
    else if (!user->allowed)
        text_print(why, why_size, "%s may not use the devices of %s", user->name, node);
    else
        return true;
    return false;
}
