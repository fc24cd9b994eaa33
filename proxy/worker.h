#ifndef VOCL_PROXY_WORKER_H
#define VOCL_PROXY_WORKER_H

/* Print the native devices. */
int list_devices(void);
/* Serve one session: returns the exit status when it is over. */
int worker_run(void);

#endif
