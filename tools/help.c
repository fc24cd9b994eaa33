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
    "  run      runs an unmodified OpenCL program on devices of other hosts, of a pool, or of this host\n"
    "  devices  lists the devices that a program would see\n"
    "  doctor   checks everything that a session needs, and says how to correct what is wrong\n"
    "  sessions lists your running programs that use VOCL, with their PIDs\n"
    "  move     moves the contents of a running program's devices to another host's devices\n"
    "  suspend  saves the contents of a running program's devices, and frees the devices\n"
    "  resume   gives a suspended program devices again, before it needs them\n"
    "  checkpoint writes the contents of a running program's devices to files, for `vocl run --restore`\n"
    "  trace    records what a running program does, and when\n"
    "  explain  prints a report on such a record: where the time went, and what to change\n"
    "  pool     shows and administers a pool of devices\n"
    "  top      shows a pool live\n"
    "  topo     draws PCIe trees and predicts how transfers in them slow each other down\n"
    "\n"
    "`vocl COMMAND --help` describes one command; vocl(1) describes all, and vocl(7) the settings.\n"
    "\n"
    "    vocl run -- program arguments...             one worker on this host\n"
    "    vocl run --hosts node1,node2 -- program      one worker on each of these hosts\n"
    "    vocl run --gpus 2 --mem 8G -- program        two devices of a pool\n";

/* Lines that begin with a digit are not for every command: see show_session(). */
static const char session[] =
    "\n"
    "Which devices:\n"
    "  -w, --workers=N    start N workers on this host (default 1)\n"
    "  -S, --spare=N      N more workers, which the program does not see and can be moved to (default 0)\n"
    "1  -R, --recover      replace a worker that is lost; the program continues\n"
    "  -H, --hosts=A,B    start one worker on each of these hosts, for instance node[1-3],user@other\n"
    "      --hostfile=FILE\n"
    "                     start one on each host in FILE: a name on a line, or `name slots=N` for N workers\n"
    "      --launcher=COMMAND\n"
    "                     start the workers by COMMAND, in which {host} stands for the host, instead of ssh\n"
    "      --slurm[=N]    start one on each node of this job of Slurm, by srun; N: a heterogeneous job's component\n"
    "      --gres=LIST    with --slurm: the generic resources of each worker, such as gpu:2 (default: all of the job)\n"
    "  -y, --deploy       copy this VOCL by ssh to ~/.cache/vocl of the hosts that do not have it\n"
    "  -l, --local        also this host's devices, without a worker; alone: only these\n"
    "  -D, --devices=LIST show the program only these devices, in this order (VOCL_DEVICES in vocl(7))\n"
    "\n"
    "Devices of a pool:\n"
    "  -P, --pool=WHERE   the pool: its pool file, or host:port,... of its daemons\n"
    "  -n, --count=N      get N devices (default 1)\n"
    "  -g, --gpus=N       get N GPUs\n"
    "  -M, --mem=BYTES    each device must have this much memory, such as 8G\n"
    "  -N, --name=PATTERN each device must have a name that matches PATTERN\n"
    "  -x, --exclusive    nobody else may use the devices at the same time\n"
    "1      --hold[=PID]   get them before the program starts; all its sessions use them, until it (or PID) has ended\n"
    "  -s, --weight=N     the program's weight on devices that it shares with others (default 100)\n"
    "  -W, --wait=SECONDS wait at most SECONDS for devices (default 0)\n"
    "  -p, --policy=NAME  choose devices by pack, spread, least-loaded or order (default: the pool's policy)\n"
    "\n"
    "Connections:\n"
    "  -m, --mpi=NAME     use the MPI library mpich or openmpi (default " VOCL_DEFAULT_MPI ")\n"
    "  -k, --network=NAME carry the data by auto, mpi, pairs, tls, plain or ssh (default auto; VOCL_NETWORK in\n"
    "                     vocl(7))\n";

