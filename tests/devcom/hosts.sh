#!/bin/sh
# Two ranks on two hosts.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
across "$top_builddir/tests/devcom/basics" messages
across "$top_builddir/tests/devcom/devices"
across "$top_builddir/tests/devcom/random" 10000 staged
