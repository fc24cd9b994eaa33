/* The screen of `vocl top`: lines as long as the terminal is wide, which are readable without colours, too. */
#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "tools/top.h"

#define WIDE 116 /* columns of a terminal that has room for everything */
#define MOST_COLUMNS 512
#define CHART 5        /* lines */
#define LEAST_LIST 3   /* lines of sessions; if there are fewer, the chart is left out */
#define LABEL 5        /* columns beside the chart */
#define GOES_ON 2      /* columns before the continuation of a line */
#define BUSY 0.7       /* load from which a bar is warm, */
#define VERY_BUSY 0.95 /* and from which it is hot */

enum { COOL = 1, WARM, HOT, TITLE };

void top_colours(void)
{
    const char *none = getenv("NO_COLOR");

    if ((none && *none) || !has_colors())
        return;
    start_color();
    use_default_colors();
    init_pair(COOL, COLOR_GREEN, -1);
    init_pair(WARM, COLOR_YELLOW, -1);
    init_pair(HOT, COLOR_RED, -1);
    init_pair(TITLE, COLOR_CYAN, -1);
}

static attr_t heat(double part)
{
    return (attr_t)COLOR_PAIR(part >= VERY_BUSY ? HOT : part >= BUSY ? WARM : COOL);
}

/* ---- lines ---- */

static int row;

__attribute__((format(printf, 2, 3))) static void put(attr_t attributes, const char *format, ...)
{
    char line[MOST_COLUMNS];
    va_list arguments;

    if (row >= LINES)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    attron(attributes);
    mvaddnstr(row++, 0, line, COLS);
    attroff(attributes);
}

/* A text too long for a line continues on the next one, from a space on if there is one. */
static size_t line_end(const char *text, size_t room)
{
    size_t end = strlen(text);

    if (end <= room)
        return end;
    for (end = room; end > room / 2; end--) {
        if (text[end] == ' ')
            return end;
    }
    return room;
}

static const char *next_line(const char *text, bool first, size_t *length)
{
    const size_t columns = COLS > 2 * GOES_ON ? (size_t)COLS : 2 * GOES_ON;

    text += first ? 0 : strspn(text, " ");
    *length = line_end(text, columns - (first ? 0 : GOES_ON));
    return text;
}

static int lines_of(const char *text)
{
    size_t length;
    int count = 0;

    for (const char *at = text; !count || *at; at += length, count++)
        at = next_line(at, !count, &length);
    return count;
}

static void put_whole(attr_t attributes, const char *text)
{
    size_t length;
    bool first = true;

    for (const char *at = text; first || *at; at += length, first = false) {
        at = next_line(at, first, &length);
        put(attributes, "%*s%.*s", first ? 0 : GOES_ON, "", (int)length, at);
    }
}

static void put_bar(int y, int x, int width, double part)
{
    const int full = (int)(part * width + 0.5);

    mvaddch(y, x, '[');
    attron(heat(part));
    for (int i = 0; i < width && i < full; i++)
        mvaddch(y, x + 1 + i, '|');
    attroff(heat(part));
    mvaddch(y, x + 1 + width, ']');
    mvprintw(y, x + 2 + width, "%4.0f%%", 100 * part);
}

/* ---- the past ---- */

static struct top_series *series_of(struct top *t, const char *name)
{
    for (unsigned i = 0; i < t->series_count; i++) {
        if (!strcmp(t->series[i].name, name))
            return &t->series[i];
    }
    if (!t->series)
        t->series = calloc(TOP_DEVICES, sizeof(*t->series));
    if (!t->series || t->series_count == TOP_DEVICES)
        return NULL;
    snprintf(t->series[t->series_count].name, sizeof(t->series->name), "%s", name);
    return &t->series[t->series_count++];
}

/* Adds the newest sample in front. */
static void add_sample(struct top_series *series, double load)
{
    if (!series)
        return;
    memmove(series->loads + 1, series->loads, sizeof(series->loads) - sizeof(*series->loads));
    series->loads[0] = (float)load;
    series->count += series->count < TOP_SAMPLES;
    series->seen = true;
}

void top_remember(struct top *t)
{
    struct top_series *all = series_of(t, "all devices");
    json_t *node, *device;
    double sum = 0;
    unsigned count = 0;
    char name[128];
    size_t i, j;

    for (unsigned k = 0; k < t->series_count; k++)
        t->series[k].seen = false;
    json_array_foreach(json_object_get(t->status, "nodes"), i, node)
    {
        json_array_foreach(json_object_get(node, "devices"), j, device)
        {
            snprintf(name, sizeof(name), "%s %.0f", shown(node, "name"), number_of(device, "index"));
            add_sample(series_of(t, name), number_of(device, "load"));
            sum += number_of(device, "load");
            count++;
        }
    }
    add_sample(all, count ? sum / count : 0);
    for (unsigned k = 0; k < t->series_count; k++) {
        if (!t->series[k].seen)
            add_sample(&t->series[k], 0); /* the device is gone */
    }
}

