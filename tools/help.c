/* The texts of `vocl --help` and the subcommands' own --help. Shells complete from them (etc/completion): an option
 * stands at the beginning of a line, a subcommand at the beginning of a line in the list under "commands:". */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "config.h"

#include "tools/tools.h"

static const char overview[] =
    "usage: vocl COMMAND [OPTION]... [ARGUMENT]...\n"
    "\n"
    "commands:\n"
    "  run      runs a program, an unmodified OpenCL program, on the devices of VOCL\n"
    "  devices  lists the devices that a program would see\n"
    "  doctor   looks at everything that a session needs, and says what to do about it\n"
    "  sessions lists this user's programs that have devices here\n"
    "  move     moves what such a program has on its devices to those of another host\n"
    "  suspend  suspends such a program: it keeps what its devices held, and they are free\n"
    "  resume   gives it devices again, which the next command that needs one does, too\n"
    "  checkpoint writes what it has on its devices to files, from which it can be restored\n"
    "  trace    writes down what such a program does\n"
    "  explain  says what it took, and what could be done about it\n"
    "  pool     shows and administers a pool of devices\n"
    "  top      shows a pool live\n"
    "  topo     draws PCIe trees and predicts how transfers in them slow each other down\n"
    "\n"
    "`vocl COMMAND --help` says more of each, vocl(1) and vocl(7) all.\n"
    "\n"
    "    vocl run -- program arguments...             a worker on this host\n"
    "    vocl run --hosts node1,node2 -- program      one on each of these\n"
    "    vocl run --gpus 2 --mem 8G -- program        devices of a pool\n";

/* Lines that begin with a digit are not for every command: see show_session(). */
static const char session[] =
    "\n"
    "Which devices:\n"
    "  -w, --workers=N    use N workers on this host (default 1)\n"
    "  -S, --spare=N      and N that the program does not see, for it to move to (default 0)\n"
    "1  -R, --recover      a worker that is lost is replaced, and the program goes on\n"
    "  -H, --hosts=A,B    use one worker on each of these hosts, for instance node[1-3],user@other\n"
    "      --hostfile=FILE\n"
    "                     on each host of FILE: a name on a line, maybe with slots=N for so many workers\n"
    "2  -y, --deploy       hosts that lack this VOCL get it, by ssh, in ~/.cache/vocl\n"
    "  -l, --local        the devices of this host, too, inside the program; alone: only them\n"
    "  -D, --devices=LIST show only these devices, in this order (VOCL_DEVICES in vocl(7))\n"
    "\n"
    "Of a pool:\n"
    "  -P, --pool=WHERE   its file, or host:port,... of its daemons\n"
    "  -n, --count=N      so many devices of it (default 1)\n"
    "  -g, --gpus=N       so many, and they are to be GPUs\n"
    "  -M, --mem=BYTES    each with so much memory, such as 8G\n"
    "  -N, --name=PATTERN each with such a name\n"
    "  -x, --exclusive    which nobody else uses meanwhile\n"
    "1      --hold         held while the program runs, for it and what it starts, from one session to the next\n"
    "  -s, --weight=N     the weight of the program where others use them, too (default 100)\n"
    "  -W, --wait=SECONDS wait so long for them (default 0)\n"
    "  -p, --policy=NAME  pack, spread, least-loaded or order (default: the pool's)\n"
    "\n"
    "How they are reached:\n"
    "  -m, --mpi=NAME     connect over mpich or openmpi (default " VOCL_DEFAULT_MPI ")\n"
    "  -k, --network=NAME auto, mpi, pairs, tls, plain or ssh (VOCL_NETWORK in vocl(7); default auto)\n";

