#!/bin/sh
# Fails when the throughput of a setup falls below 95 % of what it was. The first run makes the baseline, which belongs in the repository.
#
# usage: gate.sh BASELINE [OPTIONS of bluebench throughput: devices, PHY, losses ...]
set -eu
baseline=$1
shift
setup="--phy 2m --data-length 251 --mtu 247 --interval 15 --seconds 5"
if [ ! -e "$baseline" ]; then
    # shellcheck disable=SC2086
    bluebench throughput $setup "$@" --json "$baseline"
    echo "gate: made $baseline"
else
    # shellcheck disable=SC2086
    bluebench throughput $setup "$@" --baseline "$baseline" --at-least 95%
fi
