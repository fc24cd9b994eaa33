/* Where VOCL lies if it was not installed: in a bundle, one folder that can lie anywhere (packaging/bundle). */
#ifndef VOCL_BASE_PLACE_H
#define VOCL_BASE_PLACE_H

/* A file in the bundle's folder. It holds the bundle's name, VERSION-HASH, under which other hosts keep it. */
#define PLACE_MARK "vocl-bundle"

/* Returns the folder of the bundle that this code lies in, or NULL. Searches once. */
const char *place_bundle(void);
/* Returns the bundle's folder of helpers and plugins, or NULL. */
const char *place_helpers(void);

#endif
