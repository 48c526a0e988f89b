"""The restore's job, on a volume with a real server's store and backup: refused, done, and cut off at each of its steps."""

import contextlib
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

from chart import TESTS, in_parallel, of_kind
from live import Server, here, run

VALUES = TESTS / "values" / "restoring.yaml"
REPLAYED, FRESH = 3, 0

# What is on the volume, by what it says of the two keys: one is in the backup, the other was committed later.
OLD, RESTORED = (REPLAYED, REPLAYED), (REPLAYED, FRESH)


class Volume:
    """The data volume and that of backups, in a folder of their own."""

    def __init__(self, folder, bin):
        self.folder, self.bin = folder, bin
        self.top = folder / "var" / "onced"
        self.data = self.top / "data"

    @contextlib.contextmanager
    def server(self):
        server = Server(VALUES, self.folder, self.bin)
        try:
            yield server
        finally:
            server.stop()

    def oncectl(self, server, *arguments):
        env = {"PATH": os.environ["PATH"], "ONCECTL_SERVER": server.address("listen")}
        return subprocess.run([self.bin / "oncectl", *arguments], env=env, capture_output=True, text=True)

    def reserve(self, server, key):
        return self.oncectl(server, "reserve", "--namespace", "shop", "--key", key)

    def commit(self, server, key):
        answer = self.reserve(server, key).stdout
        token = next(line.split()[1] for line in answer.splitlines() if line.startswith("token:"))
        run(self.bin / "oncectl", "commit", "--namespace", "shop", "--key", key, "--status-code", "201", "--body", "x",
            env={"ONCECTL_SERVER": server.address("listen"), "ONCECTL_TOKEN": token})

    def says(self, *keys):
        """How a server that starts here answers a Reserve of each."""
        try:
            with self.server() as server:
                return tuple(self.reserve(server, key).returncode for key in keys or ("kept", "later"))
        except RuntimeError as error:
            return str(error)

    def files(self, directory):
        return {p.relative_to(directory): hashlib.sha256(p.read_bytes()).digest() for p in directory.rglob("*") if p.is_file()}

    def befores(self):
        return sorted(self.top.glob("data-before-*"))

    def restore(self, uid="a", arguments=None, cut=None, steps=None):
        """The job's pod. Every program that it has change something is a step; that of number `cut` is its last, done by half."""
        container = job()["spec"]["template"]["spec"]["containers"][0]
        script, name, *own = container["args"]
        env = {"PATH": f"{steps or self.bin}:{self.bin}:{os.environ['PATH']}", "JOB": uid}
        if steps:
            (self.folder / "steps").write_text("0\n")
            env |= {"STEPS": str(self.folder / "steps"), "CUT": str(cut or 0)}
        command = [*container["command"], here(script, self.folder), name]
        return subprocess.run([*command, *(own if arguments is None else arguments)], env=env, capture_output=True, text=True)


def told(ended):
    return f"exit code {ended.returncode}: {ended.stdout}{ended.stderr}"


def job():
    return next(of_kind(VALUES, "Job"))


STEP = """#!/bin/sh
read n <"$STEPS"
n=$((n + 1))
echo $n >"$STEPS"
[ $n -eq $CUT ] || exec {real} "$@"
case {tool}$1 in
  mv-t) {real} -t "$2" "$3" ;;
  oncedrestore) mkdir -p data-restored/RESTORING; echo half >data-restored/RESTORING/000009.sst ;;
esac
kill -9 $PPID
"""


def make_steps(folder, bin):
    """In the place of what changes something. A cut before anything else is the same as one before the next of these."""
    folder.mkdir()
    for tool in ("find", "mkdir", "mktemp", "mv", "onced", "rm", "rmdir"):
        real = bin / "onced" if tool == "onced" else shutil.which(tool)
        (folder / tool).write_text(STEP.format(tool=tool, real=real))
        (folder / tool).chmod(0o755)
    return folder


class Volumes:
    """Copies of one volume, whose server was stopped after a backup and a commit."""

    def __init__(self, folder, bin):
        self.folder, self.bin = folder, bin
        (folder / "first").mkdir()
        self.first = Volume(folder / "first", bin)
        with self.first.server() as server:
            self.first.commit(server, "kept")
            run(bin / "oncectl", "backup", "--admin-server", server.address("admin_listen"))
            self.first.commit(server, "later")
        self.steps = make_steps(folder / "steps", bin)

    def copy(self, name):
        shutil.copytree(self.first.folder, self.folder / name)
        return Volume(self.folder / name, self.bin)


