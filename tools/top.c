/* `vocl top`: the pool, live, in the terminal. */
#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "tools/pool.h"

#define REFRESH_MS 1000
#define WIDE 116 /* columns of the terminal with which everything has room */
#define MOST_COLUMNS 512

/* ---- the terminal as it was, whatever ends this program ---- */

static struct termios before;
static char restoring[256];
static size_t restoring_length;

static void remember(const char *capability)
{
    const char *text = tigetstr(capability);
    const size_t length = text && text != (char *)-1 ? strlen(text) : 0;

    if (restoring_length + length > sizeof(restoring))
        return;
    memcpy(restoring + restoring_length, text, length);
    restoring_length += length;
}

/* curses' own way is none for a signal handler, and there is none for all signals. */
static void on_signal(int number)
{
    if (write(STDOUT_FILENO, restoring, restoring_length) < 0)
        _exit(1);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    signal(number, SIG_DFL);
    raise(number);
}

static void open_screen(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

    tcgetattr(STDIN_FILENO, &before);
    setlocale(LC_ALL, "");
    initscr();
    noecho();
    curs_set(0);
    timeout(REFRESH_MS);
    remember("sgr0");
    remember("rmcup");
    remember("cnorm");
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        sigaction(signals[i], &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_NODEFER}, NULL);
}

/* ---- what is drawn: lines that end where the terminal does ---- */

static int row;

static void put_line(const char *text, int attributes)
{
    if (row >= LINES - 1) {
        if (row++ == LINES - 1)
            mvaddnstr(LINES - 1, 0, "...", COLS);
        return;
    }
    attron(attributes);
    mvaddnstr(row++, 0, text, COLS);
    attroff(attributes);
}

__attribute__((format(printf, 2, 3))) static void put(int attributes, const char *format, ...)
{
    char line[MOST_COLUMNS];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    put_line(line, attributes);
}

static const char *draw_bar(double part, int width, char text[32])
{
    const int full = (int)(part * width + 0.5);

    text[0] = '[';
    for (int i = 0; i < width; i++)
        text[1 + i] = i < full ? '|' : ' ';
    strcpy(text + 1 + width, "]");
    return text;
}

static void draw_devices(const json_t *status)
{
    const bool wide = COLS >= WIDE;
    const int bar = wide ? 20 : 10, names = wide ? 20 : 14;
    char used[32], text[32];
    json_t *node, *device;
    size_t i, j;

    put(A_REVERSE, "%-*s %3s %-11s %8s %-*s %s%*s", names, "NODE", "NR", "TYPE", "SESSIONS", bar + 8, "LOAD", "NAME",
        COLS, "");
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (strcmp(text_of(node, "state"), "up"))
            put(0, "%-*.*s %s", names, names, shown(node, "name"), shown(node, "state"));
        json_array_foreach(json_object_get(node, "devices"), j, device)
        {
            const double load = number_of(device, "load");

            snprintf(used, sizeof(used), "%.0f", number_of(device, "sessions"));
            put(0, "%-*.*s %3.0f %-11.11s %8s %s %4.0f%%  %s", names, names, shown(node, "name"),
                number_of(device, "index"), shown(device, "type"), used, draw_bar(load, bar, text), 100 * load,
                shown(device, "name"));
        }
    }
}

static void draw_session(const json_t *node, const json_t *session)
{
    char time[24], memory[16], move[256];

    show_time(number_of(node, "time") - number_of(session, "began"), time);
    show_bytes(number_of(session, "memory"), memory);
    show_move(session, move, sizeof(move));
    if (COLS >= WIDE)
        put(0, "%-12.12s %-12.12s %-16.16s %-16.16s %-8s %9s %5.0f %9.2f %10.0f %9s  %s", shown(session, "id"),
            shown(session, "user"), shown(session, "program"), shown(node, "name"), shown(session, "state"), time,
            number_of(session, "share"), number_of(session, "device_seconds"), number_of(session, "launches"), memory,
            move);
    else
        put(0, "%-8.8s %-10.10s %-14.14s %-14.14s %9s %9.2f %9s  %s", shown(session, "id"), shown(session, "user"),
            shown(session, "program"), shown(node, "name"), time, number_of(session, "device_seconds"), memory, move);
}

static void draw_sessions(const json_t *status)
{
    json_t *node, *session;
    size_t i, j;

    row++;
    if (COLS >= WIDE)
        put(A_REVERSE, "%-12s %-12s %-16s %-16s %-8s %9s %5s %9s %10s %9s  %s%*s", "SESSION", "USER", "PROGRAM", "NODE",
            "STATE", "TIME", "SHARE", "DEVICE S", "LAUNCHES", "MEMORY", "MOVE", COLS, "");
    else
        put(A_REVERSE, "%-8s %-10s %-14s %-14s %9s %9s %9s  %s%*s", "SESSION", "USER", "PROGRAM", "NODE", "TIME",
            "DEVICE S", "MEMORY", "MOVE", COLS, "");
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            draw_session(node, session);
        }
    }
}

/* status NULL: nobody answers, and why. */
static void draw(const json_t *status, const char *why)
{
    erase();
    row = 0;
    if (!status) {
        put(0, "vocl top: no daemon answers; q quits");
        put(0, "%s", why);
    } else {
        put(0, "vocl top: %zu nodes, %zu waiting; q quits", json_array_size(json_object_get(status, "nodes")),
            json_array_size(json_object_get(status, "queue")));
        row++;
        draw_devices(status);
        draw_sessions(status);
    }
    refresh();
}

int top(const struct poolfile *pool)
{
    json_t *status = pool_status(pool); /* who cannot be asked at all is no matter for a screen */
    char why[512] = "";

    if (!isatty(STDOUT_FILENO)) {
        show_devices(status);
        json_decref(status);
        return 0;
    }
    open_screen();
    for (int key = 0; key != 'q' && key != 'Q';) {
        draw(status, why);
        key = getch();
        json_decref(status);
        status = pool_try_status(pool, why, sizeof(why));
    }
    json_decref(status);
    endwin();
    return 0;
}
