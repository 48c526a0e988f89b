#!/bin/sh
# Installs the Debian packages that this repository needs, those that are
# missing and no others. With all of them there it takes milliseconds and needs
# neither root nor a network.
#
#   deploy/dev/install-packages.sh build     to build and run
#   deploy/dev/install-packages.sh examples  what the examples and their tests want on top
#   deploy/dev/install-packages.sh check     what .ci/run wants on top
#   deploy/dev/install-packages.sh bench     what the benchmark wants on top
#   deploy/dev/install-packages.sh list build|examples|check|bench    prints them only
#
# This is the one list; docs/dependencies.md says why each is there.
set -eu

packages_of() {
  case "$1" in
    build) echo "
      g++ cmake ninja-build
      protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libgrpc++-dev
      libabsl-dev librocksdb-dev libyaml-cpp-dev libssl-dev
      prometheus-cpp-dev libcivetweb-dev libcurl4-openssl-dev libjemalloc-dev pkg-config
      nlohmann-json3-dev
      libgtest-dev libgmock-dev" ;;
    examples) echo "
      libsqlite3-dev redis-server libhiredis-dev" ;;
    check) echo "
      clang-14 libclang-rt-14-dev clang-tidy-14 clang-format-14
      git python3 python3-venv openssl buildah debootstrap gnuplot-nox prometheus" ;;
    bench) echo "
      redis-server libhiredis-dev postgresql libpq-dev
      libbenchmark-dev gnuplot-nox valgrind" ;;
    *) echo "install-packages.sh: no such group: $1 (build, examples, check or bench)" >&2; exit 2 ;;
  esac
}

if [ "${1:-}" = list ]; then
  packages_of "${2:-build}" | tr -s ' \n' '\n' | sed '/^$/d'
  exit
fi

wanted=$(packages_of "${1:-build}")

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  # Not Debian: the tools may be there under other names, so go on and let CMake
  # say what is missing.
  echo "No apt here: taking it that the libraries are installed." >&2
  echo "Debian 12 names them:" $wanted >&2
  exit 0
fi

missing=
for package in $wanted; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  case "$status" in installed*) ;; *) missing="$missing $package" ;; esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Packages are missing, and installing them needs root or sudo. As root:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2
    exit 1
  fi
  as_root=sudo
fi

echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# Debian starts a server as soon as its package is there, unless this says no. Tests and
# the benchmark start their own, and of Prometheus a check wants promtool alone.
policy=/usr/sbin/policy-rc.d
case "${1:-}" in check | bench | examples) quiet=yes ;; *) quiet= ;; esac
if [ -n "$quiet" ] && [ ! -e "$policy" ]; then
  trap '$as_root rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
  $as_root chmod 755 "$policy"
fi
# Waits for another apt to finish instead of failing.
apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null; }
if ! apt update || ! apt install --yes --no-install-recommends $missing >/dev/null; then
  echo "apt could not install:$missing" >&2
  echo "This repository is built and tested on Debian 12 (bookworm); see docs/dependencies.md." >&2
  exit 1
fi
