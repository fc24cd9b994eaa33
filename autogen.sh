#!/bin/sh
# Makes ./configure from configure.ac. Needed after a git clone, not in a release.
set -e
cd "$(dirname "$0")"
mkdir -p m4
exec autoreconf --install --force
