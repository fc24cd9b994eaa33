/* A context and a queue that are neither used nor released before the program ends. */
#include "parity.h"

int main(void)
{
    struct parity p;
    parity_open(&p, 0);
    parity_rich();
    puts("made");
    return 0;
}
