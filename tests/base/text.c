/* Sizes, numbers, and strings with unprintable characters made visible. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/expect.h"

static bool is(const char *text, uint64_t expected)
{
    uint64_t bytes = 77;

    return text_read_bytes(text, &bytes) && bytes == expected;
}

static bool is_none(const char *text)
{
    uint64_t bytes = 77;

    return !text_read_bytes(text, &bytes) && bytes == 77;
}

static bool shows(const char *text, const char *expected)
{
    char visible[64];

    return !strcmp(text_visible(text, visible, sizeof(visible)), expected);
}

int main(void)
{
    static const char *const none[] = {
        "",    " ",     "-1",       "+1",   "1e16", "0x10",
        "inf", "nan",   "G",        "8GB",  "8 G",  "8Gib ",
        "1.5", "1.K",   ".5K",      "8KK",  "8Ki",  "9223372036854775808",
        "8E",  "8192P", "8388608T", "much", "1,5G", "99999999999999999999999999999999999999"};
    uint64_t number = 0;
    char tiny[6];

    EXPECT(text_character("a") == 1 && text_character("\303\251") == 2 && !text_character("\303a"));
    EXPECT(text_is_utf8("") && text_is_utf8("a\303\251") && !text_is_utf8("a\303") && !text_is_utf8("\377a"));
    EXPECT(is("0", 0) && is("4096", 4096) && is("8G", 8ull << 30) && is("8g", 8ull << 30) && is("512MiB", 512 << 20));
    EXPECT(is("1.5K", 1536) && is("0.25T", 1ull << 38) && is("64kib", 65536) && is("1P", 1ull << 50));
    EXPECT(is("9223372036854775807", INT64_MAX) && is("8191P", 8191ull << 50) && is("0007", 7));
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        EXPECT(is_none(none[i]));
    EXPECT(text_read_number("65535", 1, 65535, &number) && number == 65535);
    EXPECT(!text_read_number("65536", 1, 65535, &number) && !text_read_number("0", 1, 9, &number));
    EXPECT(!text_read_number("7x", 1, 9, &number) && !text_read_number("", 0, 9, &number));
    EXPECT(!text_read_number("18446744073709551617", 0, UINT64_MAX, &number));

    EXPECT(shows("vector_add", "vector_add") && shows("", "") &&
           shows("na\xc3\xafve \xe2\x82\xac", "na\xc3\xafve \xe2\x82\xac"));
    EXPECT(shows("a\nb\tc", "a\\x0ab\\x09c") && shows("\033[2J", "\\x1b[2J") && shows("\177", "\\x7f"));
    EXPECT(shows("\xc2\x9b"
                 "31m",
                 "\\xc2\\x9b31m"));                         /* an 8-bit escape (C1) */
    EXPECT(shows("\xe2\x80\xaegpj", "\\xe2\\x80\\xaegpj")); /* the right-to-left override */
    EXPECT(shows("\xff\xfe", "\\xff\\xfe") && shows("\xc0\x8a", "\\xc0\\x8a") && shows("\xe2\x82", "\\xe2\\x82"));
    EXPECT(!strcmp(text_quote("/a b/c"), "'/a b/c'") && !strcmp(text_quote("a'b"), "'a'\\''b'"));
    text_print(tiny, sizeof(tiny), "%s", "abcdefgh");
    EXPECT(!strcmp(tiny, "abcde"));
    text_print(tiny, sizeof(tiny), "%s%s", "abc\xc3\xaf", "d");
    EXPECT(!strcmp(tiny, "abc\xc3\xaf"));
    text_print(tiny, sizeof(tiny), "%s", "abcd\xc3\xaf");
    EXPECT(!strcmp(tiny, "abcd"));
    text_print(tiny, sizeof(tiny), "%s", "a\xe2\x82\xac\xe2\x82\xac");
    EXPECT(!strcmp(tiny, "a\xe2\x82\xac"));
    EXPECT(!strcmp(text_visible("ab\x01", tiny, sizeof(tiny)), "ab"));
    EXPECT(!strcmp(text_visible("abcdefgh", tiny, sizeof(tiny)), "abcde"));
    EXPECT(!strcmp(text_visible("abcd\xc3\xaf", tiny, sizeof(tiny)), "abcd"));
    return 0;
}