static const struct {
    const char *name, *before, *after; /* texts before and after the options of a session; after is NULL if the
                                        * command takes none */
} helps[] = {
    {"run", "usage: vocl run [OPTION]... [--] PROGRAM [ARGUMENT]...\n",
     "\n"
     "The program:\n"
     "  -C, --restore=DIR  give its memory objects the contents of the checkpoint in DIR (vocl checkpoint)\n"
     "  -d, --interpose=METHOD\n"
     "                     how it comes to call VOCL: preload, icd or both (default both)\n"
     "  -t, --trace=FILE   record what it does, and when, for Perfetto and Chrome\n"
     "  -r, --report[=FILE] when it has ended, report where the time went and what to change\n"
     "\n"
     "The exit status is that of PROGRAM; 127 if PROGRAM was not found; 126 if it could not be executed; 125 if VOCL\n"
     "is not installed completely, could not deploy itself, or could not hold devices; 2 after a mistake on the\n"
     "command line. See vocl(1), and vocl(7) for the settings.\n"},
    {"devices", "usage: vocl devices [OPTION]...\n\nLists the devices that a program would see with these options.\n",
     "\n"
     "Output:\n"
     "  -j, --json         print JSON\n"
     "      --discover     list the pools' daemons that announce themselves in the local network instead\n"
     "\n"
     "The exit status is 1 if there are no devices. See vocl(1).\n"},
    {"doctor",
     "usage: vocl doctor [OPTION]...\n\n"
     "Checks everything that a session with these options needs, and prints a line for each check: ok, note, or wrong\n"
     "and what to do about it.\n",
     "\n"
     "Output:\n"
     "  -j, --json         print JSON\n"
     "\n"
     "The exit status is 1 if something is wrong. See vocl(1).\n"},
    {"move",
     "usage: vocl move [OPTION]... PID --to=HOST\n\n"
     "Moves the contents of the devices of program PID to devices of HOST, while the program runs. If that fails, the\n"
     "program continues where it was, and the exit status is 1. See vocl(1).\n\n"
     "  -t, --to=HOST      the target; `here` is the program's own host, `spare` a spare worker\n"
     "  -f, --from=HOST    move only what the program has on HOST (default: everything)\n"
     "  -a, --any          accept another kind of device, if it has everything that the program was told of its own\n"
     "  -q, --quiet        do not print the progress\n"
     "  -l, --list         list the programs that can be moved, and do nothing else\n",
     NULL},
    {"suspend",
     "usage: vocl suspend [OPTION]... PID\n\n"
     "Suspends the session of program PID: saves the contents of its devices, in the program's memory or in\n"
     "VOCL_SUSPEND_DIR, and ends its workers. The program's next command that needs a device starts workers again. If\n"
     "suspending fails, the program continues as before, and the exit status is 1. See vocl(1).\n\n"
     "  -q, --quiet        do not print the progress\n"
     "  -l, --list         list the programs that can be suspended, and do nothing else\n",
     NULL},
    {"resume",
     "usage: vocl resume [OPTION]... PID\n\n"
     "Starts the workers of the suspended program PID now. If that fails, the program is still suspended, you can try\n"
     "again, and the exit status is 1. See vocl(1).\n\n"
     "  -q, --quiet        do not print the progress\n"
     "  -l, --list         list the programs with a session, and do nothing else\n",
     NULL},
    {"checkpoint",
     "usage: vocl checkpoint [OPTION]... PID DIR\n\n"
     "Writes the contents of the memory objects of program PID to files in the folder DIR, while the program runs.\n"
     "`vocl run --restore DIR` gives them to a program that creates the same objects. Unchanged contents of the last\n"
     "checkpoint in DIR are not written again. If anything fails, that checkpoint is still good, the program\n"
     "continues, and the exit status is 1. See vocl(1).\n\n"
     "  -f, --full         write everything, even unchanged contents\n"
     "  -q, --quiet        do not print the progress, nor how much was written\n"
     "  -l, --list         list the programs with a session, and do nothing else\n",
     NULL},
    {"trace",
     "usage: vocl trace PID start FILE | vocl trace PID stop | vocl trace FILE\n\n"
     "Records what the running program PID does, from `start` to `stop`; `stop` then writes FILE, a Trace Event JSON\n"
     "file for Perfetto (ui.perfetto.dev) and Chrome. If the program ended before `stop`, `vocl trace FILE` writes\n"
     "FILE. See vocl(1).\n",
     NULL},
    {"explain",
     "usage: vocl explain FILE [REPORT]\n\n"
     "Prints the report of `vocl run --report` from FILE, which `vocl run --trace` or `vocl trace` has written, or\n"
     "writes it to REPORT: as JSON if that name ends in .json, otherwise as text. See vocl(1).\n",
     NULL},
    {"sessions",
     "usage: vocl sessions [--json]\n"
     "       vocl sessions --wait=STATE [--timeout=SECONDS] PID\n\n"
     "Lists your running programs that use VOCL on this host; or waits for the session of program PID. See vocl(1).\n\n"
     "  -j, --json             print JSON\n"
     "  -W, --wait=STATE       wait until the session is running, suspended or ended\n"
     "  -T, --timeout=SECONDS  wait at most SECONDS (default: no limit)\n",
     NULL},
};

/* Prints the options of a session; lines with 1 for `vocl run` only. */
static void show_session(const char *command)
{
    const bool runs = !strcmp(command, "run");

    for (const char *line = session; *line; line += strcspn(line, "\n") + 1) {
        const char *text = line + (*line == '1');

        if (*line != '1' || runs)
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
