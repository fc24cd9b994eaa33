/* UUIDs of names are those that Python's uuid.uuid5() makes, also of names that fill a block of the hash. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "tests/expect.h"

static bool is(const char *name, size_t length, const char *expected)
{
    uint8_t uuid[UUID_BYTES];
    char text[2 * UUID_BYTES + 1];

    uuid_of_name(uuid_dns, name, length, uuid);
    for (unsigned i = 0; i < UUID_BYTES; i++)
        sprintf(text + 2 * i, "%02x", uuid[i]);
    return !strcmp(text, expected);
}

int main(void)
{
    static const struct {
        size_t length;
        const char *uuid;
    } of_x[] = {
        {0, "4ebd020883285d698c44ec50939c0967"},   {1, "05b16a0146c656ddbd6ec6dfb4a1427a"},
        {38, "f3ddef676e5b53cabaa212b379ef6ced"},  {39, "2f80c0d11c62579f8d68e61ad5592c9b"},
        {40, "e56fd57a76335e1d8f8070e05ac413e5"},  {47, "a112377b82585ef7b5b0d2540bc03abb"},
        {48, "83993b6cdea955cabe5b9989c85943fc"},  {100, "897f5b43a3c8582d9c8d9cfe358a534d"},
        {200, "ddcc691ab8e253e5b0596a232874b2eb"},
    };
    char name[200];

    memset(name, 'x', sizeof(name));
    for (size_t i = 0; i < sizeof(of_x) / sizeof(*of_x); i++)
        EXPECT(is(name, of_x[i].length, of_x[i].uuid));
    EXPECT(is("www.example.com", 15, "2ed6657de927568b95e12665a8aea6a2"));
    return 0;
}
