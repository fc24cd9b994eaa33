/* The executor as a library of its own, for the application's process: opened by client/core/local.c. */
#ifndef VOCL_EXECUTOR_PLUGIN_H
#define VOCL_EXECUTOR_PLUGIN_H

#include "executor/executor.h"
#include "wire/frame.h"

#define EXECUTOR_PLUGIN_SYMBOL "vocl_executor"

/* As executor.h says. version: WIRE_VERSION. */
struct executor_plugin {
    unsigned version;
    int (*open)(const struct executor_host *host, struct executor **out);
    int (*run)(struct executor *executor, const void *frame, size_t length);
    int (*run_peer)(struct executor *executor, unsigned peer, const void *frame, size_t length);
    void (*meet)(struct executor *executor, unsigned peer);
    void (*lose)(struct executor *executor, unsigned peer);
    int (*poll)(struct executor *executor);
    int (*check)(struct executor *executor);
    bool (*told_late)(const struct executor *executor);
    void (*stop)(struct executor *executor);
};

#endif
