#ifndef VOCL_PROXY_WORKER_H
#define VOCL_PROXY_WORKER_H

/* Serve one session: returns the exit status when it is over. */
int worker_run(void);

#endif
