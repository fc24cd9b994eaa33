#include "executor/plugin.h"

__attribute__((visibility("default"))) const struct executor_plugin vocl_executor = {
    .version = WIRE_VERSION,
    .open = executor_open,
    .run = executor_run,
    .run_fellow = executor_run_fellow,
    .lose = executor_lose,
    .poll = executor_poll,
    .check = executor_check,
};
