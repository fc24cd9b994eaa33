/* `vocl doctor`: prints a line for everything that a session needs. Its options have already become settings
 * (tools/vocl.c). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "tools/doctor.h"
#include "tools/tools.h"

static unsigned faults, lines;
static bool json;

void doctor_say(enum verdict verdict, const char *topic, const char *format, ...)
{
    static const char *const names[] = {"ok", "note", "wrong"};
    char *text = NULL;
    va_list arguments;

    faults += verdict == WRONG;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (json) {
        printf("%s{\"verdict\": \"%s\", \"topic\": ", lines++ ? ",\n " : "[", names[verdict]);
        json_text(topic);
        fputs(", \"text\": ", stdout);
        json_text(text ? text : "");
        putchar('}');
    } else {
        printf("%-6s %s: %s\n", names[verdict], topic, text ? text : "");
    }
    free(text);
    fflush(stdout);
}

/* Finds the pool from the settings as libvocl does. Returns NULL if there is none. */
static const char *the_pool(void)
{
    const char *pool = settings_string(SETTING_POOL);

    if (*pool)
        return strcmp(pool, "none") ? pool : NULL;
    if (*settings_string(SETTING_HOSTS) || *settings_string(SETTING_WORKERS) || settings_number(SETTING_LOCAL))
        return NULL;
    return access(SETTINGS_POOL_FILE, R_OK) ? NULL : SETTINGS_POOL_FILE;
}

int main(int count, char **words)
{
    const char *pool = the_pool(), *hosts = settings_string(SETTING_HOSTS);

    if (count >= 2 && !strcmp(words[1], DOCTOR_NODE))
        return doctor_be_node(words[2]);
    if (count == 2 && !strcmp(words[1], DOCTOR_SESSION))
        return doctor_be_session();
    json = count == 2 && !strcmp(words[1], "--json");
    if (count > 1 && !json)
        fail(EXIT_USAGE, "doctor takes no argument such as \"%s\"", words[1]);

    doctor_look_here();
    if (doctor_is_whole()) {
        if (pool)
            doctor_look_at_pool(pool);
        else if (*hosts)
            doctor_look_there(hosts);
        doctor_try_session();
    }
    if (json)
        puts(lines ? "]" : "[]");
    if (faults && !json)
        printf("\n%u thing%s wrong\n", faults, faults == 1 ? " is" : "s are");
    return faults ? EXIT_FAILURE : 0;
}