/* Returns the character that shows how much of a line of the chart the value fills; line 0 is the lowest. */
static char chart_sign(double value, int line)
{
    const double part = value * CHART - line;

    return part >= 0.75 ? '|' : part >= 0.4 ? ':' : part >= 0.1 ? '.' : ' ';
}

static void draw_chart(struct top *t)
{
    const int width = COLS - LABEL;
    const struct top_series *series;

    if (!t->series_count || width < 10)
        return;
    t->chosen %= t->series_count;
    series = &t->series[t->chosen];
    put((attr_t)COLOR_PAIR(TITLE), "LOAD of %s, the last %d s (n: another)", series->name, width);
    for (int line = CHART - 1; line >= 0; line--) {
        mvprintw(row, 0, line == CHART - 1 ? "100%%" : line ? "" : "  0%%");
        for (int i = 0; i < width && i < (int)series->count; i++) {
            attron(heat(series->loads[i]));
            mvaddch(row, COLS - 1 - i, (chtype)chart_sign(series->loads[i], line));
            attroff(heat(series->loads[i]));
        }
        row++;
    }
}

/* ---- devices ---- */

struct entry {
    const json_t *node, *what;
};

static int by_load(const void *left, const void *right)
{
    const double difference =
        number_of(((const struct entry *)right)->what, "load") - number_of(((const struct entry *)left)->what, "load");

    return difference < 0 ? -1 : difference > 0;
}

/* Adds all nodes' "devices", "sessions" or "suspended" to the entries. */
static struct entry *add_more(struct entry *entries, const json_t *status, const char *member, size_t *count)
{
    struct entry *more;
    json_t *node, *what;
    size_t i, j;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        const json_t *list = json_object_get(node, member);

        more = realloc(entries, (*count + json_array_size(list) + 1) * sizeof(*entries));
        if (!more)
            break;
        entries = more;
        json_array_foreach(list, j, what)
        {
            entries[(*count)++] = (struct entry){node, what};
        }
    }
    return entries;
}

static struct entry *collect(const json_t *status, const char *member, size_t *count)
{
    *count = 0;
    return add_more(NULL, status, member, count);
}

static void draw_device(const struct entry *entry)
{
    const bool wide = COLS >= WIDE;
    const int load_bar = wide ? 20 : 12, memory_bar = wide ? 16 : 8, at = wide ? 38 : 29;
    const double memory = number_of(entry->what, "memory"), free = number_of(entry->what, "free");

    put(0, "%-*.*s %3.0f %-4.4s %4.0f", wide ? 23 : 14, wide ? 23 : 14, shown(entry->node, "name"),
        number_of(entry->what, "index"), shown(entry->what, "type"), number_of(entry->what, "sessions"));
    put_bar(row - 1, at, load_bar, number_of(entry->what, "load"));
    put_bar(row - 1, at + load_bar + 8, memory_bar, memory > 0 ? (memory - free) / memory : 0);
    mvaddnstr(row - 1, at + load_bar + memory_bar + 16, shown(entry->what, "name"),
              COLS - (at + load_bar + memory_bar + 16));
}

static void state_of(const json_t *node, char *text, size_t size)
{
    snprintf(text, size, "%-14.14s %s %s", shown(node, "name"), shown(node, "state"), shown(node, "why"));
}

static void draw_devices(struct top *t, int room)
{
    const bool wide = COLS >= WIDE;
    char state[MOST_COLUMNS];
    size_t count;
    struct entry *entries = collect(t->status, "devices", &count);
    json_t *node;
    size_t i;

    if (t->busiest_first && entries)
        qsort(entries, count, sizeof(*entries), by_load);
    put(A_REVERSE, "%-*s %3s %-4s %4s %-*s %-*s %s%*s", wide ? 23 : 14, "NODE", "NR", "TYPE", "SESS", wide ? 27 : 19,
        t->busiest_first ? "LOAD v" : "LOAD", wide ? 23 : 15, "MEMORY", "NAME", COLS, "");
    json_array_foreach(json_object_get(t->status, "nodes"), i, node)
    {
        if (strcmp(text_of(node, "state"), "up") && room > 1) {
            state_of(node, state, sizeof(state));
            put_whole((attr_t)COLOR_PAIR(HOT), state);
            room -= lines_of(state);
        }
    }
    for (i = 0; i < count; i++) {
        if (room-- < 2 && i + 1 < count) {
            put(0, "... and %zu devices more (d: the busiest first)", count - i);
            break;
        }
        draw_device(&entries[i]);
    }
    free(entries);
}

