#!/bin/sh
# Checkpoints of all versions there have been are restored, as they were written then; what this version writes is of the newest.
. "$(dirname "$0")/../lib.sh"
program=$top_builddir/tests/session/saved_text
mark=VOCL_TEST_MARK=$$
