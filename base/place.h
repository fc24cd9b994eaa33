/* Where VOCL lies, if it is not where it was installed: in a bundle, one folder that can lie anywhere
 * (packaging/bundle). */
#ifndef VOCL_BASE_PLACE_H
#define VOCL_BASE_PLACE_H

/* A file in the bundle's folder: its name, VERSION-HASH, which other hosts keep it under. */
#define PLACE_MARK "vocl-bundle"

/* The folder of the bundle that this code lies in, or NULL. It is looked for once. */
const char *place_bundle(void);
/* The folder of helpers and plugins in it, or NULL. */
const char *place_helpers(void);

#endif
