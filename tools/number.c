/* Parses numbers on the command line of `vocl topo`. See tools.h. */
#include <stdint.h>
#include <stdlib.h>

#include "base/text.h"
#include "tools/tools.h"

static double checked(bool is_one, double value, const char *text, const char *what, double least, double most)
{
    if (!is_one || !(value >= least && value <= most))
        misuse("%s is no %s", text, what);
    return value;
}

double topo_number(const char *text, const char *what, double least, double most)
{
    char *end;
    double value = strtod(text, &end);

    return checked(end != text && !*end, value, text, what, least, most);
}

double topo_size(const char *text, double least, double most)
{
    uint64_t bytes = 0;
    const bool is_one = text_read_bytes(text, &bytes);

    return checked(is_one, (double)bytes, text, "size", least, most);
}
