#!/usr/bin/env bash
# Builds the image (build.sh) and runs it as a cluster would: as its own user without any
# capability, as process 1, on a root that can't be written to; then looks at uid, probes,
# SIGTERM, and what is there after a restart. Prints its size and how long it takes to start.
#
#   deploy/image/check.sh [BIN]    BIN as for build.sh
#
# Exit code 77: the machine can't do it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
readonly here work image=localhost/onced-check
container='' server='' outer=''
clean_up() {
  [ -z "$server" ] || kill -9 "$server" 2>/dev/null || true
  wait
  [ -z "$container" ] || buildah rm "$container" >/dev/null
  # Its base stays, for the next time.
  buildah rmi "$image" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "FAILED: $1"; [ ! -s "$work/log" ] || tail -n 5 "$work/log"; exit 1; }

if [ $# -gt 0 ]; then echo "the stage that compiles is replaced by what is in $1"; fi
"$here/build.sh" "$image" "$@"
buildah info >/dev/null 2>&1 || export STORAGE_DRIVER=vfs
field() { buildah inspect --type image --format "{{$1}}" "$image"; }
user=$(field .OCIv1.Config.User)
entrypoint=$(field .OCIv1.Config.Entrypoint)
[ "$user" = 10001:10001 ] || fail "its user is $user"
[ "$entrypoint" = '[onced]' ] || fail "its entry point is $entrypoint"
echo "size: $(buildah images --format '{{.Size}}' "$image"), of which its base: $(buildah images --format '{{.Size}}' localhost/onced-base)"

container=$(buildah from "$image")
root=$(buildah mount "$container")
mkdir "$work/volume" && chown 10001:10001 "$work/volume"

# What a runtime does, by util-linux: the image's root read-only, the volume on it, then no root.
cat >"$work/run" <<'RUN'
set -eu
root=$1 volume=$2; shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
mount --bind "$volume" "$root/var/lib/onced"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -o remount,bind,ro "$root"
exec chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin "$@"
RUN
enter=(unshare --mount --pid --fork --kill-child bash "$work/run" "$root" "$work/volume"
  setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all)
readonly enter
in_image() { "${enter[@]}" "$@"; }
in_image true 2>"$work/log" || skip "no namespaces can be made here: $(cat "$work/log")"

value() { sed -n "s/.*\"event\":\"serving\".*\"$1\":\"\([^\"]*\)\".*/\1/p" "$work/log"; }
now() { date +%s%N; }
start() {
  local began
  began=$(now)
  : >"$work/log"
  "${enter[@]}" onced --data-dir /var/lib/onced/data --listen 127.0.0.1:0 --http-listen 127.0.0.1:0 \
    --admin-listen off >"$work/log" 2>&1 &
  outer=$! # unshare, whose child is the server
  until [ -n "$(value listen)" ]; do
    kill -0 "$outer" 2>/dev/null || fail "it doesn't start"
    sleep 0.01
  done
  echo "$1: serving after $((($(now) - began) / 1000000)) ms"
  server=$(pgrep -P "$outer")
}
probe() { # Its status code.
  python3 -c 'import sys, urllib.request as u, urllib.error as e
try: print(u.urlopen(sys.argv[1]).status)
except e.HTTPError as error: print(error.code)' "http://$(value http_listen)$1"
}
status() { awk -v field="$1:" '$1 == field { print $2 }' "/proc/$server/status"; }

start "new store"
[ "$(status Uid)" = 10001 ] || fail "it runs as $(status Uid)"
[ "$(status CapEff)$(status CapBnd)" = 00000000000000000000000000000000 ] || fail "it has capabilities"
[ "$(status NoNewPrivs)" = 1 ] || fail "it may get new ones"
[ "$(awk '$1 == "NSpid:" { print $NF }' "/proc/$server/status")" = 1 ] || fail "it isn't process 1"
echo "uid 10001, no capabilities, process 1"

for path in /written /tmp/written /etc/written /usr/local/bin/written; do
  ! in_image touch "$path" 2>/dev/null || fail "$path could be written"
done
in_image touch /var/lib/onced/written || fail "the volume can't be written to"
echo "nothing but the volume can be written to"

[ "$(probe /livez)" = 200 ] && [ "$(probe /readyz)" = 200 ] || fail "a probe fails"
in_image env ONCECTL_SERVER="$(value listen)" KEY_NAMESPACE=helm-test \
  sh -euc "$(cat "$here/../helm/onced/files/reserve-commit-replay.sh")" >"$work/test" ||
  fail "helm test's script: $(cat "$work/test")"
echo "probes answer; $(tail -n 1 "$work/test") by oncectl in the image"

ended=$(now)
kill -TERM "$server"
# In one process: the next would take a part of the window to start.
python3 -c 'import sys, urllib.request as u, urllib.error as e
def status(path):
    try: return u.urlopen(sys.argv[1] + path).status
    except e.HTTPError as error: return error.code
while status("/readyz") != 503: pass
sys.exit(status("/livez") != 200)' "http://$(value http_listen)" 2>"$work/probes" ||
  fail "/readyz and /livez while it drains: $(tail -n 1 "$work/probes")"
code=0
wait "$outer" || code=$?
[ "$code" = 0 ] || fail "exit code $code after SIGTERM"
echo "SIGTERM: /readyz 503, /livez 200, exit code 0 after $((($(now) - ended) / 1000000)) ms (drain_window is 2 s)"

start "the same store again"
key=$(sed -n 's/^reserve \(helm-test-[^:]*\):.*/\1/p' "$work/test")
in_image oncectl inspect --server "$(value listen)" --namespace helm-test --key "$key" >"$work/test"
grep -q COMMITTED "$work/test" || fail "the key is gone after a restart: $(cat "$work/test")"
kill -TERM "$server"
kill -TERM "$server"
wait "$outer" || fail "exit code after SIGTERM"
server=
echo "what was committed is there after a restart"
