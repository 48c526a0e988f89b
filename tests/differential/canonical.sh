#!/usr/bin/env bash
# Compares CanonicalJson() with the implementation of RFC 8785 that others use from Python, and with
# node, whose JSON.stringify the RFC is made of:
#
#   tests/differential/canonical.sh BIN [--documents N] [--numbers N] [--seed N]
#
# BIN is where canonical_filter is. rfc8785 is installed into build/tools by pip. Exit code
# 77: it can't be had. Without node, that part is skipped, and says so.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tools=$(cd "$here/../.." && pwd)/build/tools
readonly here tools
readonly python=$tools/rfc8785/bin/python

skip() { echo "skipped: $1"; exit 77; }

if ! "$python" -c 'import rfc8785' 2>/dev/null; then
  command -v python3 >/dev/null || skip "python3 is not installed"
  mkdir -p "$tools"
  python3 -m venv "$tools/rfc8785" &&
    timeout "${install_seconds:-300}" "$tools/rfc8785/bin/pip" install --quiet rfc8785==0.1.4 ||
    skip "pip could not install rfc8785"
fi
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$here/canonical.py" "$@"
