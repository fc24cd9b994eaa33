/* spawn() gives a program exactly the descriptors, the environment and the session that it asks for. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/socket.h"
#include "base/spawn.h"
#include "tests/expect.h"

static int out_of_the_way(int fd)
{
    const int copy = fcntl(fd, F_DUPFD, 20);

    EXPECT(copy >= 20);
    return copy;
}

/* Runs a shell command with the pipe as its descriptors 3 and 4, which are 4 and 3 here; stores its output on 3. */
static int say(const char *command, char *text, size_t size)
{
    const char *words[] = {"sh", "-c", command, NULL}, *environment[] = {"PATH=/usr/bin:/bin", "WORD=given", NULL};
    int ends[2], from, to, status;
    ssize_t got;

    EXPECT(!pipe(ends));
    from = out_of_the_way(ends[0]);
    to = out_of_the_way(ends[1]);
    close(ends[0]);
    close(ends[1]);
    EXPECT(dup2(from, 3) == 3 && dup2(to, 4) == 4);
    status = spawn_wait(spawn(&(struct spawn){.arguments = (char *const *)(size_t)words,
                                              .environment = (char *const *)(size_t)environment,
                                              .descriptors = (int[]){-1, 2, 2, 4, 3},
                                              .count = 5,
                                              .signal = SIGKILL,
                                              .group = true}));
    EXPECT(!write_all(to, "", 1)); /* so that read() returns even if the shell wrote nothing */
    got = read(from, text, size - 1);
    EXPECT(got >= 1);
    text[got] = '\0';
    close(from);
    close(to);
    return status;
}

int main(void)
{
    const char *missing[] = {"/nowhere/nothing", NULL}, *shell[] = {"sh", "-c", "[ ! -e /proc/$$/fd/0 ]", NULL};
    char text[256];
    const int errors = out_of_the_way(2);

    EXPECT(say("printf \"$WORD\" >&3; exit 7", text, sizeof(text)) == 7 && !strcmp(text, "given"));
    EXPECT(say("[ ! -e /proc/$$/fd/20 ] && readlink /proc/$$/fd/0 >&3; kill -9 $$", text, sizeof(text)) ==
               128 + SIGKILL &&
           !strncmp(text, "/dev/null\n", 10));

    /* a program that cannot be executed gives 127; a descriptor that is closed here is closed in the child */
    close(2);
    EXPECT(spawn_wait(spawn(&(struct spawn){.arguments = (char *const *)(size_t)missing})) == 127);
    EXPECT(dup2(errors, 2) == 2);
    close(0);
    EXPECT(!spawn_wait(spawn(
        &(struct spawn){.arguments = (char *const *)(size_t)shell, .descriptors = (int[]){0, 1, 2}, .count = 3})));
    EXPECT(!spawn(&(struct spawn){.arguments = (char *const *)(size_t)shell, .session = true, .apart = true}));
    return 0;
}