/* ---- sessions ---- */

static const struct {
    const char *title, *member;
    int narrow, wide; /* columns; 0: left out */
    bool is_text;
} columns[] = {{"SESSION", "id", 8, 12, true},
               {"USER", "user", 10, 12, true},
               {"PROGRAM", "program", 12, 16, true},
               {"NODE", "node", 11, 16, true},
               {"TIME", NULL, 9, 9, false},
               {"DEV%", NULL, 5, 5, false},
               {"DEVICE S", "device_seconds", 9, 10, false},
               {"MEMORY", "memory", 9, 9, false},
               {"LAUNCHES", "launches", 0, 10, false},
               {"JOB", "job", 0, 10, true}};
enum { NODE = 3, TIME, LOAD, DEVICE_SECONDS, MEMORY };

static const struct top *sorted; /* for by_column(), as qsort() has no such argument */

/* The load from the usage since the pool's previous answer. */
static double load_of(const struct top *t, const struct entry *entry)
{
    const char *id = text_of(entry->what, "id"), *name = text_of(entry->node, "name");
    json_t *node, *session;
    size_t i, j;

    json_array_foreach(json_object_get(t->before, "nodes"), i, node)
    {
        const double seconds = number_of(entry->node, "time") - number_of(node, "time");

        if (strcmp(text_of(node, "name"), name) || seconds <= 0)
            continue;
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            if (!strcmp(text_of(session, "id"), id))
                return (number_of(entry->what, "device_seconds") - number_of(session, "device_seconds")) / seconds;
        }
    }
    return 0;
}

static double number_at(const struct top *t, const struct entry *entry, int column)
{
    if (column == TIME)
        return number_of(entry->node, "time") - number_of(entry->what, "began");
    return column == LOAD ? load_of(t, entry) : number_of(entry->what, columns[column].member);
}

/* A suspended session is on no node. */
static bool is_suspended(const struct entry *entry)
{
    return !strcmp(text_of(entry->what, "state"), "suspended");
}

static const char *text_at(const struct entry *entry, int column)
{
    if (column == NODE && is_suspended(entry))
        return "suspended";
    return column == NODE ? shown(entry->node, "name") : shown(entry->what, columns[column].member);
}

/* Texts are ordered from A on, numbers from the largest. */
static int by_column(const void *left, const void *right)
{
    const int column = (sorted->sort + LOAD) % TOP_COLUMNS;
    double difference;
    int order;

    if (columns[column].is_text) {
        order = strcmp(text_at(left, column), text_at(right, column));
    } else {
        difference = number_at(sorted, right, column) - number_at(sorted, left, column);
        order = difference < 0 ? -1 : difference > 0;
    }
    if (!order)
        order = strcmp(text_of(((const struct entry *)left)->what, "id"),
                       text_of(((const struct entry *)right)->what, "id"));
    return sorted->reverse ? -order : order;
}

static const char *cell(const struct top *t, const struct entry *entry, int column, char text[256])
{
    const double number = columns[column].is_text ? 0 : number_at(t, entry, column);
    const json_t *move = json_object_get(entry->what, "move");

    if (column == NODE && *shown(move, "phase"))
        snprintf(text, 256, "%s>%s", shown(entry->node, "name"), shown(move, "to"));
    else if (columns[column].is_text)
        snprintf(text, 256, "%s", text_at(entry, column));
    else if (column == TIME)
        show_time(number, text);
    else if (column == MEMORY)
        show_bytes(number, text);
    else
        snprintf(text, 256, column == DEVICE_SECONDS ? "%.2f" : "%.0f", column == LOAD ? 100 * number : number);
    return text;
}

/* entry NULL: prints the titles, with a mark at the column that sorts. */
static void draw_session(const struct top *t, const struct entry *entry)
{
    const bool wide = COLS >= WIDE;
    char line[MOST_COLUMNS] = "", text[256];
    size_t length;

    for (int i = 0; i < (int)(sizeof(columns) / sizeof(*columns)); i++) {
        const int width = wide ? columns[i].wide : columns[i].narrow;
        const size_t at = strlen(line);

        if (!width)
            continue;
        if (entry)
            cell(t, entry, i, text);
        else
            snprintf(text, sizeof(text), "%s%s", columns[i].title,
                     i != (t->sort + LOAD) % TOP_COLUMNS ? ""
                     : t->reverse                        ? "^"
                                                         : "v");
        snprintf(line + at, sizeof(line) - at, columns[i].is_text ? "%s%-*.*s" : "%s%*.*s", at ? " " : "", width, width,
                 text);
    }
    length = strlen(line); /* the progress of a move, or the result of the last, follows all columns */
    snprintf(line + length, sizeof(line) - length, " %s", entry ? show_move(entry->what, text, sizeof(text)) : "MOVE");
    put(entry ? 0 : A_REVERSE, "%-*s", COLS < MOST_COLUMNS ? COLS : MOST_COLUMNS - 1, line);
}

