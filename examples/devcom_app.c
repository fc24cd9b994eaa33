#include "devcom_app.h"

#include <sys/resource.h>

enum { MOST_ROUNDS = 64, MOST_FORMS = 8, MOST_COMMANDS = 512, MOST_PUTS = 512 };

struct app app = {.steps = 100};

static struct devcom_ggas *ggas;
static struct devcom_control *control;
static unsigned rounds = 1;
static const char *only, *label;

/* The time of a run of a form, the processor time of all processes, and that of the calling threads; in seconds. */
struct taken {
    double time, cpu, client;
};

void app_check(int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "rank %d: %s: %d\n", app.rank, what, error);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- start ---- */

static void usage(const char *word)
{
    fprintf(stderr, "not understood: %s\n", word);
    exit(2);
}

static void set_number(const char *word, const char *text, unsigned *value)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (*end || number < 1 || number > 1u << 30)
        usage(word);
    *value = (unsigned)number;
}

static void read_words(int count, char **words, const struct app_option *options)
{
    for (int i = 1; i < count; i += 2) {
        const struct app_option *option = options;

        if (i + 1 == count)
            usage(words[i]);
        while (option->name && strcmp(option->name, words[i]) != 0)
            option++;
        if (option->name)
            set_number(words[i], words[i + 1], option->value);
        else if (!strcmp(words[i], "--steps"))
            set_number(words[i], words[i + 1], &app.steps);
        else if (!strcmp(words[i], "--rounds"))
            set_number(words[i], words[i + 1], &rounds);
        else if (!strcmp(words[i], "--form"))
            only = words[i + 1];
        else if (!strcmp(words[i], "--label"))
            label = words[i + 1];
        else
            usage(words[i]);
    }
    if (rounds > MOST_ROUNDS)
        usage("--rounds");
}

static void open_device(void)
{
    struct devcom_endpoint_options options = {.queues = 2};
    cl_platform_id platform;
    cl_int status;

    app_check(clGetPlatformIDs(1, &platform, NULL), "platform");
    app_check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &app.device, NULL), "device");
    app.context = clCreateContext(NULL, 1, &app.device, NULL, NULL, &status);
    app_check(status, "context");
    app.queue = clCreateCommandQueueWithProperties(app.context, app.device, NULL, &status);
    app_check(status, "queue");
    options.context = app.context;
    options.device = app.device;
    app_check(devcom_endpoint_open(app.d, &options, &app.endpoint), "endpoint");
}

void app_open(int count, char **words, const struct app_option *options)
{
    int level;

    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    read_words(count, words, options);
    app_check(devcom_init(MPI_COMM_WORLD, NULL, &app.d), "devcom");
    app.rank = devcom_rank(app.d);
    app.size = devcom_size(app.d);
    app.shared = true;
    for (int r = 0; r < app.size; r++)
        app.shared = app.shared && devcom_shares_host(app.d, r);
    open_device();
}

void app_close(void)
{
    if (control)
        devcom_control_destroy(control);
    devcom_endpoint_close(app.endpoint);
    if (ggas)
        app_check(devcom_ggas_close(ggas), "global address space");
    app_check(devcom_finalize(app.d), "finalize");
    clReleaseProgram(app.program);
    clReleaseCommandQueue(app.queue);
    clReleaseContext(app.context);
    MPI_Finalize();
}

/* ---- OpenCL ---- */

void app_program(const char *const *texts)
{
    size_t bytes = 1;
    char *all;

    for (const char *const *text = texts; *text; text++)
        bytes += strlen(*text);
    all = calloc(1, bytes);
    app_check(!all, "memory");
    for (const char *const *text = texts; *text; text++)
        strcat(all, *text);
    app_check(devcom_program_create(app.endpoint, all, NULL, &app.program), "program");
    free(all);
}

cl_kernel app_kernel(const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(app.program, name, &status);

    app_check(status, name);
    return kernel;
}

void app_argument(cl_kernel kernel, unsigned index, size_t bytes, const void *value)
{
    app_check(clSetKernelArg(kernel, index, bytes, value), "argument");
}

