#!/bin/sh
# run.sh ONCED: the smoke test of that binary; exit code 77 where its tools are
# missing. .ci/run installs them.
set -eu
here=$(dirname "$0")
skip() { echo "skipped: $1"; exit 77; }
command -v python3 >/dev/null || skip "python3 is not installed"
grpcurl=$here/../../build/tools/grpcurl
[ -x "$grpcurl" ] || grpcurl=$(command -v grpcurl) ||
  skip "grpcurl is neither in build/tools nor on the PATH"
exec python3 "$here/smoke.py" --onced "$1" --grpcurl "$grpcurl"
