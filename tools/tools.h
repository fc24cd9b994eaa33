/*
 * The parts of the `vocl` command.
 *
 *     vocl.c         the command line
 *     environment.c  what a program is run with
 *     vendors.c      the ICD file of a VOCL that lies anywhere
 *     deploy.c       --deploy: hosts get this VOCL; deploy.sh is what they do for it
 *     devices.c      vocl devices
 *     hold.c         --hold
 *     sessions.c     vocl sessions, vocl move, vocl suspend, vocl resume; sessions_wait.c its --wait
 *     look.c         how often what waits looks (look.h)
 *     checkpoint.c   vocl checkpoint, and what --restore is told (checkpoint.h); checkpoint_write.c writes the files
 *     help.c         what --help prints; json.c, texts of JSON
 *     hosts.c        --hosts and --hostfile, as they are typed
 *     misspelt.c     settings that are none
 *     doctor.c       vocl doctor (doctor.h), of doctor_here.c, doctor_hosts.c, doctor_pool.c or doctor_no_pool.c,
 *                    doctor_session.c and doctor_try.c
 *     fail.c         how all of them end
 *     pool.c         vocl pool (pool.h); show.c prints its tables, history.c and history_sum.c its history, pool_move.c
 *                    moves sessions, pool_rebalance.c as the policy has it, pool_suspend.c suspends them, pool_wait.c
 *                    waits, pool_complete.c has names for shells; top.c and top_draw.c (top.h) are vocl top
 *     topo/topo.c         vocl topo; topo/show_route.c vocl topo route, number.c their numbers
 *     topo/calibrate.c    vocl topo calibrate (calibrate.h)
 *     trace_run.c    vocl run --trace and --report, vocl trace, vocl explain; what they need jansson for is vocl-trace
 *                    (trace.h): trace_main.c, trace_read.c, trace_quick.c, trace_site.c, trace_symbol.c or
 *                    trace_no_symbol.c, trace_table.c, trace_clock.c, trace_hosts.c, trace_write.c, trace_node.c,
 *                    trace_xtq.c, explain_read.c, explain_hints.c and explain_print.c
 */
#ifndef VOCL_TOOLS_H
#define VOCL_TOOLS_H

#include <getopt.h>
#include <stdbool.h>
#include <sys/types.h>

/* Exit statuses of `vocl` itself, as env(1) and the shells have them. A program that was started
 * gives its own. */
enum {
    EXIT_USAGE = 2,
    EXIT_BROKEN = 125,
    EXIT_CANNOT_EXECUTE = 126,
    EXIT_NOT_FOUND = 127,
};

/* What the command line asked for; NULL where it said nothing and the environment stands. */
struct choices {
    const char *spare;
    const char *restore;
    const char *workers;
    const char *devices;
    const char *hosts;
    const char *mpi;
    const char *network;
    const char *pool, *count, *type, *memory, *name, *weight, *wait, *policy; /* of the pool's devices */
    const char *hold;                                                         /* a process, or "" for the program */
    const char *trace, *report;                                               /* files; report: "-" for stderr */
    bool exclusive;
    bool json;
    bool deploy;
    bool local;
    bool recover;
    bool preload;
    bool icd;
};

/* Prints "vocl: ..." and ends with the given status. */
void fail(int status, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
/* The same of what somebody who types has done wrong, and whose --help says more: help_is_of()'s. */
void misuse(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void help_is_of(const char *command);
/* After getopt_long(3): "--" is nobody's value, but where one was forgotten. */
void check_value(char **words);

/* A text of JSON goes to standard output. */
void json_text(const char *text);

/* The absolute path of libvocl, by its soname; fails when it is not there. The caller frees it. */
char *library_path(void);

/* The absolute path of a program that only VOCL's own start; the caller frees it. */
char *helper_path(const char *name);

/* A folder with an ICD file that names this library, for it may lie anywhere; NULL, and a message: there can be none.
 * The caller frees it. */
char *vendors_of_bundle(const char *library);

/* The --help of a subcommand that takes a session's options; NULL: of `vocl` itself. */
void help_show(const char *command);

/* Where sessions find their devices: VOCL_WORKERS, VOCL_HOSTS, VOCL_MPI, VOCL_NETWORK. */
void environment_set_session(const struct choices *choices);

/* Sees to it that each of these hosts has this VOCL, and that sessions use it there (VOCL_PROXY); or ends with the
 * reasons. */
void deploy(const char *hosts);

/* Devices of the pool are held until that process has ended (VOCL_POOL_HOLD), or it ends with the reason; hold.c. */
void hold_devices(const char *process);

/* How a program comes to call VOCL: LD_PRELOAD, OCL_ICD_VENDORS. */
void environment_set_interposition(const struct choices *choices);

/* Tells of settings in the environment that are none, and like one. */
void misspelt_tell(void);

/* The hosts of --hosts, with commas between them: a name, or several as in n[1-3,7] (n01 and so on: as wide as the
 * first is); and of --hostfile, a name on a line, maybe with slots=N, for so many workers. Ends with the reason if it
 * is none. The caller frees it. */
char *hosts_expand(const char *text);
char *hosts_read(const char *path);

/* `vocl devices`, after its options. Returns the exit status. */
int devices_list(bool json);

/* `vocl sessions`, `vocl move`, `vocl suspend` and `vocl resume` from that word on. Return the exit status. */
int sessions_command(int count, char **words);
int sessions_move(int count, char **words);
int sessions_suspend(int count, char **words);
int sessions_list(bool json);
/* Each session that this user may ask about: the process that has started it, and what that says of it
 * (base/requests.h), or NULL if it does not answer. False ends it. */
void sessions_each(bool (*found)(void *context, pid_t starter, const char *line), void *context);
/* As getopt_long(3), for a command about one session: --list and --help it does, and what is no option ends the tool.
 */
int session_option(int count, char **words, const char *letters, const struct option *options);
/* The number of a process, as a user writes it, or that of the program of a pool's session; ends if it is none. */
long session_process(const char *text);
/* Ask the session of a program of this user's (or, of root, anybody's): its progress (unless quiet) and its answer are
 * printed. Returns the exit status, or ends with the reason of a failure. */
int session_ask(long program, const char *words, bool quiet);
/* The same, without printing the last line of the answer, and as good as its word: returns when it was done. */
#define SESSION_ANSWER 4096
void session_answer(long program, const char *words, bool quiet, char answer[SESSION_ANSWER]);

/* `vocl checkpoint`, from that word on. Returns the exit status. */
int checkpoint_command(int count, char **words);
/* The absolute path of a checkpoint whose files were read and are good; or ends with the reason. */
char *checkpoint_to_restore(const char *path);

/* `vocl run --trace` or `--report`: the program runs, and then what it did is written. Returns the exit status. */
int trace_run(const struct choices *choices, char **program);
/* `vocl trace` and `vocl explain`, from that word on. Return the exit status. */
int trace_command(int count, char **words);
int explain_command(int count, char **words);

/* Within these bounds, or the program ends and says that it is not what it should be: a number, and bytes such as 8G.
 */
double topo_number(const char *text, const char *what, double least, double most);
double topo_size(const char *text, double least, double most);

/* `vocl topo route`, from that word on. Returns the exit status. */
int topo_route(int count, char **words);

#endif