static void draw_sessions(struct top *t)
{
    size_t count;
    struct entry *entries = add_more(collect(t->status, "sessions", &count), t->status, "suspended", &count);
    const int room = LINES - row - 2; /* lines of the titles and the keys */

    sorted = t;
    if (entries)
        qsort(entries, count, sizeof(*entries), by_column);
    if (t->first > (int)count - 1)
        t->first = count ? (int)count - 1 : 0;
    draw_session(t, NULL);
    for (int i = t->first; i < (int)count; i++) {
        if (i - t->first == room - 1 && i + 1 < (int)count) {
            put(0, "... and %d more", (int)count - i);
            break;
        }
        draw_session(t, &entries[i]);
    }
    free(entries);
}

/* ---- all of it ---- */

static void draw_summary(const struct top *t)
{
    const json_t *queue = json_object_get(t->status, "queue"), *request = json_array_get(queue, 0);
    size_t devices, sessions, suspended;
    char waited[24], also[40] = "", line[MOST_COLUMNS];

    free(collect(t->status, "devices", &devices));
    free(collect(t->status, "sessions", &sessions));
    free(collect(t->status, "suspended", &suspended));
    if (suspended)
        snprintf(also, sizeof(also), ", %zu suspended", suspended);
    put(A_BOLD, "vocl top: %zu nodes, %zu devices, %zu sessions%s, %zu waiting%s",
        json_array_size(json_object_get(t->status, "nodes")), devices, sessions, also, json_array_size(queue),
        t->paused ? "; PAUSED, p continues" : "");
    if (!request)
        return;
    snprintf(line, sizeof(line), "%s waits for %.0f devices, %s so far: %s", shown(request, "user"),
             number_of(request, "devices"), show_time(number_of(request, "waited"), waited), shown(request, "why"));
    put_whole((attr_t)COLOR_PAIR(WARM), line);
}

static void draw_help(void)
{
    static const char *const lines[] = {
        "vocl top: keys",
        "",
        "  q         quits",
        "  h ?       shows these keys; any key closes them",
        "  < >       sorts sessions by the previous or next column (left, right)",
        "  r         reverses the order of sessions",
        "  up down   scrolls through the sessions (k, j; page up, page down)",
        "  d         devices: the busiest first, or in the pool's order",
        "  n tab     shows the chart of the next device, or of all together",
        "  c         shows or hides the chart",
        "  p space   pauses, or continues",
        "",
        "DEV%: the share of its devices' time that a session had in the last second.",
        "MEMORY of a device: what sessions have requested, or use beyond their request.",
        "Without colours: NO_COLOR=1 vocl top"};

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        put(i ? 0 : A_BOLD, "%s", lines[i]);
}

/* Returns one line for each device, and those for nodes that are not up. */
static int lines_of_devices(const struct top *t)
{
    char state[MOST_COLUMNS];
    int count = 0;
    json_t *node;
    size_t i;

    json_array_foreach(json_object_get(t->status, "nodes"), i, node)
    {
        count += (int)json_array_size(json_object_get(node, "devices"));
        if (!strcmp(text_of(node, "state"), "up"))
            continue;
        state_of(node, state, sizeof(state));
        count += lines_of(state);
    }
    return count;
}

static void draw_pool(struct top *t)
{
    int room;
    bool chart;

    draw_summary(t);
    row++;
    room = (LINES - row) / 3;
    if (room < LEAST_LIST)
        room = LEAST_LIST;
    if (room > lines_of_devices(t))
        room = lines_of_devices(t);
    chart = !t->no_chart && LINES - row - room - CHART - 6 >= LEAST_LIST;
    draw_devices(t, room);
    row++;
    if (chart) {
        draw_chart(t);
        row++;
    }
    draw_sessions(t);
    row = LINES - 1;
    put(A_DIM, "q quit  h help  < > sort  r reverse  d devices  n chart of  c chart  p pause");
}

void top_draw(struct top *t)
{
    erase();
    row = 0;
    if (t->help) {
        draw_help();
    } else if (!t->status) {
        put(0, "vocl top: no daemon answers; q quits");
        put(0, "%s", t->why);
    } else {
        draw_pool(t);
    }
    refresh();
}
