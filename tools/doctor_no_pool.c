/* In place of doctor_pool.c, where VOCL is built without pools. */
#include "tools/doctor.h"

void doctor_look_at_pool(const char *where)
{
    doctor_say(WRONG, "pool",
               "%s: this VOCL was built without pools; install libsodium and the others that configure names", where);
}
