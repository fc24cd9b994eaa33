/* How daemons of pools announce themselves in a local network: a service of DNS-SD, with these texts in its record. */
#ifndef VOCL_BASE_DNS_SD_H
#define VOCL_BASE_DNS_SD_H

#define DNS_SD_SERVICE "_vocl._tcp"

#define DNS_SD_NODE "node"
#define DNS_SD_ADDRESS "address" /* HOST:PORT, as in a pool file */
#define DNS_SD_AUTH "auth"
#define DNS_SD_DEVICES "devices" /* how many */

#endif
