/*
 * A program that is stopped, by Ctrl-Z or in a debugger, does not answer its workers, but is not dead. Its launcher,
 * which is in a process session of its own and so not stopped with it, also has the program's bells, and sends
 * heartbeats on them meanwhile. If the host fails, nobody does.
 */
#ifndef VOCL_PROXY_LAUNCH_HEARTBEAT_PROXY_H
#define VOCL_PROXY_LAUNCH_HEARTBEAT_PROXY_H

#include <stdbool.h>

/* Receives from the control socket: a bell, or the program's packet socket (requests.h). Returns false if the
 * socket is closed. */
bool heartbeat_proxy_hear(int control);
/* Sends heartbeats if the program is stopped. Returns after how many milliseconds to call it again, or -1: never. */
int heartbeat_proxy_look(int control);
/* Closes the bells, with the program's end. */
void heartbeat_proxy_end(void);

#endif
