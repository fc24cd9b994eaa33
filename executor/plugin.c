#include "executor/plugin.h"

__attribute__((visibility("default"))) const struct executor_plugin vocl_executor = {
    .version = WIRE_VERSION,
    .open = executor_open,
    .run = executor_run,
    .run_peer = executor_run_peer,
    .meet = executor_meet,
    .lose = executor_lose,
    .poll = executor_poll,
    .check = executor_check,
    .told_late = executor_told_late,
    .stop = executor_stop,
};
