#!/usr/bin/env bash
# The space that a store takes while records are written, live, expire and are
# given back, beside that of an empty store with the same settings:
#
#   tests/space/space_over_time.sh [KEYS [OUTPUT]]
#
# KEYS (2000000) are committed with a retention of 60 s; OUTPUT
# (docs/figures/space-over-time) gets .csv and .svg. Fails if the store doesn't come
# back to within 10% of the empty one, for 15 seconds on end, within 5 minutes
# after the last record expired. Needs gnuplot for the .svg.
set -euo pipefail
keys=${1:-2000000}
# shellcheck source=tests/space/server.sh
. "$(dirname "$0")/server.sh"
output=${2:-$repository/docs/figures/space-over-time}
readonly retention=60 grace=10 interval=10
settings=(--reclaim-grace "${grace}s" --sweep-interval "${interval}s")

start_server empty "${settings[@]}"
start_server loaded "${settings[@]}"
loaded_pid=$pid
mkdir -p "$(dirname "$output")"
echo "seconds,loaded_bytes,empty_bytes,loaded_rss_bytes" >"$output.csv"

"$load" "$address" fill "$keys" "retention=${retention}s" >"$work/fill" &
filling=$!
pids+=("$filling")
started=$SECONDS
filled_at=
within=0
while :; do
  at=$((SECONDS - started))
  loaded=$(disk_bytes loaded)
  empty=$(disk_bytes empty)
  echo "$at,$loaded,$empty,$(($(memory_kib "$loaded_pid" VmRSS) * 1024))" >>"$output.csv"
  if [ -z "$filled_at" ] && ! kill -0 "$filling" 2>/dev/null; then
    wait "$filling"
    filled_at=$at
    cat "$work/fill"
  fi
  if [ -n "$filled_at" ] && [ "$at" -ge $((filled_at + retention)) ]; then
    if [ $((loaded * 10)) -le $((empty * 11)) ]; then within=$((within + 1)); else within=0; fi
    [ "$within" -ne 1 ] || back_at=$at
    [ "$within" -lt 15 ] || break
    if [ "$at" -gt $((filled_at + retention + 300)) ]; then
      echo "FAILED: $loaded bytes after $at s; an empty store takes $empty" >&2
      exit 1
    fi
  fi
  sleep 1
done
peak=$(awk -F, 'NR > 1 && $2 > peak { peak = $2 } END { printf "%.0f", peak }' "$output.csv")
echo "last record expired at $((filled_at + retention)) s, within 10% of an empty store at $back_at s"
echo "peak $peak bytes, at the end $loaded, empty store $empty"

command -v gnuplot >/dev/null || { echo "no gnuplot: no $output.svg"; exit 0; }
gnuplot -e "base='$output'; keys=$keys; retention=$retention; grace=$grace; interval=$interval; \
  filled=$filled_at; expired=$((filled_at + retention))" "$(dirname "$0")/space_over_time.gp"
