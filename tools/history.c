/* `vocl pool history`: shows the daemons' records of past sessions as a table, CSV or JSON, one by one or as sums. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "tools/pool.h"

/* ---- reading ---- */

double history_end(const json_t *record)
{
    const json_t *ended = json_object_get(record, "ended"); /* older daemons do not send it */

    return ended ? json_number_value(ended) : number_of(record, "began") + number_of(record, "seconds");
}

bool history_when(const char *text, bool ahead, double *when)
{
    static const struct {
        char unit;
        long seconds;
    } units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    struct tm date = {.tm_isdst = -1};
    char *end = strptime(text, "%Y-%m-%d", &date), *rest;
    const double amount = strtod(text, &rest);

    if (end && *end)
        end = strptime(end, *end == 'T' ? "T%H:%M" : " %H:%M", &date);
    if (end && !*end) {
        *when = (double)mktime(&date);
        return true;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(*units) && rest > text && amount >= 0; i++) {
        if (rest[0] == units[i].unit && !rest[1]) {
            *when = (double)time(NULL) + (ahead ? amount : -amount) * (double)units[i].seconds;
            return true;
        }
    }
    return false;
}

static bool wants(const struct history_choices *choices, const json_t *record)
{
    return (!choices->user || !strcmp(choices->user, text_of(record, "user"))) &&
           (!choices->jobs || job_is_of(text_of(record, "job"), choices->jobs));
}

/* Reads all records of a node. Returns false, with why. */
static bool read_node(const struct poolfile *pool, const char *address, const struct history_choices *choices,
                      json_t *records, char *why, size_t why_size)
{
    json_t *question = json_pack("{s:s, s:f}", "do", "history", "since", choices->since), *answer, *record;
    struct client client;
    bool over = false;
    size_t i;

    if (client_connect(&client, pool, address, why, why_size))
        return false;
    while (!over && !client_call(&client, question, &answer, why, why_size)) {
        json_array_foreach(json_object_get(answer, "records"), i, record)
        {
            if (wants(choices, record))
                json_array_append(records, record);
        }
        over = json_is_true(json_object_get(answer, "over"));
        json_object_set(question, "file", json_object_get(answer, "file"));
        json_object_set(question, "at", json_object_get(answer, "at"));
        json_decref(answer);
    }
    json_decref(question);
    client_close(&client);
    return over;
}

static int by_end(const void *left, const void *right)
{
    const double difference = history_end(*(json_t *const *)left) - history_end(*(json_t *const *)right);

    return difference < 0 ? -1 : difference > 0;
}

/* Returns a list ordered by the sessions' ends; takes records over. */
static json_t *sorted(json_t *records)
{
    const size_t count = json_array_size(records);
    json_t **all = calloc(count + 1, sizeof(*all)), *list = json_array();

    for (size_t i = 0; all && i < count; i++)
        all[i] = json_array_get(records, i);
    if (all)
        qsort(all, count, sizeof(*all), by_end);
    for (size_t i = 0; all && i < count; i++)
        json_array_append(list, all[i]);
    free(all);
    json_decref(records);
    return list;
}

/* ---- output ---- */

/* Prints a field as in RFC 4180: quoted where it could be misread. */
static void put_csv(const char *text, bool last)
{
    if (text[strcspn(text, ",\"\r\n")]) {
        putchar('"');
        for (; *text; text++)
            printf(*text == '"' ? "\"\"" : "%c", *text);
        putchar('"');
    } else {
        fputs(text, stdout);
    }
    putchar(last ? '\n' : ',');
}

