#!/usr/bin/env bash
# A short load by ghz, another's client, over reflection: Reserves of ever new keys, Reserves of
# one that is committed, and batches. Every call has to be OK, and the server has to have counted
# the same verdicts as were asked for. How fast it was is printed and not judged.
#
#   tests/smoke/load.sh BIN GHZ    BIN: where onced and oncectl are
set -euo pipefail
readonly bin=$1 ghz=$2 calls=5000 connections=4 concurrency=64
. "$(dirname "$0")/server.sh"
fail() {
  echo "FAILED: $1"
  exit 1
}

start --admin-listen off --drain-window 0s
metrics=http://$(value http_listen)/metrics

verdicts() { # VERDICT: how often it was given, by the server's own count.
  python3 -c 'import re, sys, urllib.request as u
text = u.urlopen(sys.argv[1]).read().decode()
print(sum(int(n) for n in re.findall(r"^idempotency_namespace_verdicts_total\{[^}]*verdict=\"%s\"[^}]*\} (\d+)$" % sys.argv[2], text, re.M)))' \
    "$metrics" "$1"
}
load() { # NAME METHOD JSON
  "$ghz" --insecure --call "idempotency.v1.IdempotencyService.$2" --total "$calls" \
    --concurrency "$concurrency" --connections "$connections" --data "$3" --format json \
    "$ONCECTL_SERVER" >"$dir/report"
  python3 - "$1" "$calls" "$dir/report" <<'PYTHON'
import json, sys
name, calls, report = sys.argv[1], int(sys.argv[2]), json.load(open(sys.argv[3]))
codes = report["statusCodeDistribution"]
at = {each["percentage"]: each["latency"] / 1e6 for each in report["latencyDistribution"]}
print(f"{name}: {report['count']} calls, {codes}, {report['rps']:.0f} a second, "
      f"p50 {at[50]:.1f} ms, p99 {at[99]:.1f} ms")
if codes != {"OK": calls}:
    sys.exit(f"FAILED: {name}: not every call was OK: {report['errorDistribution']}")
PYTHON
}
counted() { # VERDICT NUMBER: since `before` was set.
  local now
  now=$(verdicts "$1")
  [ $((now - before)) -eq "$2" ] || fail "$((now - before)) times $1 were counted, not $2"
}

before=$(verdicts fresh)
load "new keys" Reserve '{"namespace": "load", "key": "{{newUUID}}", "request_id": "{{newUUID}}"}'
counted fresh "$calls"

token=$("$bin/oncectl" reserve --namespace load --key done | sed -n 's/^token: *//p')
ONCECTL_TOKEN=$token "$bin/oncectl" commit --namespace load --key done --status-code 200 --body paid >/dev/null
before=$(verdicts replayed)
load "one committed key" Reserve '{"namespace": "load", "key": "done"}'
counted replayed "$calls"

before=$(verdicts fresh)
item='{"reserve": {"namespace": "load", "key": "{{newUUID}}"}}'
load "batches of 4" Batch "{\"operations\": [$item, $item, $item, $item]}"
counted fresh $((4 * calls))

kill -TERM "$server"
wait "$server" || fail "exit code $? after SIGTERM"
server=
