#!/usr/bin/env bash
# Shows that the tests of faults can fail: takes one protection out of the server at
# a time, in a copy of the tree, and wants the test that is named for it to fail.
#
#   tests/fault/mutants/run.sh                 all of them
#   tests/fault/mutants/run.sh sync fences     two of them
#
# The copy and what is built of it stay in build/mutants, so that the next run has
# less to build. Exits 1 if a test passes without what it is to protect, if a change
# no longer fits the source, or if a test fails with nothing taken out.
set -euo pipefail
cd "$(dirname "$0")/../../.."
readonly copy=$PWD/build/mutants/tree
jobs=${JOBS:-$(nproc)}
readonly jobs
export CCACHE_BASEDIR=$copy CCACHE_NOHASHDIR=1

# mutant NAME TARGET TEST FILE OLD NEW: OLD has to be in FILE exactly once.
mutants() {
  mutant sync fault_machine_test PowerLoss.LosesNothingThatWasSynced \
    server/storage/rocksdb/committer.cc \
    'options.sync = sync_;' \
    'options.sync = false && sync_;'
  mutant answer-first fault_machine_test Errors.OfTheLogsSyncEndEverything \
    server/storage/rocksdb/committer.cc \
    'if (status.ok()) status = Write();
    Tell(status);' \
    'Tell(status);
    if (status.ok()) status = Write();'
  mutant tell-first conformance_test SlowDisk.NobodyIsToldBeforeTheSyncHasEnded \
    server/storage/rocksdb/committer.cc \
    'if (status.ok()) status = Write();
    Tell(status);' \
    'Tell(status);
    if (status.ok()) status = Write();'
  mutant goes-on conformance_test CommitterTest.NothingIsWrittenAfterAFailure \
    server/storage/rocksdb/committer.cc \
    'if (status.ok()) status = Write();' \
    'status = Write();'
  mutant asked-failure conformance_test CommitterTest.WhenDurableOfWhatFailed \
    server/storage/rocksdb/committer.cc \
    'std::move(told)(failure);' \
    'std::move(told)(absl::OkStatus());'
  mutant told-order conformance_test CommitterTest.WhoAsksIsToldAfterThoseWhoAdded \
    server/storage/rocksdb/committer.cc \
    'for (Told& told : writing_.told) std::move(told)(status);' \
    'if (status.ok()) durable_.store(writing_.ticket.value);
  for (Told& told : writing_.told) std::move(told)(status);'
  mutant bound conformance_test SlowDisk.HoldsExecutorsUpOnlyBeyondTheBound \
    server/storage/rocksdb/committer.cc \
    'changes.records.GetDataSize() > kBytesMax' \
    'changes.records.GetDataSize() > 100 * kBytesMax'
  mutant meta-order conformance_test CommitterTest.OfMetaTheLastCountsAndIsOnePut \
    server/storage/rocksdb/committer.cc \
    'filling_.meta[key] = value;' \
    'filling_.meta.emplace(key, value);'
  mutant unwritten conformance_test SlowDisk.WhatIsDurableIsReadAndToldMeanwhile \
    server/storage/rocksdb/rocks_store.cc \
    'shard.unwritten.Forget(written);' \
    'shard.unwritten.Forget({written.value + 1});'
  mutant unwritten-marks conformance_test SlowDisk.WhatIsErasedMeanwhileIsNotDurablyAbsent \
    server/storage/rocksdb/rocks_store.cc \
    'entry.durable = change->ticket <= written;' \
    'entry.durable = true;'
  mutant unwritten-bound conformance_test Unwritten.HoldsLittleMoreThanWhatIsNotWritten \
    server/storage/rocksdb/unwritten.h \
    'if (newest_of_older_ > written) return;' \
    'if (newest_ > written) return;'
  mutant found conformance_test SlowDisk.WhatIsDurableIsReadAndToldMeanwhile \
    server/storage/rocksdb/rocks_store.cc \
    'committer_.WhenDurable(found, std::move(durable))' \
    'committer_.WhenDurable(std::min(found, Ticket{}), std::move(durable))'
  mutant fences-decided conformance_test '*FencesNeverGoBackInFlightNorAfterwards*' \
    server/storage/rocksdb/rocks_store.cc \
    'shards_[shard.value].last_fence = fence;' \
    ''
  mutant settled-found unit_shard_test 'FoundUndurable/*' \
    server/storage/unit_of_work.h \
    'return entry.durable && !entry.changed;' \
    'return !entry.changed;'
  mutant settled-changed unit_shard_test 'ChangedMeanwhile/*' \
    server/storage/unit_of_work.h \
    'return entry.durable && !entry.changed;' \
    'return entry.durable;'
  mutant settled-sim sim_test Simulation.NoWorldBreaksTheContract \
    server/storage/unit_of_work.h \
    'return entry.durable && !entry.changed;' \
    'return !entry.changed;'
  mutant unknown unit_shard_test '*/Answered.OfADiskThatFails/*' \
    server/shard/shard_group.cc \
    'one.answer.reply = Because(Refusal::kOutcomeUnknown);' \
    'one.answer.reply = Because(Refusal::kStoreFailed);'
  mutant watermark fault_machine_test Damage.OfTheNewestLog \
    server/storage/rocksdb/durable_check.cc \
    'if (mark_.has_value() && sight.last_sequence < mark_->sequence) {' \
    'if (mark_.has_value() && sight.last_sequence > ~std::uint64_t{1}) {'
  mutant watermark-files fault_machine_test Damage.OfAnOlderLog \
    server/storage/rocksdb/durable_check.cc \
    'sight.files = CheckFiles(*db, *mark_, logs_);' \
    'sight.files = absl::OkStatus();'
  mutant watermark-manifest fault_machine_test Damage.OfTheManifestsEndAfterARestart \
    server/storage/rocksdb/file_marks.cc \
    'if (mark.number == 0) return absl::OkStatus();' \
    'return absl::OkStatus();'
  mutant clock-guard fault_machine_test 'Unbelieved.WhileItRuns/AnHourAhead' \
    server/base/believed_clock.cc \
    'if (off > options_.tolerance ||' \
    'if (off > absl::InfiniteDuration() ||'
  mutant clock-at-start fault_machine_test 'UnbelievedAtStart.NothingHappens/AYear*' \
    server/base/believed_clock.cc \
    'return plausible ? wall : last;' \
    'return plausible || true ? wall : last;'
  mutant clock-mark fault_machine_test 'UnbelievedAtStart.NothingHappens/AnHourBack' \
    server/storage/rocksdb/rocks_database.cc \
    'BelievedAtStart(WallNow(), database_->meta.clock_mark, options_.max_downtime)' \
    'database_->meta.clock_mark = WallNow()'
  mutant outage-grace fault_machine_test Clock.AnHourDownIsBelieved \
    server/ledger/record.cc \
    '.grace_until = now + restart_grace' \
    '.grace_until = now + 0 * restart_grace'
  mutant filter-grace conformance_test Reclaim.TakesWhatExpiredAnHourBelowTheMark \
    server/storage/rocksdb/reclaim_filter.cc \
    'StoredTime(clock_mark - grace_)' \
    'StoredTime(clock_mark - 0 * grace_)'
  mutant filter-clock conformance_test 'Reclaim.TakesWhatExpiredAnHourBelowTheMark' \
    server/storage/rocksdb/reclaim_filter.cc \
    'ReclaimFilter::AdvanceTo(absl::Time clock_mark) {' \
    'ReclaimFilter::AdvanceTo(absl::Time clock_mark) { clock_mark = std::max(clock_mark, absl::Now());'
  mutant fences conformance_test '*FencesSurviveTheRecordAndTheRestart*' \
    server/storage/rocksdb/rocks_store.cc \
    'FenceKey(shard), EncodeFence(fence))' \
    'FenceKey(shard), EncodeFence({}))'
  mutant restore-epoch conformance_test BackupTest.WhatWasPendingIsHeldAndItsTokenIsDead \
    server/storage/codec/restored_meta.cc \
    'meta.identity.epoch = AnotherEpoch(meta.identity.epoch, random);' \
    '(void)AnotherEpoch(meta.identity.epoch, random);'
  mutant restore-fences conformance_test BackupTest.FencesGoOnAboveAllThatWereHandedOut \
    server/storage/codec/restored_meta.cc \
    'fence = std::max(fence, *floor);' \
    'fence = std::max(fence, Fence{});'
  mutant failed-store fault_machine_test Errors.OfTheLogsSyncEndEverything \
    server/storage/metered_store.h \
    'on_failure_();' \
    ''
}