static const struct {
    const char *name, *before, *after; /* texts before and after the options of a session; after is NULL if the
                                        * command takes none */
} helps[] = {
    {"run", "usage: vocl run [OPTION]... [--] PROGRAM [ARGUMENT]...\n",
     "  -C, --restore=DIR  its memory objects get the contents of the checkpoint there (vocl checkpoint)\n"
     "  -d, --interpose=METHOD\n"
     "                     preload, icd or both (default both): how the program comes to call VOCL\n"
     "  -t, --trace=FILE   writes down what it does, for Perfetto and Chrome\n"
     "  -r, --report[=FILE] and says at the end what it took, and what could be done about it\n"
     "\n"
     "The exit status is that of PROGRAM; 127 if PROGRAM was not found, 126 if it could not be executed, 125 if VOCL "
     "is\n"
     "not installed completely, 2 after a mistake on the command line. See vocl(1), and vocl(7) for the settings.\n"},
    {"devices", "usage: vocl devices [OPTION]...\n",
     "  -j, --json         for programs\n\nThe exit status is 1 if there are none. See vocl(1).\n"},
    {"doctor", "usage: vocl doctor [OPTION]...\n\nThe options are those of the session that is to be looked at.\n",
     "  -j, --json         for programs\n\nA line for each thing: ok, note, or wrong and what to do about it. The exit "
     "status is 1 if something is "
     "wrong.\n"},
    {"move",
     "usage: vocl move [OPTION]... PID --to=HOST\n\n"
     "Moves what the program PID has on its devices to those of HOST, while it runs. The exit status is 1 if that "
     "cannot "
     "be\n"
     "done; the program goes on where it was. See vocl(1).\n\n"
     "  -t, --to=HOST      where to\n"
     "  -f, --from=HOST    what it has there, if it has devices of several\n"
     "  -a, --any          also to another kind of device, if it has all that the program was told\n"
     "  -q, --quiet        says nothing of how far it is\n"
     "  -l, --list         lists such programs instead\n",
     NULL},
    {"suspend",
     "usage: vocl suspend [OPTION]... PID\n\n"
     "Suspends the program PID: what its devices hold is kept with it, in memory or in VOCL_SUSPEND_DIR, and its\n"
     "workers end. The next command that needs a device brings others. The exit status is 1 if that cannot be done;\n"
     "the program goes on. See vocl(1).\n\n"
     "  -l, --list         lists such programs instead\n",
     NULL},
    {"resume",
     "usage: vocl resume [OPTION]... PID\n\n"
     "Gives the program PID, which is suspended, its devices again now. The exit status is 1 if that cannot be done; "
     "it\n"
     "is still suspended, and it can be tried again. See vocl(1).\n\n"
     "  -l, --list         lists such programs instead\n",
     NULL},
    {"checkpoint",
     "usage: vocl checkpoint [OPTION]... PID DIR\n\n"
     "Writes what the memory objects of the program PID hold to files in the folder DIR, while it runs; `vocl run "
     "--restore\n"
     "DIR` gives it back to a program that makes the same ones. Of what is as in the last checkpoint there nothing is\n"
     "written again. The exit status is 1 if that cannot be done; the program goes on, and the last one is as good as\n"
     "it was. See vocl(1).\n\n"
     "  -f, --full         writes everything anew\n"
     "  -q, --quiet        does not say how much it was\n"
     "  -l, --list         lists such programs instead\n",
     NULL},
    {"trace",
     "usage: vocl trace PID start FILE | vocl trace PID stop | vocl trace FILE\n\n"
     "Writes down what the running program PID does from now on; then FILE is made of it, a Trace Event JSON file for\n"
     "Perfetto (ui.perfetto.dev) and Chrome. With FILE alone: of what a program left that has ended meanwhile. See "
     "vocl(1).\n",
     NULL},
    {"explain",
     "usage: vocl explain FILE [REPORT]\n\n"
     "The report of `vocl run --report` from the FILE of `vocl run --trace` or `vocl trace`; as JSON if REPORT ends in "
     ".json.\n",
     NULL},
    {"sessions",
     "usage: vocl sessions [--json]\n"
     "       vocl sessions --wait=STATE [--timeout=SECONDS] PID\n\n"
     "This user's programs that have devices here; or waits for the session of the program PID. See vocl(1).\n\n"
     "  -j, --json             for programs\n"
     "  -W, --wait=STATE       until it is running, suspended or ended\n"
     "  -T, --timeout=SECONDS  so long at most (default: no limit)\n",
     NULL},
};

/* Prints the options of a session; lines with 1 for `vocl run` only, lines with 2 not for `vocl doctor`. */
static void show_session(const char *command)
{
    const bool runs = !strcmp(command, "run"), looks = !strcmp(command, "doctor");

    for (const char *line = session; *line; line += strcspn(line, "\n") + 1) {
        const bool shown = *line == '1' ? runs : *line == '2' ? !looks : true;
        const char *text = line + (*line == '1' || *line == '2');

        if (shown)
            printf("%.*s\n", (int)strcspn(text, "\n"), text);
    }
}

void help_show(const char *command)
{
    for (size_t i = 0; command && i < sizeof(helps) / sizeof(*helps); i++) {
        if (!strcmp(helps[i].name, command)) {
            fputs(helps[i].before, stdout);
            if (!helps[i].after)
                return;
            show_session(command);
            fputs(helps[i].after, stdout);
            return;
        }
    }
    fputs(overview, stdout);
}
