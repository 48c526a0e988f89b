#!/usr/bin/env bash
# How long calls take while the sweeper rewrites files, beside how long they take
# while it doesn't:
#
#   tests/space/sweep_latency.sh [KEYS [FLAG...]]
#
# KEYS (1000000) have expired and as many are alive, mixed in every file. FLAGs are
# the server's, such as --sweep-rate 8MiB.
set -euo pipefail
keys=${1:-1000000}
shift $(($# > 0 ? 1 : 0))
# shellcheck source=tests/space/server.sh
. "$(dirname "$0")/server.sh"
readonly seconds=15

rewritten() {
  exec 3<>"/dev/tcp/${http%:*}/${http##*:}"
  printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
  awk '$1 == "idempotency_sweep_rewritten_bytes_total" { printf "%.0f", $2 }' <&3
  exec 3>&-
}
restart() {
  kill "$pid"
  wait "$pid" || true
  start_server data --reclaim-grace 2s "$@"
  http=$(sed -n 's/.*"http_listen":"\([^"]*\)".*/\1/p' "$work/data.log")
}

start_server data --reclaim-grace 2s --sweep-interval 24h "$@"
"$load" "$address" fill "$keys" prefix=dead- retention=1s
"$load" "$address" fill "$keys" prefix=order- retention=24h
echo "--- no sweep"
restart --sweep-interval 24h "$@"
"$load" "$address" ask "$seconds" "keys=$keys" threads=8
echo "rewritten: $(rewritten) bytes"
echo "--- during a sweep"
restart --sweep-interval 1s "$@"
"$load" "$address" ask "$seconds" "keys=$keys" threads=8
echo "rewritten: $(rewritten) bytes"