# ---- The machinery ----

# Only what has changed, so that only that is built.
copy_tree() {
  git ls-files -co --exclude-standard | python3 -c '
import os, sys
copy, wanted = sys.argv[1], set(sys.stdin.read().split("\n")) - {""}
wanted = {name for name in wanted if os.path.isfile(name)}
for name in sorted(wanted):
    target = os.path.join(copy, name)
    with open(name, "rb") as file: text = file.read()
    try:
        with open(target, "rb") as file:
            if file.read() == text: continue
    except FileNotFoundError:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as file: file.write(text)
for folder in ("server", "client", "proto", "tests"):
    for path, _, names in os.walk(os.path.join(copy, folder)):
        for name in names:
            target = os.path.join(path, name)
            if os.path.relpath(target, copy) not in wanted: os.remove(target)
' "$copy"
}

replace() {
  python3 -c '
import sys
path, old, new = sys.argv[1:]
with open(path) as file: text = file.read()
if text.count(old) != 1: sys.exit(f"{path} has {text.count(old)} times: {old}")
if "absl::Now" in new: text = "#include <algorithm>\n#include \"absl/time/clock.h\"\n" + text
with open(path, "w") as file: file.write(text.replace(old, new))
' "$@"
}

build() { ninja -C "$copy/build" -j "$jobs" "$@" >"$copy/build.log" 2>&1 || { tail -30 "$copy/build.log"; return 1; }; }
# With the programs that it runs.
build_for() {
  case $1 in
    fault_machine_test) build "$1" onced onced_faulty ;;
    *) build "$1" ;;
  esac
}
run() { timeout 120 "$copy/build/bin/$1" --gtest_filter="$2" >"$copy/test.log" 2>&1; }

