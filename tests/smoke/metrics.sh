#!/usr/bin/env bash
# Has promtool check the metrics of a server that has done a little of everything.
#
#   tests/smoke/metrics.sh BIN    where onced and oncectl are
set -euo pipefail
readonly bin=$1
. "$(dirname "$0")/server.sh"

printf 'namespaces:\n  held: {on_lapse: HOLD}\n' >"$dir/config.yaml"
start --config "$dir/config.yaml" --admin-listen 127.0.0.1:0 --backup-dir "$dir/backups"
http=$(value http_listen)

call() { "$bin/oncectl" "$@" --namespace held --key k >"$dir/answer" || true; }
call reserve
token=$(sed -n 's/^token: *//p' "$dir/answer")
call reserve
ONCECTL_TOKEN=wrong call commit
ONCECTL_TOKEN=$token call extend
ONCECTL_TOKEN=$token call commit --status-code 200
call reserve
call inspect
"$bin/oncectl" backup --admin-server "$(value admin_listen)" >/dev/null

python3 -c 'import sys, urllib.request as u
sys.stdout.buffer.write(u.urlopen(sys.argv[1]).read())' "http://$http/metrics" >"$dir/metrics"
grep -q '^idempotency_namespace_verdicts_total{namespace="held",verdict="replayed"} 1$' "$dir/metrics"
promtool check metrics <"$dir/metrics"
echo "promtool: $(grep -c '^# TYPE' "$dir/metrics") metrics, $(grep -vc '^#' "$dir/metrics") series, nothing to object to"
