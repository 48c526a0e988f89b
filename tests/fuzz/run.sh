#!/usr/bin/env bash
# Runs fuzzers, each for a time, and prints what they did:
#
#   tests/fuzz/run.sh build-asan/bin [TARGET ...]      all, if none is named
#
#   FUZZ_SECONDS=20    of each target. A budget: how much is done in it is not judged
#   FUZZ_JOBS=2        targets at a time
#   FUZZ_SEED=N        where each begins; else each run goes its own way
#   FUZZ_WORK=DIR      where what they find is kept; else nothing is
#
# Fails if one crashes, leaks, hangs, or takes more than 2 GiB. The input that did
# it is in FUZZ_WORK/TARGET-crash-…: put it into tests/fuzz/corpus/TARGET, where
# `make test` finds it, mend the code, and write a unit test for it.
set -euo pipefail
binaries=$(realpath "${1:?usage: run.sh FOLDER [TARGET ...]}")
shift
cd "$(dirname "$0")"

seconds=${FUZZ_SECONDS:-20}
jobs=${FUZZ_JOBS:-2}
seed=${FUZZ_SEED:-0}  # 0: libFuzzer takes any.
work=${FUZZ_WORK:-}
if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work"
work=$(realpath "$work")

targets=("$@")
[ "${#targets[@]}" -gt 0 ] || mapfile -t targets < <(ls corpus)

# run_one TARGET: one line, and the output if it failed.
run_one() {
  local target=$1 log=$work/$1.log dictionary=() code=0
  mkdir -p "$work/$target"
  [ ! -e "dictionaries/$target.dict" ] || dictionary=("-dict=dictionaries/$target.dict")
  # A hang is 60 s on one input: none takes a thousandth of that.
  TIMEFORMAT=%U
  { time "$binaries/fuzz_$target" -seed="$seed" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 \
    -max_len=16384 -artifact_prefix="$work/$target-" -print_final_stats=1 -verbosity=1 \
    "${dictionary[@]}" "$work/$target" "corpus/$target" >"$log" 2>&1; } 2>"$work/$target.time" ||
    code=$?
  local executions coverage crashes
  executions=$(grep -oE 'stat::number_of_executed_units: *[0-9]+' "$log" | grep -oE '[0-9]+$' || echo '?')
  coverage=$(grep -oE 'cov: [0-9]+' "$log" | tail -1 | grep -oE '[0-9]+' || echo '?')
  crashes=$(find "$work" -maxdepth 1 -name "$target-*" | wc -l)
  if [ "$code" -ne 0 ]; then tail -n 60 "$log"; fi
  printf '%-16s %7.1f s of CPU %12s executions %7s edges %3d crashes%s\n' "$target" \
    "$(cat "$work/$target.time")" "$executions" "$coverage" "$crashes" \
    "$([ "$code" -eq 0 ] || echo "  FAILED ($code)")"
  return "$code"
}
export -f run_one
export seconds seed work binaries

failed=0
printf '%s\0' "${targets[@]}" | xargs -0 -P "$jobs" -I{} bash -euo pipefail -c 'run_one {}' || failed=1
exit "$failed"