table=() wrong=0
note() {
  printf '%-16s %-55s %s\n' "$1" "$2" "$3"
  table+=("$3")
  case $3 in fails*) ;; *) wrong=$((wrong + 1)) ;; esac
}

wanted=("$@")
is_wanted() {
  [ "${#wanted[@]}" -eq 0 ] || printf '%s\n' "${wanted[@]}" | grep -qx -- "$1"
}

healthy=()
mutant() {
  is_wanted "$1" || return 0
  local name=$1 target=$2 test=$3 file=$4 old=$5 new=$6
  if [ "$pass" = list ]; then
    healthy+=("$target $test")
    return
  fi
  replace "$copy/$file" "$old" "$new" || { note "$name" "$test" "NO LONGER APPLIES"; return; }
  if ! build_for "$target"; then
    note "$name" "$test" "DOES NOT COMPILE"
  elif run "$target" "$test"; then
    note "$name" "$test" "PASSES without it"
  elif grep -q '^\[  FAILED  \]' "$copy/test.log"; then
    note "$name" "$test" "fails without it"
  else
    note "$name" "$test" "DID NOT RUN"
  fi
  cp "$file" "$copy/$file"
}

mkdir -p "$copy"
copy_tree
cmake -S "$copy" -B "$copy/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug >/dev/null
pass=list
mutants
[ "${#healthy[@]}" -gt 0 ] || { echo "no such mutant: $*" >&2; exit 2; }
for target in $(printf '%s\n' "${healthy[@]}" | cut -d' ' -f1 | sort -u); do
  build_for "$target"
  tests=$(printf '%s\n' "${healthy[@]}" | sed -n "s/^$target //p" | sort -u | paste -sd:)
  [ -n "$tests" ] || continue
  run "$target" "$tests" || { tail -40 "$copy/test.log"; echo "fails with nothing taken out: $target $tests"; exit 1; }
done
echo "With nothing taken out, all of them pass."
pass=run
mutants
echo "${#table[@]} protections taken out, $wrong of them not missed"
[ "$wrong" -eq 0 ]
