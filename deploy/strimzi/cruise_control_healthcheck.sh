#!/bin/sh
# Strimzi's probe for liveness and readiness: exit code 0 if the API answers its user `healthcheck`.
set -eu

exec python3 "$(dirname "$0")/healthcheck.py"
