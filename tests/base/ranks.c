/* Lock ranks: a process that takes locks in order runs; one that takes a lock whose rank is not above those that it
 * holds aborts, and says why. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/mutex.h"

enum { RANK_OUTER = 1, RANK_INNER, RANK_SHORT };

static struct mutex outer = MUTEX(RANK_OUTER), inner = MUTEX(RANK_INNER), sibling = MUTEX(RANK_INNER), recursive;
static struct lock brief = LOCK(RANK_SHORT), plain;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;

static void in_order(void)
{
    mutex_lock(&outer);
    mutex_lock(&inner);
    lock_hold(&brief);
    mutex_unlock(&outer); /* the order of unlocking is free */
    lock_release(&brief);
    mutex_unlock(&inner);
    mutex_lock(&outer);
    mutex_unlock(&outer);
}

static void again(void)
{
    mutex_lock(&recursive);
    lock_hold(&brief);
    mutex_lock(&recursive);
    mutex_unlock(&recursive);
    lock_release(&brief);
    mutex_unlock(&recursive);
}

static void after_fork(void)
{
    mutex_lock(&inner);
    mutex_init(&inner, RANK_INNER);
    mutex_lock(&outer);
    mutex_unlock(&outer);
}

static void unranked(void)
{
    lock_hold(&brief);
    lock_hold(&plain);
    lock_release(&plain);
    lock_release(&brief);
}

static void backwards(void)
{
    mutex_lock(&inner);
    mutex_lock(&outer);
}

static void of_one_rank(void)
{
    mutex_lock(&inner);
    mutex_lock(&sibling);
}

static void itself(void)
{
    mutex_lock(&inner);
    mutex_lock(&inner);
}

static void short_first(void)
{
    lock_hold(&brief);
    mutex_lock(&inner);
}

static void waits_with_another(void)
{
    mutex_lock(&outer);
    mutex_lock(&inner);
    mutex_wait(&news, &outer);
}

static void waits_twice(void)
{
    mutex_lock(&recursive);
    mutex_lock(&recursive);
    mutex_wait(&news, &recursive);
}

/* Runs what() in a child, and stores what it says on stderr, which is empty unless it aborts. */
static void said_by(void (*what)(void), const char *name, char *said, size_t size)
{
    int ends[2], status;
    ssize_t length, total = 0;
    pid_t child;

    if (pipe(ends) || (child = fork()) < 0)
        exit(99);
    if (!child) {
        dup2(ends[1], STDERR_FILENO);
        what();
        _exit(0);
    }
    close(ends[1]);
    while ((length = read(ends[0], said + total, size - 1 - (size_t)total)) > 0)
        total += length;
    said[total] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    if ((total != 0) != (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)) {
        fprintf(stderr, "%s: status %d, and it says: %s\n", name, status, said);
        exit(1);
    }
}

static void expect(void (*what)(void), const char *name, const char *expected)
{
    char said[4096];

    said_by(what, name, said, sizeof(said));
    if (expected ? strstr(said, expected) != NULL : !*said)
        return;
    fprintf(stderr, "%s: expected \"%s\", not \"%s\"\n", name, expected ? expected : "", said);
    exit(1);
}

#define EXPECT(what, expected) expect(what, #what, expected)

int main(void)
{
    mutex_init_recursive(&recursive, RANK_INNER);
    EXPECT(in_order, NULL);
    EXPECT(again, NULL);
    EXPECT(after_fork, NULL);
    EXPECT(unranked, NULL);
    EXPECT(backwards, "takes RANK_OUTER while it holds RANK_INNER");
    EXPECT(of_one_rank, "takes RANK_INNER while it holds RANK_INNER");
    EXPECT(itself, "takes RANK_INNER while it holds RANK_INNER");
    EXPECT(short_first, "takes RANK_INNER while it holds RANK_SHORT");
    EXPECT(waits_with_another, "waits with RANK_OUTER while it holds RANK_INNER");
    EXPECT(waits_twice, "waits with RANK_INNER while it holds RANK_INNER");
    return 0;
}