cl_mem app_segment(size_t bytes, void **at)
{
    struct devcom_memory memory = {.bytes = bytes, .context = app.context, .device = app.device, .commands = app.queue};
    cl_mem buffer;

    if (app.shared)
        app_check(devcom_ggas_open(app.d, APP_SEGMENT, 1, &memory, &ggas), "global address space");
    else
        app_check(devcom_segment_create(app.d, APP_SEGMENT, &memory), "segment");
    app_check(devcom_endpoint_refresh(app.endpoint), "endpoint");
    app_check(devcom_segment_ptr(app.d, app.rank, APP_SEGMENT, at), "segment");
    app_check(devcom_segment_buffer(app.d, APP_SEGMENT, &buffer), "buffer");
    return buffer;
}

cl_mem app_buffer(size_t bytes, const void *content)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(app.context, CL_MEM_READ_WRITE, bytes, NULL, &status);

    app_check(status, "buffer");
    if (content)
        app_check(clEnqueueWriteBuffer(app.queue, buffer, CL_TRUE, 0, bytes, content, 0, NULL, NULL), "write");
    return buffer;
}

void app_launch(cl_kernel kernel, unsigned dimensions, const size_t *global)
{
    app_check(clEnqueueNDRangeKernel(app.queue, kernel, dimensions, NULL, global, NULL, 0, NULL, NULL), "kernel");
}

cl_kernel app_device_kernel(const char *name, const struct devcom_argument *arguments, unsigned count)
{
    cl_kernel kernel = app_kernel(name);

    app_check(devcom_kernel_argument(app.endpoint, kernel, 0), "argument");
    for (unsigned i = 0; i < count; i++)
        app_argument(kernel, arguments[i].index, arguments[i].bytes, arguments[i].value);
    return kernel;
}

void app_run_group(const char *name, const struct devcom_argument *arguments, unsigned count)
{
    static const size_t items = 1; /* for a CPU */
    cl_kernel kernel = app_device_kernel(name, arguments, count);

    app_check(devcom_enqueue_kernel(app.endpoint, app.queue, kernel, 1, &items, &items, NULL), name);
    app_finish();
    clReleaseKernel(kernel);
}

void app_finish(void)
{
    app_check(clFinish(app.queue), "finish");
}

/* ---- control programs ---- */

/* The commands of a control program point to these copies until devcom has its own. */
static struct {
    struct devcom_command commands[MOST_COMMANDS];
    struct devcom_argument arguments[MOST_COMMANDS];
    uint64_t values[MOST_COMMANDS];
    struct devcom_put puts[MOST_PUTS];
    unsigned count, argument_count, put_count;
} list;

static void app_do(struct devcom_command command)
{
    app_check(list.count == MOST_COMMANDS, "too many commands");
    list.commands[list.count++] = command;
}

void app_do_launch(cl_kernel kernel, unsigned dimensions, const size_t *global, const struct devcom_argument *arguments,
                   unsigned count)
{
    struct devcom_command command = {.kind = DEVCOM_DO_LAUNCH,
                                     .kernel = kernel,
                                     .dimensions = dimensions,
                                     .arguments = &list.arguments[list.argument_count],
                                     .count = count};

    memcpy(command.global, global, dimensions * sizeof(*global));
    app_check(list.argument_count + count > MOST_COMMANDS, "too many arguments");
    for (unsigned i = 0; i < count; i++) {
        uint64_t *value = &list.values[list.argument_count];

        app_check(arguments[i].bytes > sizeof(*value), "argument");
        memcpy(value, arguments[i].value, arguments[i].bytes);
        list.arguments[list.argument_count] = arguments[i];
        list.arguments[list.argument_count++].value = value;
    }
    app_do(command);
}

void app_do_finish(void)
{
    app_do((struct devcom_command){.kind = DEVCOM_DO_FINISH});
}

void app_do_puts(const struct devcom_put *puts, unsigned count)
{
    struct devcom_put *copies = &list.puts[list.put_count];

    if (!count)
        return;
    app_check(list.put_count + count > MOST_PUTS, "too many puts");
    memcpy(copies, puts, count * sizeof(*puts));
    list.put_count += count;
    app_do((struct devcom_command){.kind = DEVCOM_DO_PUT, .puts = copies, .count = count, .step = 2});
}

void app_do_wait(unsigned signal, unsigned value)
{
    app_do((struct devcom_command){
        .kind = DEVCOM_DO_WAIT, .signal = signal, .condition = DEVCOM_GE, .value = value, .step = 2});
}

static void write_steps(void (*one_step)(unsigned step))
{
    if (app.steps > 1) {
        app_do((struct devcom_command){.kind = DEVCOM_DO_REPEAT, .count = app.steps / 2});
        one_step(0);
        one_step(1);
        app_do((struct devcom_command){.kind = DEVCOM_DO_END});
    }
    if (app.steps % 2)
        one_step(app.steps - 1);
}