static const char *text_of_value(const json_t *value, char text[4096])
{
    const json_t *entry;
    size_t i;

    *text = '\0';
    json_array_foreach(value, i, entry)
    {
        if (strlen(text) + json_string_length(entry) + 3 < 4096)
            sprintf(text + strlen(text), "%s%s", i ? "; " : "", json_string_value(entry));
    }
    if (json_is_string(value))
        snprintf(text, 4096, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(text, 4096, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(text, 4096, "%.3f", json_real_value(value));
    return text;
}

static void show_csv(const json_t *list, const char *const *columns, size_t count)
{
    const json_t *record;
    char text[4096];
    size_t i;

    for (size_t c = 0; c < count; c++)
        put_csv(columns[c], c + 1 == count);
    json_array_foreach(list, i, record)
    {
        for (size_t c = 0; c < count; c++)
            put_csv(text_of_value(json_object_get(record, columns[c]), text), c + 1 == count);
    }
}

static void show_records(const json_t *records)
{
    json_t *record;
    char ended[32], time[24], in[16], out[16];
    size_t i;

    printf("%-19s %-12s %-12s %-10s %-16s %-16s %3s %9s %10s %9s %9s  %s\n", "ENDED", "SESSION", "USER", "JOB",
           "PROGRAM", "NODE", "DEV", "TIME", "DEVICE S", "IN", "OUT", "END");
    json_array_foreach(records, i, record)
    {
        history_day(history_end(record), "%Y-%m-%d %H:%M:%S", ended);
        printf("%-19s %-12.12s %-12s %-10s %-16.16s %-16s %3zu %9s %10.2f %9s %9s  %s%s%s\n", ended,
               shown(record, "session"), shown(record, "user"), shown(record, "job"), shown(record, "program"),
               shown(record, "node"), json_array_size(json_object_get(record, "devices")),
               show_time(number_of(record, "seconds"), time), number_of(record, "device_seconds"),
               show_bytes(number_of(record, "bytes_in"), in), show_bytes(number_of(record, "bytes_out"), out),
               shown(record, "end"), *text_of(record, "why") ? ": " : "", shown(record, "why"));
    }
}

static void show_sums(const json_t *sums, const char *const *names, size_t count)
{
    json_t *sum;
    char heading[32], held[24], in[16], out[16];
    size_t i;

    for (size_t c = 0; c < count; c++) {
        for (i = 0; names[c][i] && i + 1 < sizeof(heading); i++)
            heading[i] = (char)(names[c][i] - ('a' - 'A'));
        heading[i] = '\0';
        printf("%-16s ", heading);
    }
    printf("%8s %12s %12s %12s %9s %9s\n", "SESSIONS", "HELD", "DEVICE S", "LAUNCHES", "IN", "OUT");
    json_array_foreach(sums, i, sum)
    {
        for (size_t c = 0; c < count; c++)
            printf("%-16s ", shown(sum, names[c]));
        printf("%8.0f %12s %12.2f %12.0f %9s %9s\n", number_of(sum, "sessions"),
               show_time(number_of(sum, "held_seconds"), held), number_of(sum, "device_seconds"),
               number_of(sum, "launches"), show_bytes(number_of(sum, "bytes_in"), in),
               show_bytes(number_of(sum, "bytes_out"), out));
    }
}

static void show_json(const json_t *list)
{
    json_dumpf(list, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    putchar('\n');
}

static void show_all(const json_t *records, const struct history_choices *choices)
{
    static const char *const columns[] = {
        "session", "node",    "user",           "uid",         "program",  "job",      "from",      "began",
        "ended",   "seconds", "device_seconds", "cpu_seconds", "launches", "bytes_in", "bytes_out", "devices",
        "end",     "why",     "node_joules"};
    if (choices->as_json)
        show_json(records);
    else if (choices->as_csv)
        show_csv(records, columns, sizeof(columns) / sizeof(*columns));
    else
        show_records(records);
}

static void show_added(const json_t *records, const struct history_choices *choices)
{
    static const char *const figures[] = {"sessions", "held_seconds", "device_seconds",
                                          "launches", "bytes_in",     "bytes_out"};
    const size_t most = sizeof(figures) / sizeof(*figures);
    const char *names[HISTORY_KEYS + 6];
    size_t count = 0;
    json_t *sums = history_sums(records, choices->sum);
    char *words = strdup(choices->sum), *rest = NULL;

    for (char *word = strtok_r(words, ",", &rest); word && count < HISTORY_KEYS; word = strtok_r(NULL, ",", &rest))
        names[count++] = word;
    if (choices->as_json) {
        show_json(sums);
    } else if (choices->as_csv) {
        memcpy(names + count, figures, sizeof(figures));
        show_csv(sums, names, count + most);
    } else {
        show_sums(sums, names, count);
    }
    free(words);
    json_decref(sums);
}

int history(const struct poolfile *pool, const struct history_choices *choices)
{
    json_t *status = pool_status(pool), *records = json_array(), *node;
    char why[512];
    int missing = 0;
    size_t i;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (!pool_is_lost(node, why, sizeof(why)) &&
            read_node(pool, text_of(node, "address"), choices, records, why, sizeof(why)))
            continue;
        fprintf(stderr, "vocl pool: the sessions of %s are missing: %s\n", shown(node, "name"), why);
        missing = 1;
    }
    json_decref(status);
    records = sorted(records);
    if (choices->sum)
        show_added(records, choices);
    else
        show_all(records, choices);
    json_decref(records);
    return missing;
}
