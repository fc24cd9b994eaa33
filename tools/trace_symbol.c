/*
 * Looks up places in code with elfutils' libdw: function and line from DWARF, in the file itself or where distributions
 * put it, or else the function from the symbol table.
 */
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tools.h"
#include "tools/trace.h"

/* A file of code that has been opened. */
struct module {
    const char *file;
    Dwfl_Module *dwfl; /* NULL: it cannot be read */
};

static struct module *modules;
static size_t module_count;

static Dwfl_Module *open_module(const char *file)
{
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo,
                                             .section_address = dwfl_offline_section_address};
    Dwfl *session;
    Dwfl_Module *module;

    unsetenv("DEBUGINFOD_URLS"); /* nothing is fetched over the network */
    session = dwfl_begin(&callbacks);
    if (!session)
        return NULL;
    dwfl_report_begin(session);
    module = dwfl_report_elf(session, file, file, -1, 0, true); /* addresses are relative to the file */
    dwfl_report_end(session, NULL, NULL);
    if (!module)
        dwfl_end(session);
    return module;
}

static Dwfl_Module *module_of(const char *file)
{
    for (size_t i = 0; i < module_count; i++) {
        if (!strcmp(modules[i].file, file))
            return modules[i].dwfl;
    }
    modules = trace_more(modules, &module_count, sizeof(*modules));
    modules[module_count - 1] = (struct module){file, open_module(file)};
    return modules[module_count - 1].dwfl;
}

/* ---- names ---- */

/* Copies a name, demangled if it is C++'s and the library for that is installed. */
static void copy_name(const char *name, char *to, size_t size)
{
    typedef char *demangle_function(const char *, char *, size_t *, int *);
    static demangle_function *demangle;
    static void *library;
    char *plain = NULL;

    if (!strncmp(name, "_Z", 2) && !library && (library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL)))
        demangle = (demangle_function *)(uintptr_t)dlsym(library, "__cxa_demangle");
    if (!strncmp(name, "_Z", 2) && demangle)
        plain = demangle(name, NULL, NULL, NULL);
    snprintf(to, size, "%s", plain ? plain : name);
    free(plain);
}

static void from_symbols(Dwfl_Module *module, Dwarf_Addr place, struct symbol *symbol)
{
    const char *name;
    GElf_Off offset;
    GElf_Sym found;

    name = dwfl_module_addrinfo(module, place, &offset, &found, NULL, NULL, NULL);
    if (name && found.st_size && offset < found.st_size) /* otherwise the place only follows the symbol */
        copy_name(name, symbol->function, sizeof(symbol->function));
}

/* ---- DWARF ---- */

static bool is_function(Dwarf_Die *die)
{
    return dwarf_tag(die) == DW_TAG_inlined_subroutine || dwarf_tag(die) == DW_TAG_subprogram;
}

/* Whether it is a function of OpenCL's own C++ headers, whose callers want to see their own code instead. */
static bool is_wrapper(Dwarf_Die *die)
{
    const char *file = dwarf_decl_file(die);

    return dwarf_tag(die) == DW_TAG_inlined_subroutine && file && (strstr(file, "/CL/") || strstr(file, "/sycl/"));
}

/* Takes the place where the inlined function is called. */
static void from_caller(Dwarf_Die *die, Dwarf_Die *unit, struct symbol *symbol)
{
    Dwarf_Attribute attribute;
    Dwarf_Word file, line;
    Dwarf_Files *files;
    size_t count;
    const char *name;

    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) ||
        dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) ||
        dwarf_getsrcfiles(unit, &files, &count) || !(name = dwarf_filesrc(files, file, NULL, NULL)))
        return;
    snprintf(symbol->source, sizeof(symbol->source), "%s", name);
    symbol->line = (int)line;
}

/* Finds the innermost function, also if it was inlined. */
static void from_scopes(Dwarf_Die *unit, Dwarf_Addr place, struct symbol *symbol)
{
    Dwarf_Die *inner = NULL, *scopes = NULL;
    const int inner_count = dwarf_getscopes(unit, place, &inner);
    int count;

    /* the scopes where an inlined function was put, in place of those where it is written */
    count = inner_count > 0 ? dwarf_getscopes_die(inner, &scopes) : 0;
    for (int i = 0; i < count; i++) {
        const char *name = is_function(&scopes[i]) ? dwarf_diename(&scopes[i]) : NULL;

        if (!name)
            continue;
        copy_name(name, symbol->function, sizeof(symbol->function));
        if (!is_wrapper(&scopes[i]))
            break;
        from_caller(&scopes[i], unit, symbol);
    }
    free(scopes);
    free(inner);
}

static void from_lines(Dwfl_Module *module, Dwarf_Addr place, struct symbol *symbol)
{
    Dwfl_Line *line = dwfl_module_getsrc(module, place);
    int number = 0;
    const char *file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;

    if (!file || number <= 0)
        return;
    snprintf(symbol->source, sizeof(symbol->source), "%s", file);
    symbol->line = number;
}

void trace_symbol(const char *file, uint64_t place, struct symbol *symbol)
{
    Dwfl_Module *module = module_of(file);
    Dwarf_Addr bias;
    Dwarf_Die *unit;

    if (!module)
        return;
    unit = dwfl_module_addrdie(module, place, &bias);
    from_lines(module, place, symbol);
    if (unit)
        from_scopes(unit, place - bias, symbol);
    if (!*symbol->function)
        from_symbols(module, place, symbol);
}