@contextlib.contextmanager
def volumes(bin):
    with tempfile.TemporaryDirectory() as folder:
        yield Volumes(pathlib.Path(folder), bin)


def damage(volume):
    table = next((volume.folder / "var" / "onced-backup").rglob("*.sst"))
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 1
    table.chmod(0o600)
    table.write_bytes(content)


def empty(volume):
    shutil.rmtree(volume.folder / "var" / "onced-backup")


def refused(bin):
    """a restore that is refused leaves the store where it was, and the server serves it"""
    cases = {
        "no such backup": (["--backup-id", "99"], lambda _: None, 3),
        "a wrong fence floor": (["--fence-floor", "18446744073709551615"], lambda _: None, 2),
        "a damaged backup": ([], damage, 4),
        "no backup": ([], empty, 3),
    }
    with volumes(bin) as made:
        for name, (arguments, spoil, code) in cases.items():
            volume = made.copy(name.replace(" ", "-"))
            spoil(volume)
            ended = volume.restore(arguments=arguments)
            if ended.returncode != code or "the store is as it was" not in ended.stderr:
                yield f"{name}: {told(ended)}"
            if {p.name for p in volume.top.iterdir()} - {"data", "restore.lock"}:
                yield f"{name}: left {list(volume.top.iterdir())}"
            if volume.says() != OLD:
                yield f"{name}: the store from before isn't served"


def done(bin):
    """a restored store is served, the old one kept; the same job doesn't restore over it, another does"""
    with volumes(bin) as made:
        volume, old = made.copy("done"), made.first.files(made.first.data)
        ended = volume.restore()
        if ended.returncode or "restored:" not in ended.stdout or volume.says() != RESTORED:
            yield f"not restored: {told(ended)}"
        if [volume.files(before) for before in volume.befores()] != [old]:
            yield f"the store from before isn't kept: {volume.befores()}"
        with volume.server() as server:
            volume.commit(server, "after")
        ended = volume.restore()
        if ended.returncode or "this job has restored" not in ended.stdout or volume.says("kept", "after") != (REPLAYED, REPLAYED):
            yield f"the same job, once more: {told(ended)}"
        ended = volume.restore(uid="b")
        if ended.returncode or volume.says("kept", "after") != (REPLAYED, FRESH) or len(volume.befores()) != 2:
            yield f"another job: {told(ended)}"
        fresh = made.copy("fresh")
        shutil.rmtree(fresh.top)
        fresh.top.mkdir()
        ended = fresh.restore()
        if ended.returncode or fresh.says() != RESTORED or fresh.befores():
            yield f"onto a new volume: {told(ended)}"


def cut_case(made, cut):
    """A run that is cut off, what is on the volume then, and the next run: of the same job or another."""
    volume, old = made.copy(f"cut-{cut}"), made.first.files(made.first.data)
    ended = volume.restore(cut=cut, steps=made.steps)
    if not ended.returncode:
        return f"step {cut} wasn't the last: {told(ended)}"
    swapped = not (volume.data / "RESTORING").exists() and volume.files(volume.data) != old
    if (volume.data / "RESTORING").exists():
        with contextlib.suppress(RuntimeError), volume.server():
            return f"step {cut}: a server starts in the midst of it"
    elif swapped and ((volume.top / "data-incoming").exists() or not (volume.data / "CURRENT").exists()):
        return f"step {cut}: neither the old store nor the new one, and nothing keeps a server off"
    ended = volume.restore(uid="ab"[cut % 2])
    if ended.returncode or volume.says() != RESTORED:
        return f"step {cut}: the next run: {told(ended)}"
    kept = [volume.files(before) for before in volume.befores()]
    if kept.count(old) != 1 or len(kept) > 1 + swapped:
        return f"step {cut}: the store from before isn't kept, or not alone: {volume.befores()}"
    left = {p.name for p in volume.top.iterdir() if p not in volume.befores()} - {"data", "restore.lock", "restored-by"}
    return f"step {cut}: left {left}" if left else None


def cut_off(bin):
    """a restore that is cut off, at whichever step, is ended by the next run, and no server starts on the half of it"""
    with volumes(bin) as made:
        whole = made.copy("whole")
        ended = whole.restore(steps=made.steps)
        steps = int((whole.folder / "steps").read_text())
        if ended.returncode or steps < 15:
            yield f"{steps} steps: {told(ended)}"
        yield from filter(None, in_parallel(functools.partial(cut_case, made), range(1, steps + 1)))
