/* Loads the plugins: libraries that are opened when they are needed, so that nothing else depends on them. */
#ifndef VOCL_TRANSPORT_PLUGIN_LOADER_H
#define VOCL_TRANSPORT_PLUGIN_LOADER_H

#include "transport/plugin/mpi_plugin.h"
#include "transport/plugin/pack.h"
#include "transport/plugin/tls.h"

/* Loads the plugin of an MPI ("mpich" or "openmpi"); fresh: into a namespace of its own. Returns NULL and why on
 * failure. */
const struct mpi_plugin *loader_open(const char *mpi, bool fresh, char *why, size_t why_size);
/* Loads the plugin of TLS, likewise. */
const struct tls_plugin *loader_open_tls(char *why, size_t why_size);
/* Whether the plugin that packs bulk data is installed; and the plugin, or NULL. */
bool loader_has_pack(void);
const struct pack_plugin *loader_open_pack(void);
/* The MPI that the program itself has loaded: "mpich", "openmpi" or NULL. */
const char *loader_program_mpi(void);
/* Whether the plugin's functions come before libc's for the libraries below it, too. */
bool loader_comes_first(const char *mpi);
/* Whether the program has a malloc that is not libc's: jemalloc's, a sanitizer's, its own. */
bool loader_foreign_memory(void);

#endif
