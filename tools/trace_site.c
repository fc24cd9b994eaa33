/* Describes where the program's calls come from: function and line, or as much of these as is known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tools.h"
#include "tools/trace.h"

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Describes a site by its function and a recognizable place. */
static void describe(struct site *site)
{
    const struct symbol *symbol = &site->symbol;
    const char *module = *site->file ? last_part(site->file) : "no file";
    int length;

    if (*symbol->function && symbol->line)
        length = asprintf(&site->text, "%s (%s:%d)", symbol->function, last_part(symbol->source), symbol->line);
    else if (*symbol->function)
        length = asprintf(&site->text, "%s (%s)", symbol->function, module);
    else
        length = asprintf(&site->text, "%s+0x%llx", module, (unsigned long long)site->place);
    if (length < 0)
        fail(1, "out of memory");
}

void trace_take_site(struct process *process, const struct item *item)
{
    struct site *site;

    process->sites = trace_more(process->sites, &process->site_count, sizeof(*process->sites));
    site = &process->sites[process->site_count - 1];
    site->number = item->head.which;
    memcpy(&site->place, item->more, sizeof(site->place));
    site->file = (const char *)item->more + sizeof(site->place);
    if (!memchr(site->file, '\0', item->length - sizeof(site->place)))
        site->file = "";
    if (*site->file && site->place)
        trace_symbol(site->file, site->place - 1, &site->symbol); /* the call is before the return address */
    describe(site);
}

static int by_number(const void *one, const void *other)
{
    const uint32_t a = ((const struct site *)one)->number, b = ((const struct site *)other)->number;

    return a < b ? -1 : a > b;
}

void trace_sort_sites(struct process *process)
{
    if (process->site_count)
        qsort(process->sites, process->site_count, sizeof(*process->sites), by_number);
}

const struct site *trace_site(const struct process *process, const struct item *call)
{
    const struct site key = {.number = call->head.which >> TIMELINE_FUNCTION_BITS};

    return process->site_count ? bsearch(&key, process->sites, process->site_count, sizeof(key), by_number) : NULL;
}

json_t *trace_sites_json(const struct process *process)
{
    json_t *all = json_array();

    for (size_t i = 0; i < process->site_count; i++) {
        const struct site *site = &process->sites[i];
        json_t *about =
            json_pack("{s:s, s:s, s:I}", "site", site->text, "module", site->file, "offset", (json_int_t)site->place);

        if (about && *site->symbol.function)
            json_object_set_new(about, "function", json_string(site->symbol.function));
        if (about && site->symbol.line) {
            json_object_set_new(about, "file", json_string(site->symbol.source));
            json_object_set_new(about, "line", json_integer(site->symbol.line));
        }
        if (about) /* NULL if a name is not UTF-8 */
            json_array_append_new(all, about);
    }
    return all;
}
