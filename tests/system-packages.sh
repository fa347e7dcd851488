#!/bin/sh
# A real browser for the tests that look at reports. Installed only by root on a Debian machine;
# elsewhere those tests skip and say why.
set -eu
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || exit 0
command -v chromium >/dev/null 2>&1 && command -v chromedriver >/dev/null 2>&1 && exit 0
export DEBIAN_FRONTEND=noninteractive
{ apt-get update -q && apt-get install -q -y --no-install-recommends \
    chromium chromium-driver fonts-dejavu-core; } >/dev/null 2>&1 \
    || echo "no browser could be installed: the tests that need one will skip" >&2
