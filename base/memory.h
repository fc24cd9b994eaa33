/* Memory that a process of this host shares by a descriptor (memfd_create). */
#ifndef VOCL_BASE_MEMORY_H
#define VOCL_BASE_MEMORY_H

#include <stdint.h>

/* Another process' descriptor of a regular file, opened here; its size in bytes. The numbers may be of another host's
 * process: that it is the right memory has to be seen in it. The descriptor, or a negative errno. */
int memory_of_process(uint32_t process, uint32_t descriptor, uint64_t *size);

#endif
