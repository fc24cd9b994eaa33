/*
 * The parts of the `vocl` command.
 *
 *     vocl.c         the command line
 *     environment.c  the environment that a program is run with
 *     vendors.c      the ICD file of a VOCL that may be installed anywhere
 *     deploy.c       --deploy: copies this VOCL to hosts; deploy.sh is what they run for it
 *     devices.c      vocl devices; its --discover is vocl-discover (discover.c), which links Avahi
 *     hold.c         --hold
 *     sessions.c     vocl sessions, vocl move, vocl suspend, vocl resume; sessions_wait.c its --wait
 *     progress.c     how far a command has come (progress.h); units.c, sizes and times for people (units.h)
 *     look.c         how often waiting commands poll (look.h)
 *     checkpoint.c   vocl checkpoint, and the checks for --restore (checkpoint.h); checkpoint_write.c writes the files
 *     help.c         the texts of --help; json.c, texts of JSON
 *     hosts.c        --hosts and --hostfile, as they are typed; slurm.c, --slurm
 *     misspelt.c     environment variables that look like misspelt settings
 *     doctor.c       vocl doctor (doctor.h), with doctor_here.c, doctor_hosts.c, doctor_pool.c or doctor_no_pool.c,
 *                    doctor_session.c and doctor_try.c
 *     fail.c         how all of them end with an error
 *     pool.c         vocl pool (pool.h); show.c prints its tables, history.c and history_sum.c its history, pool_move.c
 *                    moves sessions, pool_rebalance.c follows the policy, pool_suspend.c suspends them, pool_wait.c
 *                    waits, pool_events.c prints events, pool_reload.c has daemons read their files again,
 *                    pool_complete.c completes names for shells; top.c and top_draw.c (top.h) are vocl top
 *     topo/topo.c         vocl topo; topo/show_route.c vocl topo route, number.c their numbers
 *     topo/calibrate.c    vocl topo calibrate (calibrate.h)
 *     trace_run.c    vocl run --trace and --report, vocl trace, vocl explain; the parts that need jansson are
 * vocl-trace (trace.h): trace_main.c, trace_read.c, trace_quick.c, trace_site.c, trace_symbol.c or trace_no_symbol.c,
 * trace_table.c, trace_clock.c, trace_hosts.c, trace_write.c, trace_node.c, trace_xtq.c, explain_read.c,
 * explain_hints.c and explain_print.c
 */
#ifndef VOCL_TOOLS_H
#define VOCL_TOOLS_H

#include <getopt.h>
#include <stdbool.h>
#include <sys/types.h>

/* Exit statuses of `vocl` itself, as in env(1) and shells. A program that was started gives its own. */
enum {
    EXIT_USAGE = 2,
    EXIT_BROKEN = 125,
    EXIT_CANNOT_EXECUTE = 126,
    EXIT_NOT_FOUND = 127,
};

/* The choices of the command line; NULL where it says nothing and the environment applies. */
struct choices {
    const char *spare;
    const char *restore;
    const char *workers;
    const char *devices;
    const char *hosts;
    const char *launcher;
    const char *slurm, *gres; /* slurm: a component of a heterogeneous job, or "" */
    const char *mpi;
    const char *network;
    const char *pool, *count, *type, *memory, *name, *weight, *wait, *policy; /* of the pool's devices */
    const char *hold;                                                         /* a PID, or "" for the program */
    const char *trace, *report;                                               /* files; report: "-" for stderr */
    bool exclusive;
    bool json, discover;
    bool deploy;
    bool local;
    bool recover;
    bool preload;
    bool icd;
};

