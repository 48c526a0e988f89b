#!/usr/bin/env bash
# The memory of a server: empty, with KEYS live records, and while it is asked,
# sweeps and answers:
#
#   tests/space/memory.sh [KEYS [FLAG...]]
#
# KEYS is 5000000; FLAGs are the server's, such as --memory-budget 64MiB. Fails if
# it was ever above BOUND_MIB (600), or above EMPTY_BOUND_MIB (150) while empty.
set -euo pipefail
keys=${1:-5000000}
shift $(($# > 0 ? 1 : 0))
# shellcheck source=tests/space/server.sh
. "$(dirname "$0")/server.sh"
bound=${BOUND_MIB:-600} empty_bound=${EMPTY_BOUND_MIB:-150} seconds=${ASK_SECONDS:-120}

# A third of the records expires while the server is asked, so that it sweeps.
start_server data --reclaim-grace 2s --sweep-interval 5s "$@"
show() { printf '%-46s %5d MiB now, %5d MiB at most\n' "$1" $(($(memory_kib "$pid" VmRSS) / 1024)) \
  $(($(memory_kib "$pid" VmHWM) / 1024)); }
show "empty"
empty_most=$(memory_kib "$pid" VmHWM)
"$load" "$address" fill "$keys"
show "with $keys live records"
"$load" "$address" fill $((keys / 2)) prefix=short- retention=20s
show "and $((keys / 2)) that are about to expire"
"$load" "$address" ask "$seconds" "keys=$keys" threads=32
show "after $seconds s of calls and sweeps"
most=$(memory_kib "$pid" VmHWM)
echo "on the disk: $(($(disk_bytes data) >> 20)) MiB"
if [ $((most / 1024)) -ge "$bound" ] || [ $((empty_most / 1024)) -ge "$empty_bound" ]; then
  echo "FAILED: the bounds are $bound MiB, and $empty_bound MiB while empty" >&2
  exit 1
fi
