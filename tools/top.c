/* `vocl top`: a pool, live, in the terminal. top_draw.c draws the screen. */
#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/top.h"

#define REFRESH_MS 1000

/* ---- restoring the terminal, however this program ends ---- */

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

/* Restores the terminal without curses, whose functions must not be called by a signal handler and which handles
 * only some signals. */
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
    keypad(stdscr, TRUE);
    top_colours();
    remember("sgr0");
    remember("rmcup");
    remember("cnorm");
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        sigaction(signals[i], &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_NODEFER}, NULL);
}

/* ---- keys ---- */

static void scroll_by(struct top *t, int sessions)
{
    t->first += sessions;
    if (t->first < 0)
        t->first = 0;
}

/* Returns false to quit. */
static bool obey(struct top *t, int key)
{
    if (t->help) { /* any key closes the help */
        t->help = key == ERR;
        return key != 'q' && key != 'Q';
    }
    switch (key) {
    case 'q':
    case 'Q':
        return false;
    case 'h':
    case '?':
        t->help = true;
        break;
    case '>':
    case KEY_RIGHT:
        t->sort = (t->sort + 1) % TOP_COLUMNS;
        break;
    case '<':
    case KEY_LEFT:
        t->sort = (t->sort + TOP_COLUMNS - 1) % TOP_COLUMNS;
        break;
    case 'r':
        t->reverse = !t->reverse;
        break;
    case 'd':
        t->busiest_first = !t->busiest_first;
        break;
    case 'c':
        t->no_chart = !t->no_chart;
        break;
    case '\t':
    case 'n':
        t->chosen++;
        break;
    case 'p':
    case ' ':
        t->paused = !t->paused;
        break;
    case KEY_DOWN:
    case 'j':
        scroll_by(t, 1);
        break;
    case KEY_UP:
    case 'k':
        scroll_by(t, -1);
        break;
    case KEY_NPAGE:
        scroll_by(t, LINES / 2);
        break;
    case KEY_PPAGE:
        scroll_by(t, -LINES / 2);
        break;
    default:
        break;
    }
    return true;
}

/* Replaces the pool's last answer. */
static void take(struct top *t, json_t *status)
{
    if (t->paused) {
        json_decref(status);
        return;
    }
    json_decref(t->before);
    t->before = t->status;
    t->status = status;
    if (status)
        top_remember(t);
}

int top(const struct poolfile *pool)
{
    struct top t = {.status = pool_status(pool)}; /* if no daemon answers, this ends before the screen is opened */
    long next_ms;
    int key;

    if (!isatty(STDOUT_FILENO)) {
        show_devices(t.status);
        json_decref(t.status);
        return 0;
    }
    open_screen();
    top_remember(&t);
    do {
        next_ms = clock_ms() + REFRESH_MS;
        do { /* keys are handled at once; the pool is asked once a second */
            top_draw(&t);
            timeout(next_ms > clock_ms() ? (int)(next_ms - clock_ms()) : 0);
            key = getch();
            t.over = !obey(&t, key);
        } while (!t.over && key != ERR && clock_ms() < next_ms);
        if (!t.over)
            take(&t, pool_try_status(pool, t.why, sizeof(t.why)));
    } while (!t.over);
    json_decref(t.status);
    json_decref(t.before);
    endwin();
    return 0;
}