/* Prints "vocl: ..." and ends the program with the given status. */
void fail(int status, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
/* The same for a mistake on the command line, with a hint to the --help of the command that help_is_of() named. */
void misuse(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void help_is_of(const char *command);
/* After getopt_long(3): fails if an option has "--" as its value, which means that the value was forgotten. */
void check_value(char **words);

/* Prints a text as JSON to standard output. */
void json_text(const char *text);

/* Returns the absolute path of libvocl, by its soname; fails if there is no such file. The caller frees it. */
char *library_path(void);

/* Returns the absolute path of a program that only VOCL's own programs start; the caller frees it. */
char *helper_path(const char *name);

/* Returns a folder with an ICD file that names this library, which may be installed anywhere; NULL, after a message,
 * if it cannot be made. The caller frees it. */
char *vendors_of_bundle(const char *library);

/* Prints the --help of a subcommand that takes a session's options; NULL: of `vocl` itself. */
void help_show(const char *command);

/* Sets where sessions find their devices: VOCL_WORKERS, VOCL_HOSTS, VOCL_MPI, VOCL_NETWORK. */
void environment_set_session(const struct choices *choices);

/* Makes sure that each of these hosts has this VOCL, and that sessions use it there (VOCL_PROXY); or ends the
 * program with the reasons. */
void deploy(const char *hosts);

/* Holds devices of the pool until that process has ended (VOCL_POOL_HOLD), or ends the program with the reason;
 * hold.c. */
void hold_devices(const char *process);

/* Sets how a program's calls reach VOCL: LD_PRELOAD, OCL_ICD_VENDORS. */
void environment_set_interposition(const struct choices *choices);

/* Warns of environment variables that are no settings but look like one. */
void misspelt_tell(void);

/* The hosts of --hosts, separated by commas: names, or several in one as n[1-3,7] (n01 and so on: as wide as the
 * first); and of --hostfile, one name a line, perhaps with slots=N, for so many workers. Ends the program with the
 * reason if the text is invalid. The caller frees the result. */
char *hosts_expand(const char *text);
char *hosts_read(const char *path);

/* --slurm: sets the hosts to the nodes of this job's allocation, and the launcher to srun. Ends the program with the
 * reason if this is no job. */
void slurm_choose(struct choices *choices);

/* `vocl devices`, after its options. Returns the exit status. */
int devices_list(bool json);

/* `vocl sessions`, `vocl move`, `vocl suspend` and `vocl resume`, with the words from that one on. Return the exit
 * status. */
int sessions_command(int count, char **words);
int sessions_move(int count, char **words);
int sessions_suspend(int count, char **words);
int sessions_list(bool json);
/* Calls found for each session that this user may query, with the PID that started it and its answer
 * (base/requests.h), or NULL if it does not answer. Ends when found returns false. */
void sessions_each(bool (*found)(void *context, pid_t starter, const char *line), void *context);
/* As getopt_long(3), for a command about one session: handles --list and --help, and ends the tool for an invalid
 * option. */
int session_option(int count, char **words, const char *letters, const struct option *options);
/* Returns a PID as typed by a user, or that of the program of a pool's session; ends the program if it is neither. */
long session_process(const char *text);
/* Sends a request to the session of one of this user's programs (or, for root, anybody's), and shows its progress
 * (unless quiet) and its answer. Returns the exit status, or ends the program with the reason of a failure. */
int session_ask(long program, const char *words, bool quiet);
/* The same, with a progress of the caller's, and without printing the last line of the answer; returns when the request
 * was carried out. */
struct progress;
#define SESSION_ANSWER 4096
void session_answer(long program, const char *words, struct progress *progress, char answer[SESSION_ANSWER]);

/* `vocl checkpoint`, with the words from that one on. Returns the exit status. */
int checkpoint_command(int count, char **words);
/* Returns the absolute path of a checkpoint after reading and checking its files; or ends the program with the
 * reason. */
char *checkpoint_to_restore(const char *path);

/* `vocl run --trace` or `--report`: runs the program and then writes what it did. Returns the exit status. */
int trace_run(const struct choices *choices, char **program);
/* `vocl trace` and `vocl explain`, with the words from that one on. Return the exit status. */
int trace_command(int count, char **words);
int explain_command(int count, char **words);

/* Parse a number, or bytes such as 8G. End the program with a message that names what if it is not within the
 * bounds. */
double topo_number(const char *text, const char *what, double least, double most);
double topo_size(const char *text, double least, double most);

/* `vocl topo route`, with the words from that one on. Returns the exit status. */
int topo_route(int count, char **words);

#endif
