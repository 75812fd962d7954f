#!/bin/sh
# What Strimzi's pod of Cruise Control runs, with reassignd in its place: docs/strimzi.md.
# REASSIGND_ROOT is put before all paths, for tests only.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
settings=$(python3 "$here/settings.py")
exec reassignd serve --config "$settings"
