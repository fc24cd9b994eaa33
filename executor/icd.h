#ifndef VOCL_EXECUTOR_ICD_H
#define VOCL_EXECUTOR_ICD_H

/* Takes the name of each driver's library, in the order in which the ICD loader does. */
void icd_each(void (*take)(const char *library));

#endif
