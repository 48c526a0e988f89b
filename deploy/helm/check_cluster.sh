#!/usr/bin/env bash
# The chart on a real API server: etcd, kube-apiserver and kube-controller-manager are built by
# go, started on loopback, and the chart is installed, upgraded and uninstalled by helm in a
# namespace that enforces the Pod Security Standard `restricted`. There is no kubelet: what is
# shown is that everything is admitted, that the controllers make of it what they should, and
# what stays.
#
#   deploy/helm/check_cluster.sh
#
# Building takes long; the tools stay in build/tools. BUILD_SECONDS: how long it may take, if it
# may not take forever. Exit code 77: a tool can't be had, or not within that.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tools=$(cd "$here/../.." && pwd)/build/tools
work=$(mktemp -d)
readonly here tools work release=onced namespace=payments
skip() { echo "skipped: $1"; exit 77; }
started=()
clean_up() {
  # The youngest first: what depends on the others.
  for ((i = ${#started[@]} - 1; i >= 0; i--)); do kill "${started[i]}" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap clean_up EXIT
fail() {
  echo "FAILED: $1"
  exit 1
}

# ---- Tools.

[ -x "$tools/helm" ] || skip "helm isn't in build/tools: deploy/helm/check.sh puts it there"
version=$(sed -n 's/.*k8s.io\/kubernetes v//p' "$here/tests/cluster/go.mod")
flags="-s -w"
for each in gitVersion=v$version gitMajor=1 gitMinor="$(cut -d. -f2 <<<"$version")"; do
  flags+=" -X k8s.io/component-base/version.$each"
done
build_end=$((SECONDS + ${BUILD_SECONDS:-86400}))
for program in etcd kube-apiserver kube-controller-manager kubectl; do
  ! [ -x "$tools/$program" ] || continue
  command -v go >/dev/null || skip "go is not installed, so neither is $program"
  package=k8s.io/kubernetes/cmd/$program
  [ "$program" != etcd ] || package=go.etcd.io/etcd/server/v3
  echo "building $program"
  code=0
  (cd "$here/tests/cluster" && GOFLAGS=-mod=readonly timeout $((build_end > SECONDS ? build_end - SECONDS : 1)) \
    go build -ldflags "$flags" -o "$tools/$program" "$package") || code=$?
  [ "$code" != 124 ] || skip "$program isn't built within $BUILD_SECONDS s: make check-cluster takes the time"
  [ "$code" = 0 ] || skip "go could not build $program"
done

# ---- A cluster.

free_ports() {
  python3 -c 'import socket, sys
all = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in all: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in all])' "$1"
}
read -r etcd_port peer_port api_port < <(free_ports 3)
run() { # NAME COMMAND...: in the background, with a log of that name.
  local name=$1
  shift
  "$@" >"$work/$name.log" 2>&1 &
  started+=($!)
}
until_true() { # WHAT COMMAND...
  local what=$1 end=$((SECONDS + 120))
  shift
  until "$@" >"$work/until" 2>&1; do
    [ "$SECONDS" -lt "$end" ] || fail "$what: $(cat "$work/until"; tail -n 5 "$work"/kube-*.log)"
    sleep 0.2
  done
}

openssl genrsa -out "$work/accounts.key" 2048 2>/dev/null
echo 'secret,admin,1,system:masters' >"$work/tokens"
run etcd "$tools/etcd" --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:$etcd_port" \
  --advertise-client-urls "http://127.0.0.1:$etcd_port" --listen-peer-urls "http://127.0.0.1:$peer_port" \
  --initial-advertise-peer-urls "http://127.0.0.1:$peer_port" --initial-cluster "default=http://127.0.0.1:$peer_port" --unsafe-no-fsync
run kube-apiserver "$tools/kube-apiserver" --etcd-servers "http://127.0.0.1:$etcd_port" --bind-address 127.0.0.1 \
  --advertise-address 127.0.0.1 --secure-port "$api_port" --cert-dir "$work/certificates" --token-auth-file "$work/tokens" \
  --authorization-mode RBAC --service-cluster-ip-range 10.0.0.0/24 --service-account-issuer https://onced.test \
  --service-account-key-file "$work/accounts.key" --service-account-signing-key-file "$work/accounts.key"
cat >"$work/kubeconfig" <<KUBECONFIG
apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "https://127.0.0.1:$api_port", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: secret}}]
contexts: [{name: test, context: {cluster: test, user: admin, namespace: $namespace}}]
KUBECONFIG
chmod 600 "$work/kubeconfig"
export KUBECONFIG=$work/kubeconfig
kubectl() { "$tools/kubectl" "$@"; }
helm() { "$tools/helm" "$@"; }
until_true "the API server isn't ready" kubectl get --raw /readyz
run kube-controller-manager "$tools/kube-controller-manager" --kubeconfig "$work/kubeconfig" --leader-elect=false --secure-port 0 \
  --service-account-private-key-file "$work/accounts.key" --controllers '*,-node-ipam-controller,-node-route-controller'
echo "a cluster: $(kubectl version -o yaml | sed -n 's/^  gitVersion: /Kubernetes /p' | tail -n 1)"

kubectl create namespace "$namespace" >/dev/null
for mode in enforce warn audit; do
  kubectl label namespace "$namespace" "pod-security.kubernetes.io/$mode=restricted" >/dev/null
done
kubectl create namespace monitoring >/dev/null
kubectl apply -f "$here/tests/cluster/crds.yaml" >/dev/null
for kind in certificates.cert-manager.io servicemonitors.monitoring.coreos.com prometheusrules.monitoring.coreos.com; do
  kubectl wait --for=condition=Established "crd/$kind" --timeout=60s >/dev/null
