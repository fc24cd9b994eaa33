/* Amounts as the tools show them to people. */
#ifndef VOCL_TOOLS_UNITS_H
#define VOCL_TOOLS_UNITS_H

/* "1.5 GiB" */
const char *show_bytes(double bytes, char text[16]);
/* "1:02:03" */
const char *show_time(double seconds, char text[24]);

#endif
