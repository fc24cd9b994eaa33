/* PMI as vocl-launcher and vocl-join serve it: MPICH's commands are answered, and all others are refused. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/launch/pmi.h"

#define RANKS 3

static char answers[RANKS][8192];
static int failures;

static void keep(void *owner, unsigned rank, const char *line, size_t length)
{
    (void)owner;
    if (strlen(answers[rank]) + length < sizeof(answers[rank]))
        strncat(answers[rank], line, length);
}

static void check(const char *what, bool right)
{
    if (right)
        return;
    printf("FAILED: %s\n", what);
    failures++;
}

static struct pmi *begin(void)
{
    struct pmi *pmi = pmi_open(RANKS, keep, NULL);

    memset(answers, 0, sizeof(answers));
    return pmi;
}

static int say(struct pmi *pmi, unsigned rank, const char *text)
{
    return pmi_hear(pmi, rank, text, strlen(text));
}

static const char init[] = "cmd=init pmi_version=1 pmi_subversion=1\n";

/* Starts up as MPICH does, with the text cut at all places. */
static void start_up(size_t piece)
{
    struct pmi *pmi = begin();

    for (unsigned rank = 0; rank < RANKS; rank++) {
        char text[1024];
        size_t length = (size_t)snprintf(text, sizeof(text),
                                         "%scmd=get_maxes\ncmd=get_appnum\ncmd=get_my_kvsname\n"
                                         "cmd=put kvsname=vocl key=address-%u value=value of %u\ncmd=barrier_in\n",
                                         init, rank, rank);

        for (size_t at = 0; at < length; at += piece)
            check("a start", !pmi_hear(pmi, rank, text + at, length - at < piece ? length - at : piece));
        check("a barrier waits for all", rank == RANKS - 1 || !strstr(answers[0], "barrier_out"));
    }
    for (unsigned rank = 0; rank < RANKS; rank++) {
        check("a barrier opens for all", strstr(answers[rank], "cmd=barrier_out\n"));
        check("get", !say(pmi, rank, "cmd=get kvsname=vocl key=address-2\n"));
        check("what was put", strstr(answers[rank], "rc=0 msg=success value=value of 2\n"));
        check("get", !say(pmi, rank, "cmd=get kvsname=vocl key=nothing\n"));
        check("what was not put", strstr(answers[rank], "cmd=get_result rc=-1"));
        check("the end", !say(pmi, rank, "cmd=finalize\n") && strstr(answers[rank], "cmd=finalize_ack\n"));
        check("after the end", say(pmi, rank, "cmd=get_appnum\n"));
    }
    pmi_close(pmi);
}

/* Each of these lines is refused, whatever was accepted before. */
static void refusals(void)
{
    static char words[PMI_LINE + 64];
    static const char *const lines[] = {"\n",
                                        "hello\n",
                                        "cmd=\n",
                                        "cmd=spawn\n",
                                        "mcmd=spawn\n",
                                        "cmd=init pmi_version=1 pmi_subversion=1\n",
                                        "cmd=abort exitcode=1\n",
                                        "cmd=put kvsname=vocl\n",
                                        "cmd=put kvsname=vocl key=k\n",
                                        "cmd=put kvsname=vocl value=v\n",
                                        "cmd=put kvsname=vocl key= value=v\n",
                                        "cmd=put kvsname=another key=k value=v\n",
                                        "cmd=get kvsname=vocl\n",
                                        "cmd=get_app\x01num\n",
                                        "cmd=barrier_in\ncmd=get_appnum\n",
                                        "cmd=put kvsname=vocl key=k value=v\ncmd=put kvsname=vocl key=k value=v\n"};
    struct pmi *pmi;

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        pmi = begin();
        check(lines[i], !say(pmi, 1, init) && say(pmi, 1, lines[i]) && *pmi_why(pmi));
        pmi_close(pmi);
    }
    pmi = begin();
    check("before init", say(pmi, 0, "cmd=get_appnum\n"));
    pmi_close(pmi);
    for (int what = 0; what < 3; what++) { /* a long line, a long key, a long value */
        memset(words, 'x', sizeof(words) - 1);
        if (what == 1)
            memcpy(words, "cmd=put kvsname=vocl key=", 25), memcpy(words + 200, " value=v\n", 10);
        if (what == 2)
            memcpy(words, "cmd=put kvsname=vocl key=k value=", 33), memcpy(words + 1100, "\n", 2);
        pmi = begin();
        check("what is long", !say(pmi, 0, init) && say(pmi, 0, words));
        pmi_close(pmi);
    }
    pmi = begin();
    say(pmi, 0, init);
    for (int i = 0; i <= 256; i++) {
        snprintf(words, sizeof(words), "cmd=put kvsname=vocl key=k%d value=v\n", i);
        check("many puts", !say(pmi, 0, words) == (i < 256));
    }
    pmi_close(pmi);
}

/* No rank waits for a lost one. */
static void losses(void)
{
    struct pmi *pmi = begin();

    for (unsigned rank = 0; rank < RANKS; rank++)
        say(pmi, rank, init);
    check("waiting", !say(pmi, 0, "cmd=barrier_in\n"));
    check("a loss while others wait", pmi_lose(pmi, 1));
    pmi_close(pmi);
    pmi = begin();
    for (unsigned rank = 0; rank < RANKS; rank++)
        say(pmi, rank, init);
    check("a loss for which nobody waits", !pmi_lose(pmi, 1) && !pmi_lose(pmi, 1));
    check("waiting for one that is gone", say(pmi, 0, "cmd=barrier_in\n"));
    pmi_close(pmi);
}

int main(void)
{
    for (size_t piece = 1; piece < 64; piece++)
        start_up(piece);
    start_up(4096);
    refusals();
    losses();
    return failures != 0;
}
