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
    [ "$within" -lt 15 ] || break
    if [ "$at" -gt $((filled_at + retention + 300)) ]; then
      echo "FAILED: $loaded bytes after $at s; an empty store takes $empty" >&2
      exit 1
    fi
  fi
  sleep 1
done
back_at=$((at - within))
peak=$(awk -F, 'NR > 1 && $2 > peak { peak = $2 } END { printf "%.0f", peak }' "$output.csv")
echo "last record expired at $((filled_at + retention)) s, within 10% of an empty store at $back_at s"
echo "peak $peak bytes, at the end $loaded, empty store $empty"

command -v gnuplot >/dev/null || { echo "no gnuplot: no $output.svg"; exit 0; }
gnuplot <<PLOT
set terminal svg size 900,480 font "sans-serif,13" background "white"
set output "$output.svg"
set datafile separator ","
set title "$keys records, retention $retention s, reclaim\\\\_grace $grace s, sweep\\\\_interval $interval s"
set xlabel "seconds since the first write"
set ylabel "MiB on the disk (du)"
set yrange [0:*]
set grid ytics lc rgb "#dddddd"
set key top right
set arrow from $filled_at, graph 0 to $filled_at, graph 1 nohead dt 2 lc rgb "#888888"
set label "last write" at $filled_at, graph 0.97 right offset -0.5,0 tc rgb "#555555"
set arrow from $((filled_at + retention)), graph 0 to $((filled_at + retention)), graph 1 nohead dt 2 lc rgb "#888888"
set label "all expired" at $((filled_at + retention)), graph 0.9 left offset 0.5,0 tc rgb "#555555"
plot "$output.csv" skip 1 using 1:(\$2 / 1048576) with lines lw 2 lc rgb "#1f77b4" title "store", \
     "$output.csv" skip 1 using 1:(\$3 / 1048576) with lines lw 2 dt 3 lc rgb "#d62728" title "empty store"
PLOT