done
until_true "no default account" kubectl get serviceaccount default
# What the values name, and the cluster's owner has.
kubectl create priorityclass services-others-need --value 1000 >/dev/null
kubectl create -f - >/dev/null <<'RUNTIME'
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor}
handler: runsc
RUNTIME

# ---- The chart.

# deploy COMMAND RELEASE VALUES...: without a word of warning from the API server.
deploy() {
  local command=$1 name=$2 values=$3
  shift 3
  helm "$command" "$name" "$here/onced" --namespace "$namespace" -f "$here/tests/values/$values.yaml" "$@" \
    >"$work/out" 2>"$work/err" || fail "helm $command: $(cat "$work/err")"
  ! grep -v 'insecure-skip\|group-readable\|world-readable' "$work/err" | grep -q . || fail "helm $command was warned: $(cat "$work/err")"
}
revisions() { [ "$(kubectl get controllerrevisions -o name | wc -l)" = "$1" ]; }

for values in "$here"/tests/values/*.yaml; do
  name=$(basename "$values" .yaml)
  deploy install "$release" "$name"
  # The claim and the account that it refers to are made elsewhere.
  kubectl create serviceaccount shared >/dev/null 2>&1 || true
  full=$(kubectl get statefulset -o name)
  if [ "$name" != restoring ]; then
    until_true "$name: its pod isn't admitted: $(kubectl get events)" kubectl get "pod/${full#*/}-0"
  else
    until_true "$name: the restore's pod isn't admitted" sh -c "'$tools/kubectl' get pods -l app.kubernetes.io/component=restore -o name | grep -q ."
  fi
  if [ "$name" != every-hook ]; then
    helm get hooks "$release" -n "$namespace" >"$work/hooks.yaml"
    kubectl create -f "$work/hooks.yaml" >/dev/null 2>"$work/err" || fail "$name: helm test's pod: $(cat "$work/err")"
    [ ! -s "$work/err" ] || fail "$name: helm test's pod: $(cat "$work/err")"
    kubectl delete -f "$work/hooks.yaml" --force --grace-period=0 >/dev/null 2>&1
  fi
  for job in $(kubectl get cronjob -o name); do
    kubectl create job --from="$job" by-hand >/dev/null
    until_true "$name: the backup's pod isn't admitted" sh -c "'$tools/kubectl' get pods -l job-name=by-hand -o name | grep -q ."
    kubectl delete job by-hand >/dev/null
  done
  helm uninstall "$release" -n "$namespace" >/dev/null 2>&1
  kubectl delete pods --all --force --grace-period=0 >/dev/null 2>&1
  until_true "$name: something stays" sh -c "! '$tools/kubectl' get statefulset,cronjob,service,pod -o name | grep -q ."
  echo "ok: $name is installed, its pods are admitted, and it is uninstalled"
done

deploy install "$release" production
until_true "no pod" kubectl get pod/onced-0
until_true "no revision" revisions 1
deploy upgrade "$release" production
revisions 1 || fail "an upgrade that changes nothing made a revision"
deploy upgrade "$release" production --set config.queue_max=7
until_true "a changed configuration made no new ControllerRevision" revisions 2
echo "ok: an upgrade with a changed configuration makes a new ControllerRevision; one without doesn't"

! helm upgrade "$release" "$here/onced" -n "$namespace" -f "$here/tests/values/production.yaml" --set replicaCount=2 >/dev/null 2>"$work/err" ||
  fail "two replicas were accepted"
grep -q "one server on one volume" "$work/err" || fail "two replicas: $(cat "$work/err")"
echo "ok: two replicas are refused, with the reason"

# That admission looks at all: a pod of the chart with less security.
kubectl get pod onced-0 -o json | python3 -c 'import json, sys
pod = json.load(sys.stdin)
pod["metadata"] = {"name": "less-secure"}
pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
json.dump(pod, sys.stdout)' >"$work/pod.json"
! kubectl create -f "$work/pod.json" >/dev/null 2>"$work/err" || fail "a pod that isn't restricted was admitted"
grep -q 'violates PodSecurity "restricted' "$work/err" || fail "$(cat "$work/err")"
echo "ok: a pod that isn't restricted is refused"

# What stays, and beside it a release whose claim doesn't: once that one is gone, the garbage
# collector has been round.
readonly control=fleeting
deploy install "$control" production --set persistence.retentionPolicy.whenDeleted=Delete
of_claim() { kubectl get pvc "$1" -o "jsonpath={.metadata.$2}"; }
until_true "the control's claim gets no owner" sh -c "'$tools/kubectl' get pvc data-$control-onced-0 -o 'jsonpath={.metadata.ownerReferences}' | grep -q StatefulSet"
declare -A before
for claim in data-onced-0 onced-backup; do
  before[$claim]=$(of_claim "$claim" uid) || fail "$claim was never there"
done
for each in "$release" "$control"; do
  helm uninstall "$each" -n "$namespace" >"$work/out" 2>&1 || fail "helm uninstall: $(cat "$work/out")"
done
until_true "the StatefulSet stays" sh -c "! '$tools/kubectl' get statefulset -o name | grep -q ."
until_true "the control's claim stays, with whenDeleted: Delete" \
  sh -c "'$tools/kubectl' get pvc data-$control-onced-0 2>&1 | grep -q NotFound"
for claim in data-onced-0 onced-backup; do
  uid=$(of_claim "$claim" uid) || fail "$claim is gone"
  [ "$uid" = "${before[$claim]}" ] || fail "$claim is another one"
  for field in deletionTimestamp ownerReferences; do
    value=$(of_claim "$claim" $field) || fail "$claim is gone"
    [ -z "$value" ] || fail "$claim is to be deleted: $field is $value"
  done
done
echo "ok: uninstalled, and the claims of records and backups are the same as before; with whenDeleted: Delete the records' is gone"
