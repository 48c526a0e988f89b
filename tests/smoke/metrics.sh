#!/usr/bin/env bash
# Has promtool check the metrics of a server that has done a little of everything.
#
#   tests/smoke/metrics.sh BIN    where onced and oncectl are
set -euo pipefail
readonly bin=$1
dir=$(mktemp -d)
readonly dir
server=
# Ends what was started here, and nothing else.
clean_up() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  wait
  rm -rf "$dir"
}
trap clean_up EXIT

printf 'namespaces:\n  held: {on_lapse: HOLD}\n' >"$dir/config.yaml"
"$bin/onced" --data-dir "$dir/data" --config "$dir/config.yaml" --listen 127.0.0.1:0 \
  --http-listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --backup-dir "$dir/backups" 2>"$dir/log" &
server=$!
# Of the line that says so.
value() { sed -n "s/.*\"event\":\"serving\".*\"$1\":\"\([^\"]*\)\".*/\1/p" "$dir/log"; }
until [ -n "$(value listen)" ]; do
  kill -0 "$server" || { cat "$dir/log"; exit 1; }
  sleep 0.1
done
ONCECTL_SERVER=$(value listen)
export ONCECTL_SERVER
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
