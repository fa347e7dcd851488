#!/bin/sh
# What some tests can use and Python cannot install: a browser that looks at reports, and R.
# Installed only by root on a Debian machine; elsewhere those tests skip and say why.
set -eu
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || exit 0
export DEBIAN_FRONTEND=noninteractive
UPDATED=
packages() {  # packages COMMAND PACKAGE...: installed where COMMAND is missing
    command -v "$1" >/dev/null 2>&1 && return
    shift
    { [ "$UPDATED" ] || apt-get update -q
      UPDATED=yes
      apt-get install -q -y --no-install-recommends "$@"; } >/dev/null 2>&1 \
        || echo "$1 could not be installed: the tests that need it will skip" >&2
}
packages chromedriver chromium chromium-driver fonts-dejavu-core
packages Rscript r-base-core r-cran-lme4
