/* The `vocl` command: runs programs on remote OpenCL devices, and shows the devices. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/selection.h"
#include "base/settings.h"
#include "base/text.h"
#include "tools/tools.h"

static const char *check_number(const char *option, const char *text, long least)
{
    char *end;
    long count;

    errno = 0;
    count = strtol(text, &end, 10);
    if (end == text || *end || errno || count < least)
        misuse("%s takes a number, not \"%s\"", option, text);
    return text;
}

static const char *check_bytes(const char *text)
{
    uint64_t bytes;

    if (!text_read_bytes(text, &bytes) || !bytes)
        misuse("--mem takes a number of bytes, such as 8G, not \"%s\"", text);
    return text;
}

static const char *check_policy(const char *text)
{
    if (strcmp(text, "pack") && strcmp(text, "spread") && strcmp(text, "least-loaded") && strcmp(text, "order"))
        misuse("--policy takes pack, spread, least-loaded or order, not \"%s\"", text);
    return text;
}

static void check_devices(const char *text)
{
    struct selection item;
    char why[700];

    if (!*text)
        misuse("--devices takes a list");
    for (int more = 1; more;) {
        more = selection_next(&text, &item, why, sizeof(why));
        if (more < 0)
            misuse("%s", why);
    }
}

static void check_mpi(const char *text)
{
    if (strcmp(text, "mpich") && strcmp(text, "openmpi"))
        misuse("--mpi takes mpich or openmpi, not \"%s\"", text);
}

static void check_network(const char *text)
{
    if (strcmp(text, "auto") && strcmp(text, "mpi") && strcmp(text, "pairs") && strcmp(text, "tls") &&
        strcmp(text, "plain") && strcmp(text, "ssh"))
        misuse("--network takes auto, mpi, pairs, tls, plain or ssh, not \"%s\"", text);
}

static void choose_interposition(struct choices *choices, const char *text)
{
    if (strcmp(text, "preload") && strcmp(text, "icd") && strcmp(text, "both"))
        misuse("--interpose takes preload, icd or both, not \"%s\"", text);
    choices->preload = strcmp(text, "icd");
    choices->icd = strcmp(text, "preload");
}

/* Reports mistakes that would otherwise only show when the program runs, or not at all. */
static void check_environment(const struct choices *choices)
{
    const char *log = getenv("VOCL_LOG"), *pool = getenv("VOCL_POOL");
    const bool asks = choices->count || choices->memory || choices->name || choices->weight || choices->wait ||
                      choices->policy || choices->exclusive || choices->hold;

    if (log && *log && !vocl_log_is_level(log))
        misuse("VOCL_LOG takes none, error, warn, info or debug, not \"%s\"", log);
    if (!asks || choices->pool)
        return;
    if (choices->workers || choices->hosts || choices->local)
        misuse("--count, --gpus, --mem, --name, --exclusive, --weight, --wait, --policy and --hold are for pools only");
    if (pool && *pool ? !strcmp(pool, "none") : access(SETTINGS_POOL_FILE, R_OK))
        misuse("there is no pool to ask for devices: no --pool, VOCL_POOL or " SETTINGS_POOL_FILE);
}

/* Checks the options that say where workers are, and how they are started. */
static void choose_hosts(struct choices *choices)
{
    if (choices->slurm && (choices->hosts || choices->launcher))
        misuse("--slurm and --hosts, --launcher exclude each other");
    if (choices->gres && !choices->slurm)
        misuse("--gres needs --slurm");
    if (choices->workers && (choices->hosts || choices->slurm))
        misuse("--workers and %s exclude each other", choices->slurm ? "--slurm" : "--hosts");
    if (choices->pool && (choices->workers || choices->hosts || choices->slurm || choices->local))
        misuse("--pool and --workers, --hosts, --slurm, --local exclude each other");
    if (choices->slurm)
        slurm_choose(choices);
    if (choices->hosts || (!choices->workers && !choices->pool && *settings_string(SETTING_HOSTS)))
        return;
    if (choices->deploy)
        misuse("--deploy needs --hosts");
    if (choices->launcher)
        misuse("--launcher needs --hosts");
}

