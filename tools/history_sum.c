/* Computes the sums of `vocl pool history --sum`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/pool.h"

static const char *const keys[] = {"user", "day", "program", "node", "job", "end"};

bool history_is_key(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        if (strlen(keys[i]) == length && !strncmp(keys[i], text, length))
            return true;
    }
    return false;
}

void history_day(double seconds, const char *format, char text[32])
{
    const time_t at = (time_t)seconds;
    struct tm date;

    strftime(text, 32, format, localtime_r(&at, &date));
}

/* Returns the record's value for a key as text; a job includes all its steps. */
static const char *value_of(const json_t *record, const char *key, char text[256])
{
    if (!strcmp(key, "day"))
        history_day(history_end(record), "%Y-%m-%d", text);
    else
        snprintf(text, 256, "%s", text_of(record, key));
    if (!strcmp(key, "job"))
        text[strcspn(text, ".")] = '\0';
    return text;
}

static void add_number(json_t *sum, const char *name, double value)
{
    json_object_set_new(sum, name, json_real(number_of(sum, name) + value));
}

static json_t *new_sum(const json_t *record, const char *list)
{
    json_t *sum = json_object();
    char key[16], text[256];

    for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        snprintf(key, sizeof(key), "%.*s", (int)strcspn(at, ","), at);
        json_object_set_new(sum, key, json_string(value_of(record, key, text)));
    }
    json_object_set_new(sum, "sessions", json_integer(0));
    return sum;
}

/* Counts a session on several nodes once; each second of each of its devices is a held second. */
static void add_record(json_t *sum, const json_t *record, json_t *seen, const char *group)
{
    char name[1200];

    snprintf(name, sizeof(name), "%s%s", text_of(record, "session"), group);
    if (!json_object_get(seen, name))
        json_object_set_new(sum, "sessions", json_integer((json_int_t)number_of(sum, "sessions") + 1));
    json_object_set_new(seen, name, json_true());
    add_number(sum, "held_seconds",
               number_of(record, "seconds") * (double)json_array_size(json_object_get(record, "devices")));
    add_number(sum, "device_seconds", number_of(record, "device_seconds"));
    add_number(sum, "launches", number_of(record, "launches"));
    add_number(sum, "bytes_in", number_of(record, "bytes_in"));
    add_number(sum, "bytes_out", number_of(record, "bytes_out"));
}

/* Names a record's group: its values for the keys, one after the other. */
static void name_group(const json_t *record, const char *list, char group[1100])
{
    char text[256], key[16];

    *group = '\0';
    for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        snprintf(key, sizeof(key), "%.*s", (int)strcspn(at, ","), at);
        value_of(record, key, text);
        if (strlen(group) + strlen(text) + 2 < 1100)
            sprintf(group + strlen(group), "\t%s", text);
    }
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Returns the groups, ordered by name. */
static json_t *in_order(json_t *groups)
{
    const char **names = calloc(json_object_size(groups) + 1, sizeof(*names)), *name;
    json_t *list = json_array(), *sum;
    size_t count = 0;

    json_object_foreach(groups, name, sum)
    {
        if (names)
            names[count++] = name;
    }
    if (names)
        qsort(names, count, sizeof(*names), by_name);
    for (size_t i = 0; i < count; i++)
        json_array_append(list, json_object_get(groups, names[i]));
    free(names);
    return list;
}

json_t *history_sums(const json_t *records, const char *list)
{
    json_t *groups = json_object(), *seen = json_object(), *sums, *record, *sum;
    char group[1100];
    size_t i;

    json_array_foreach(records, i, record)
    {
        name_group(record, list, group);
        sum = json_object_get(groups, group);
        if (!sum) {
            sum = new_sum(record, list);
            json_object_set_new(groups, group, sum);
        }
        add_record(sum, record, seen, group);
    }
    sums = in_order(groups);
    json_decref(groups);
    json_decref(seen);
    return sums;
}
