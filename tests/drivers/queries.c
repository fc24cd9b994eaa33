/* Queries that VOCL does not know, or whose answers are pointers: prints the error of each. See newer.sh. */
#include "tests/parity/parity.h"

int main(void)
{
    static const struct {
        const char *name;
        cl_device_info param;
    } queries[] = {{"CL_DEVICE_SPIRV_EXTENSIONS_KHR", 0x12BA}, {"CL_DEVICE_SPIRV_CAPABILITIES_KHR", 0x12BB}};
    struct parity p;
    char value[64];

    parity_open(&p, 0);
    for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++)
        printf("%s: %d\n", queries[i].name, clGetDeviceInfo(p.device, queries[i].param, sizeof(value), value, NULL));
    parity_close(&p);
    return 0;
}
