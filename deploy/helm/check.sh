#!/usr/bin/env bash
# Checks the chart: helm's lint, what it renders for each file of tests/values against
# tests/golden and Kubernetes' schemas, values that have to be refused, Pod Security,
# alerts and the dashboard by promtool; and that a real server takes what is rendered, and
# answers as NOTES.txt says to call it.
#
#   deploy/helm/check.sh BIN [--write]    BIN: where onced and oncectl are.
#                                         --write: tests/golden and the README's table anew
#
# Tools that are missing go to build/tools, by go and pip. Exit code 77: one can't be had.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tools=$(cd "$here/../.." && pwd)/build/tools
readonly here tools
readonly python=$tools/python/bin/python
mkdir -p "$tools"
export GOFLAGS=-mod=mod

skip() { echo "skipped: $1"; exit 77; }

# Which version of Kubernetes helm takes itself to render for: what it was built with.
chartutil=helm.sh/helm/v3/pkg/chartutil
command -v promtool >/dev/null || skip "promtool (Debian's prometheus) is not installed"
command -v openssl >/dev/null || skip "openssl is not installed"
if ! [ -x "$tools/helm" ]; then
  command -v go >/dev/null || skip "go is not installed, so neither is helm"
  GOBIN=$tools go install -ldflags "-s -w -X $chartutil.k8sVersionMajor=1 -X $chartutil.k8sVersionMinor=31" \
    helm.sh/helm/v3/cmd/helm@v3.15.4 || skip "go could not install helm"
fi
if ! [ -x "$tools/grpcurl" ]; then
  command -v go >/dev/null || skip "go is not installed, so neither is grpcurl"
  GOBIN=$tools go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.8.9 || skip "go could not install grpcurl"
fi
if ! [ -x "$tools/crds" ] || [ "$here/tests/crds/main.go" -nt "$tools/crds" ]; then
  command -v go >/dev/null || skip "go is not installed, so neither are the types of others' kinds"
  (cd "$here/tests/crds" && GOFLAGS=-mod=readonly go build -o "$tools/crds" .) ||
    skip "go could not build tests/crds"
fi
if ! "$python" -c 'import kubernetes_validate, yaml' 2>/dev/null; then
  python3 -m venv "$tools/python" && "$tools/python/bin/pip" install --quiet \
    kubernetes-validate==1.37.0 PyYAML==6.0.2 || skip "pip could not install kubernetes-validate"
fi

export PYTHONDONTWRITEBYTECODE=1
[ "${2:-}" != --write ] || "$python" "$here/values_table.py" "$here/onced" --write
exec "$python" "$here/tests/check.py" "$@"