void app_run_control(void (*one_step)(unsigned step))
{
    if (!control) {
        write_steps(one_step);
        app_check(devcom_control_create(app.d, app.queue, list.commands, list.count, DEVCOM_BLOCK, &control),
                  "control");
    }
    app_check(devcom_control_start(control), "control");
    app_check(devcom_control_wait(control, DEVCOM_BLOCK, NULL), "control");
}

/* ---- runs ---- */

static double seconds_of(int who)
{
    struct rusage usage;

    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void start(const struct app_problem *problem)
{
    problem->fill();
    for (unsigned i = 0; i < problem->signals; i++)
        app_check(devcom_signal_store(app.d, i, 0), "signal");
    app_check(devcom_barrier(app.d, DEVCOM_BLOCK), "barrier");
}

static void run_form(const struct app_problem *problem, const struct app_form *form, struct taken *out)
{
    struct taken mine;

    start(problem);
    mine = (struct taken){MPI_Wtime(), seconds_of(RUSAGE_SELF), seconds_of(RUSAGE_THREAD)};
    form->run();
    app_check(devcom_endpoint_error(app.endpoint), form->name);
    app_check(devcom_barrier(app.d, DEVCOM_BLOCK), "barrier");
    mine.time = MPI_Wtime() - mine.time;
    mine.cpu = seconds_of(RUSAGE_SELF) - mine.cpu;
    mine.client = seconds_of(RUSAGE_THREAD) - mine.client;
    MPI_Allreduce(&mine, out, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    out->time /= app.size;
}

static void check_result(const struct app_problem *problem, const char *form, uint64_t *expected)
{
    uint64_t mine = problem->sum(), all;

    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (!*expected && problem->serial) {
        *expected = app.rank == 0 ? problem->serial() : 0;
        MPI_Bcast(expected, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    }
    *expected = *expected ? *expected : all;
    if (all != *expected)
        fprintf(stderr, "rank %d: %s: %016llx, expected %016llx\n", app.rank, form, (unsigned long long)all,
                (unsigned long long)*expected);
    app_check(all != *expected, "another result");
}

static int compare(const void *first, const void *second)
{
    double a = *(const double *)first, b = *(const double *)second;

    return (a > b) - (a < b);
}

static double median(const struct taken *taken, size_t member)
{
    double values[MOST_ROUNDS];

    for (unsigned i = 0; i < rounds; i++)
        memcpy(&values[i], (const char *)&taken[i] + member, sizeof(double));
    qsort(values, rounds, sizeof(*values), compare);
    return (values[(rounds - 1) / 2] + values[rounds / 2]) / 2;
}

static void report(const struct app_problem *problem, const char *form, const struct taken *taken)
{
    const char *name = label ? label : problem->name;
    double step = median(taken, offsetof(struct taken, time)) / app.steps * 1e6;

    printf("%s_%s_step %.4g us\n", name, form, step);
    printf("%s_%s_cpu %.4g s\n", name, form, median(taken, offsetof(struct taken, cpu)));
    printf("%s_%s_client %.4g s\n", name, form, median(taken, offsetof(struct taken, client)));
    if (problem->operations)
        printf("%s_%s_rate %.4g 1/s\n", name, form, (double)problem->operations / step * 1e6);
    fflush(stdout);
}

static bool is_wanted(const struct app_form *form)
{
    return (!only || !strcmp(only, form->name)) && (app.shared || !form->shared);
}

void app_run(const struct app_problem *problem, const struct app_form *forms, unsigned count)
{
    struct taken taken[MOST_FORMS][MOST_ROUNDS];
    uint64_t expected = 0;
    unsigned ran = 0;

    app_check(count > MOST_FORMS, "too many forms");
    for (unsigned round = 0; round <= rounds; round++) { /* the first is not timed, since it compiles kernels */
        for (unsigned i = 0; i < count; i++) {
            if (!is_wanted(&forms[i]))
                continue;
            run_form(problem, &forms[i], &taken[i][round ? round - 1 : 0]);
            check_result(problem, forms[i].name, &expected);
            ran++;
        }
    }
    app_check(!ran, "no such form here");
    for (unsigned i = 0; i < count && app.rank == 0; i++) {
        if (is_wanted(&forms[i]))
            report(problem, forms[i].name, taken[i]);
    }
}
