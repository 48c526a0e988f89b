# Sourced by the scripts here: starts servers, and looks at what they take.

# The programs; another build's by ONCED_BUILD.
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${ONCED_BUILD:-$repository/build}
onced=$build/bin/onced
load=$build/bin/space_load
for program in "$onced" "$load"; do
  if [ ! -x "$program" ]; then
    echo "$program is missing: make build && cmake --build build --target space_load" >&2
    exit 2
  fi
done

work=$(mktemp -d "${ONCED_WORK:-/var/tmp}/onced-space.XXXXXX")
pids=()
end_all() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap end_all EXIT

# start_server NAME [FLAG...]: sets $pid and $address. Its data are in $work/NAME.
start_server() {
  local name=$1
  shift
  : >"$work/$name.log"
  "$onced" --data-dir "$work/$name" --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 "$@" \
    2>"$work/$name.log" &
  pid=$!
  pids+=("$pid")
  until address=$(sed -n 's/.*"event":"serving","listen":"\([^"]*\)".*/\1/p' "$work/$name.log") &&
    [ -n "$address" ]; do
    kill -0 "$pid" 2>/dev/null || { cat "$work/$name.log" >&2; exit 1; }
    sleep 0.1
  done
}

# What du counts, in bytes. Files come and go meanwhile.
disk_bytes() { du -s --block-size=1 "$work/$1" 2>/dev/null | cut -f1 || true; }
# memory_kib PID VmRSS|VmHWM
memory_kib() { sed -n "s/^$2:[^0-9]*\([0-9]*\) kB/\1/p" "/proc/$1/status"; }
