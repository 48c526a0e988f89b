#!/usr/bin/env bash
# Builds deploy/Dockerfile by buildah, without a daemon and without a registry: its base is made
# by debootstrap from the machine's own sources of packages. As root.
#
#   deploy/image/build.sh NAME [BIN]    BIN: where onced and oncectl are, built on this kind of
#                                       machine; without it they are built in the image, which
#                                       takes as long as a build takes
#
# Exit code 77: a tool is missing, or the machine doesn't let it work.
set -euo pipefail
readonly name=$1 bin=${2:-}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
readonly root work
trap 'rm -rf "$work"' EXIT
skip() { echo "skipped: $1"; exit 77; }

[ "$(id -u)" = 0 ] || skip "debootstrap wants to be root"
for tool in buildah debootstrap; do
  command -v "$tool" >/dev/null || skip "$tool is not installed"
done
# A container in a container may make none of its own, and put no overlay on an overlay.
export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot}
buildah info >/dev/null 2>&1 || export STORAGE_DRIVER=vfs
buildah info >/dev/null 2>&1 || skip "buildah can't store images on this machine"

# What debian:12-slim is, made here, since it takes a while: once a week, for Debian's mends.
base=localhost/onced-base
made=$(buildah inspect --type image --format '{{.OCIv1.Created}}' "$base" 2>/dev/null || true)
# "2026-11-30 09:51:30.215632376 +0000 UTC"
if [ -n "$made" ] && [ "$(date -d "${made% UTC}" +%s)" -lt "$(date -d '7 days ago' +%s)" ]; then
  buildah rmi "$base" >/dev/null || true # In use: as old as it is, then.
fi
if ! buildah inspect --type image "$base" >/dev/null 2>&1; then
  echo "making $base by debootstrap"
  mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME) $(CREATED_BY)' |
    sed -n 's/ bookworm Packages$//p' | head -n 1)
  debootstrap --variant=minbase --include=ca-certificates bookworm "$work/base" "$mirror" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log"; skip "debootstrap could not make a base"; }
  rm -f "$work/base/etc/apt/sources.list"
  cp -a /etc/apt/sources.list.d/debian.sources "$work/base/etc/apt/sources.list.d/" 2>/dev/null ||
    cp -a /etc/apt/sources.list "$work/base/etc/apt/"
  # debootstrap knows one source: not that of the mends.
  { chroot "$work/base" apt-get update && chroot "$work/base" apt-get upgrade --yes; } \
    </dev/null >>"$work/log" 2>&1 || { tail -n 20 "$work/log"; skip "apt could not mend the base"; }
  # What debian:12-slim leaves out as well.
  rm -rf "$work"/base/usr/share/{doc,man,info,locale}/* "$work"/base/var/cache/apt/* "$work"/base/var/lib/apt/lists/*
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$work/base" / >/dev/null
  buildah commit --quiet --rm "$container" "$base" >/dev/null
fi

contexts=()
if [ -n "$bin" ]; then
  # In place of the stage that builds them.
  mkdir -p "$work/built/out/usr/local/bin"
  install --strip "$bin/onced" "$bin/oncectl" "$work/built/out/usr/local/bin/"
  contexts=(--build-context "build=$work/built")
fi
buildah build --quiet --network host --build-arg "BASE=$base" "${contexts[@]}" \
  --ignorefile "$root/deploy/Dockerfile.dockerignore" -f "$root/deploy/Dockerfile" -t "$name" "$root" >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
