/* `vocl top`: the pool, live, in the terminal. */
#include <curses.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "tools/pool.h"

#define REFRESH_MS 1000
#define BAR 20

static void draw_bar(int row, int column, double part)
{
    const int full = (int)(part * BAR + 0.5);

    mvaddch(row, column, '[');
    for (int i = 0; i < BAR; i++)
        addch(i < full ? '|' : ' ');
    addch(']');
}

static int draw_devices(int row, const json_t *status)
{
    json_t *node, *device;
    size_t i, j;

    attron(A_REVERSE);
    mvprintw(row++, 0, "%-20s %3s %-11s %8s %-*s %-*s", "NODE", "NR", "TYPE", "SESSIONS", BAR + 7, "LOAD", 40, "NAME");
    attroff(A_REVERSE);
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (strcmp(text_of(node, "state"), "up"))
            mvprintw(row++, 0, "%-20s %s", text_of(node, "name"), text_of(node, "state"));
        json_array_foreach(json_object_get(node, "devices"), j, device)
        {
            const double load = number_of(device, "load");

            mvprintw(row, 0, "%-20s %3.0f %-11s %8.0f", text_of(node, "name"), number_of(device, "index"),
                     text_of(device, "type"), number_of(device, "sessions"));
            draw_bar(row, 46, load);
            mvprintw(row++, 46 + BAR + 2, "%4.0f%%  %s", 100 * load, text_of(device, "name"));
        }
    }
    return row + 1;
}

static void draw_sessions(int row, const json_t *status)
{
    json_t *node, *session;
    char time[24], memory[16];
    size_t i, j;

    attron(A_REVERSE);
    mvprintw(row++, 0, "%-12s %-12s %-16s %-16s %-8s %9s %5s %9s %10s %9s", "SESSION", "USER", "PROGRAM", "NODE",
             "STATE", "TIME", "SHARE", "DEVICE S", "LAUNCHES", "MEMORY");
    attroff(A_REVERSE);
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        json_array_foreach(json_object_get(node, "sessions"), j, session)
        {
            mvprintw(row++, 0, "%-12.12s %-12s %-16.16s %-16s %-8s %9s %5.0f %9.2f %10.0f %9s", text_of(session, "id"),
                     text_of(session, "user"), text_of(session, "program"), text_of(node, "name"),
                     text_of(session, "state"), show_time(number_of(node, "time") - number_of(session, "began"), time),
                     number_of(session, "share"), number_of(session, "device_seconds"), number_of(session, "launches"),
                     show_bytes(number_of(session, "memory"), memory));
        }
    }
}

static void draw(const json_t *status)
{
    erase();
    mvprintw(0, 0, "vocl top: %zu nodes, %zu waiting; q quits", json_array_size(json_object_get(status, "nodes")),
             json_array_size(json_object_get(status, "queue")));
    draw_sessions(draw_devices(2, status), status);
    refresh();
}

int top(const struct poolfile *pool)
{
    if (!isatty(STDOUT_FILENO)) {
        json_t *status = pool_status(pool);

        show_devices(status);
        json_decref(status);
        return 0;
    }
    setlocale(LC_ALL, "");
    initscr();
    noecho();
    curs_set(0);
    timeout(REFRESH_MS);
    for (int key = 0; key != 'q' && key != 'Q';) {
        json_t *status = pool_status(pool);

        draw(status);
        json_decref(status);
        key = getch();
    }
    endwin();
    return 0;
}
