# What a key goes through: reserved, committed, replayed.
key=helm-test-$(date +%s)-$$
call() { command=$1; shift; oncectl "$command" --namespace "$KEY_NAMESPACE" --key "$key" "$@"; }

echo "reserve $key: it must be granted"
answer=$(call reserve --fingerprint sha256:5f2c --lease-ttl 60s)
echo "$answer"
ONCECTL_TOKEN=$(echo "$answer" | sed -n 's/^token: *//p')
export ONCECTL_TOKEN

echo "commit"
call commit --status-code 201 --body '{"charge":"ch_77"}' --retention-ttl 1m

echo "reserve it again: the result must be replayed"
code=0
answer=$(call reserve --fingerprint sha256:5f2c) || code=$?
echo "$answer"
[ "$code" -eq 3 ] || { echo "exit code $code instead of 3: not replayed" >&2; exit 1; }
echo "$answer" | grep -q ch_77
echo "reserved, committed, replayed"