/* Reads the options of a subcommand; afterwards optind is the index of the first word that is not an option. */
static struct choices parse_options(int count, char **words, bool runs)
{
    static const struct option options[] = {
        {"workers", required_argument, NULL, 'w'},
        {"spare", required_argument, NULL, 'S'},
        {"recover", no_argument, NULL, 'R'},
        {"restore", required_argument, NULL, 'C'},
        {"hosts", required_argument, NULL, 'H'},
        {"hostfile", required_argument, NULL, 'f'},
        {"launcher", required_argument, NULL, 'L'},
        {"slurm", optional_argument, NULL, 'u'},
        {"gres", required_argument, NULL, 'G'},
        {"mpi", required_argument, NULL, 'm'},
        {"network", required_argument, NULL, 'k'},
        {"interpose", required_argument, NULL, 'd'},
        {"door", required_argument, NULL, 'd'}, /* the former name */
        {"devices", required_argument, NULL, 'D'},
        {"deploy", no_argument, NULL, 'y'},
        {"local", no_argument, NULL, 'l'},
        {"pool", required_argument, NULL, 'P'},
        {"count", required_argument, NULL, 'n'},
        {"gpus", required_argument, NULL, 'g'},
        {"mem", required_argument, NULL, 'M'},
        {"name", required_argument, NULL, 'N'},
        {"exclusive", no_argument, NULL, 'x'},
        {"weight", required_argument, NULL, 's'},
        {"share", required_argument, NULL, 's'}, /* the former name */
        {"wait", required_argument, NULL, 'W'},
        {"policy", required_argument, NULL, 'p'},
        {"hold", optional_argument, NULL, 'o'},
        {"trace", required_argument, NULL, 't'},
        {"report", optional_argument, NULL, 'r'},
        /* not a session's options */
        {"json", no_argument, NULL, 'j'},
        {"discover", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct choices choices = {.preload = true, .icd = true};
    int option;

    opterr = 0; /* getopt would print "run" as the command's name */
    while ((option = getopt_long(count, words, "+:w:S:RC:H:m:k:d:D:lyhP:n:g:M:N:xs:W:p:t:r::j", options, NULL)) != -1) {
        check_value(words);
        switch (option) {
        case 'w':
            choices.workers = check_number("--workers", optarg, 0);
            break;
        case 'S':
            choices.spare = check_number("--spare", optarg, 0);
            break;
        case 'R':
            if (!runs)
                misuse("--recover belongs to `vocl run`");
            choices.recover = true;
            break;
        case 'C':
            if (!runs)
                misuse("--restore belongs to `vocl run`");
            choices.restore = optarg;
            break;
        case 'H':
            choices.hosts = hosts_expand(optarg);
            break;
        case 'f':
            choices.hosts = hosts_read(optarg);
            break;
        case 'L':
            choices.launcher = optarg;
            break;
        case 'u':
            choices.slurm = optarg ? optarg : "";
            break;
        case 'G':
            choices.gres = optarg;
            break;
        case 'j':
            if (runs)
                misuse("--json belongs to `vocl devices` and `vocl doctor`");
            choices.json = true;
            break;
        case 'v':
            if (runs)
                misuse("--discover belongs to `vocl devices`");
            choices.discover = true;
            break;
        case 'm':
            check_mpi(optarg);
            choices.mpi = optarg;
            break;
        case 'k':
            check_network(optarg);
            choices.network = optarg;
            break;
        case 'D':
            check_devices(optarg);
            choices.devices = optarg;
            break;
        case 'y':
            choices.deploy = true;
            break;
        case 'l':
            choices.local = true;
            break;
        case 'P':
            choices.pool = optarg;
            break;
        case 'n':
            choices.count = check_number("--count", optarg, 1);
            break;
        case 'g':
            choices.count = check_number("--gpus", optarg, 1);
            choices.type = "gpu";
            break;
        case 'M':
            choices.memory = check_bytes(optarg);
            break;
        case 'N':
            choices.name = optarg;
            break;
        case 'x':
            choices.exclusive = true;
            break;
        case 's':
            choices.weight = check_number("--weight", optarg, 1);
            break;
        case 'W':
            choices.wait = check_number("--wait", optarg, 0);
            break;
        case 'p':
            choices.policy = check_policy(optarg);
            break;
        case 'o':
            if (!runs)
                misuse("--hold belongs to `vocl run`");
            choices.hold = optarg ? check_number("--hold", optarg, 1) : "";
            break;
        case 'd':
            if (!runs)
                misuse("--interpose belongs to `vocl run`");
            choose_interposition(&choices, optarg);
            break;
        case 't':
        case 'r':
            if (!runs)
                misuse("--trace and --report belong to `vocl run`");
            *(option == 't' ? &choices.trace : &choices.report) = optarg ? optarg : "-";
            break;
        case 'h':
            help_show(words[0]);
            exit(0);
        case ':':
            misuse("%s needs a value", words[optind - 1]);
        default:
            misuse("unknown option %s", words[optind - 1]);
        }
    }
    choose_hosts(&choices);
    check_environment(&choices);
    if (choices.workers && !atol(choices.workers) && !choices.local)
        misuse("--workers=0 needs --local");
    return choices;
}

static void prepare_session(const struct choices *choices)
{
    misspelt_tell();
    environment_set_session(choices);
    if (choices->deploy)
        deploy(settings_string(SETTING_HOSTS));
}

static int run(int count, char **words)
{
    struct choices choices = parse_options(count, words, true);
    char **program = words + optind;

    if (!*program)
        misuse("run needs a program");
    if (choices.restore)
        choices.restore = checkpoint_to_restore(choices.restore);
    prepare_session(&choices);
    if (choices.hold)
        hold_devices(choices.hold);
    if (choices.trace || choices.report)
        return trace_run(&choices, program);
    environment_set_interposition(&choices);
    execvp(*program, program);
    fail(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE, "%s: %m", *program);
}

/* Runs a program of VOCL's own that needs more libraries than this one. */
__attribute__((noreturn)) static void become(const char *helper, const char *name, char **words)
{
    const char *path = helper_path(helper);

    words[0] = (char *)name;
    execv(path, words);
    fail(EXIT_BROKEN, "%s: %m", path);
}

static int devices(int count, char **words)
{
    struct choices choices = parse_options(count, words, false);
    char *name[] = {NULL, choices.json ? "--json" : NULL, NULL};

    if (words[optind])
        misuse("devices takes no argument such as \"%s\"", words[optind]);
    if (choices.discover)
        become("vocl-discover", "vocl devices", name);
    prepare_session(&choices);
    return devices_list(choices.json);
}

static int doctor(int count, char **words)
{
    struct choices choices = parse_options(count, words, false);
    char *name[] = {NULL, choices.json ? "--json" : NULL, NULL};

    if (words[optind])
        misuse("doctor takes no argument such as \"%s\"", words[optind]);
    if (choices.discover)
        misuse("--discover belongs to `vocl devices`");
    prepare_session(&choices);
    become("vocl-doctor", "vocl doctor", name);
}

/* `vocl help COMMAND` is `vocl COMMAND --help`. */
static void ask_for_help(int *count, char **words)
{
    if (*count < 2 || strcmp(words[1], "help"))
        return;
    words[1] = *count > 2 ? words[2] : "--help";
    if (*count > 2)
        words[2] = "--help";
    if (*count > 3)
        misuse("help takes one command");
}

int main(int count, char **words)
{
    static const struct {
        const char *name, *whole;
        int (*run)(int count, char **words);
        const char *helper; /* NULL, or the program that carries the command out */
    } commands[] = {{"run", "vocl run", run, NULL},
                    {"devices", "vocl devices", devices, NULL},
                    {"sessions", "vocl sessions", sessions_command, NULL},
                    {"move", "vocl move", sessions_move, NULL},
                    {"suspend", "vocl suspend", sessions_suspend, NULL},
                    {"resume", "vocl resume", sessions_suspend, NULL},
                    {"checkpoint", "vocl checkpoint", checkpoint_command, NULL},
                    {"trace", "vocl trace", trace_command, NULL},
                    {"explain", "vocl explain", explain_command, NULL},
                    {"doctor", "vocl doctor", doctor, NULL},
                    {"pool", "vocl pool", NULL, "vocl-pool"},
                    {"top", "vocl top", NULL, "vocl-pool"},
                    {"topo", "vocl topo", NULL, "vocl-topo"}};
    const char *command;

    ask_for_help(&count, words);
    command = count > 1 ? words[1] : "";
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        if (strcmp(command, commands[i].name) != 0)
            continue;
        help_is_of(commands[i].whole);
        if (commands[i].helper)
            become(commands[i].helper, commands[i].whole, words + 1);
        return commands[i].run(count - 1, words + 1);
    }
    if (!strcmp(command, "--version") || !strcmp(command, "-V")) {
        puts("vocl " PACKAGE_VERSION);
        return 0;
    }
    if (!strcmp(command, "--help") || !strcmp(command, "-h")) {
        help_show(NULL);
        return 0;
    }
    if (!*command)
        misuse("no command");
    misuse("unknown command \"%s\"", command);
}
