#!/usr/bin/env python3
"""Drives a real onced by grpcurl, without proto files, as a newcomer would.

    tests/smoke/smoke.py --onced build/bin/onced --grpcurl build/tools/grpcurl

Prints each request with its answer, then what was checked. Exits 0 if every
check holds, 1 if not. Waits for events, never for time: a lapse is awaited by a
Reserve with a wait_timeout.
"""

import argparse
import base64
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import urllib.request

SERVICE = "idempotency.v1.IdempotencyService"
ADMIN = "idempotency.admin.v1.AdminService"
HEALTH = "grpc.health.v1.Health"
REFLECTIONS = ("grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection")
# Of one call or one stop; far above what either takes.
LIMIT_SECONDS = 60
# Not UTF-8, with a zero byte.
BODY = bytes(range(256))
RESULT = {
    "status_code": 201,
    "headers": [
        {"name": "content-type", "value": base64.b64encode(b"application/octet-stream").decode()},
        {"name": "link", "value": base64.b64encode(b"<a>").decode()},
        {"name": "x-raw", "value": base64.b64encode(b"\xff\x00").decode()},
        {"name": "link", "value": base64.b64encode(b"<b>").decode()},
        {"name": "link", "value": base64.b64encode(b"<a>").decode()},
    ],
    "body": base64.b64encode(BODY).decode(),
}
CONFIG = """\
namespaces:
  shop: {}
  bank:
    on_lapse: HOLD
"""


class Server:
    """One run of onced on free ports; `address` is where gRPC is served, `http_address` /readyz,
    `admin_address` the admin service."""

    def __init__(self, binary, data_dir, config):
        self.process = subprocess.Popen(
            [binary, "--drain-window", "0s", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0",
             "--admin-listen", "127.0.0.1:0", "--data-dir", data_dir, "--config", config],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("event") == "serving":
                self.address = event["listen"]
                self.http_address = event["http_listen"]
                self.admin_address = event["admin_listen"]
                return
        raise SystemExit("onced did not start:\n" + "".join(said))

    def stop(self):
        """SIGTERM; returns the exit code."""
        self.process.terminate()
        try:
            self.process.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        return self.process.returncode


class Smoke:
    def __init__(self, grpcurl):
        self.grpcurl = grpcurl
        self.server = None
        self.passed = 0
        self.failed = []

    def run(self, *arguments):
        command = [self.grpcurl, "-plaintext", *arguments]
        print("$ grpcurl " + shlex.join(command[1:]))
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT_SECONDS)
        print((done.stdout + done.stderr).rstrip() + "\n", flush=True)
        return done

    def call(self, method, **request):
        """The answer, or {"error": what grpcurl printed}."""
        done = self.run("-d", json.dumps(request), self.server.address, f"{SERVICE}/{method}")
        return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}

    def check(self, name, holds):
        if holds:
            self.passed += 1
            print(f"ok      {name}\n")
        else:
            self.failed.append(name)
            print(f"FAILED  {name}\n")


def token_of(answer):
    return answer.get("reservation", {}).get("token", "none")


def fence_of(answer):
    return int(answer.get("reservation", {}).get("fence", 0))


def is_fresh(answer):
    return answer.get("outcome") == "OUTCOME_FRESH"


def replays(answer):
    """Byte for byte, headers in their order, duplicates kept."""
    result = answer.get("replay", {}).get("result", {})
    return (answer.get("outcome") == "OUTCOME_REPLAYED"
            and result.get("status_code") == RESULT["status_code"]
            and result.get("headers") == RESULT["headers"]
            and base64.b64decode(result.get("body", "")) == BODY
            and int(result.get("body_size", 0)) == len(BODY))


def discovery(smoke):
    done = smoke.run(smoke.server.address, "list")
    smoke.check("reflection lists the services",
                {SERVICE, HEALTH, *REFLECTIONS} == set(done.stdout.split()))
    done = smoke.run(smoke.server.address, "describe", f"{SERVICE}.Reserve")
    smoke.check("and describes one", "ReserveRequest" in done.stdout)
    for reflection in REFLECTIONS:
        asked = json.dumps({"file_containing_symbol": SERVICE})
        done = smoke.run("-d", asked, smoke.server.address, f"{reflection}/ServerReflectionInfo")
        smoke.check(f"{reflection} does, too", "file_descriptor_proto" in done.stdout)
    for service in ("", SERVICE):
        done = smoke.run("-d", json.dumps({"service": service}), smoke.server.address,
                         f"{HEALTH}/Check")
        smoke.check("the health service says SERVING", '"SERVING"' in done.stdout)
    done = smoke.run("-d", json.dumps({"service": "nobody"}), smoke.server.address,
                     f"{HEALTH}/Check")
    smoke.check("and NOT_FOUND of an unknown service", "NotFound" in done.stderr)
    done = smoke.run(smoke.server.admin_address, "list")
    smoke.check("the admin port has its own", ADMIN in done.stdout.split()
                and SERVICE not in done.stdout.split())
    done = smoke.run(smoke.server.admin_address, f"{ADMIN}/AcceptClock")
    smoke.check("which answers", "server_time" in done.stdout)
    with urllib.request.urlopen(f"http://{smoke.server.http_address}/readyz") as answer:
        smoke.check("/readyz says so", answer.status == 200)


def once(smoke):
    """Fresh, conflict, commit, replayed, mismatch."""
    key = {"namespace": "shop", "key": "order-1"}
    fresh = smoke.call("Reserve", **key, fingerprint="sha256:5f2c", owner="worker-a")
    smoke.check("a new key is FRESH", is_fresh(fresh) and fresh["reservation"]["attempt"] == 1)
    conflict = smoke.call("Reserve", **key, fingerprint="sha256:5f2c", owner="worker-b")
    smoke.check("a held key is a CONFLICT that names the holder",
                conflict.get("outcome") == "OUTCOME_CONFLICT"
                and conflict["holder"]["owner"] == "worker-a" and "token" not in str(conflict))
    stranger = smoke.call("Commit", **key, token="of-nobody", result={"status_code": 500})
    smoke.check("a stranger's commit is ABORTED, SUPERSEDED",
                "Aborted" in stranger.get("error", "") and "SUPERSEDED" in stranger["error"])
    commit = smoke.call("Commit", **key, token=token_of(fresh), result=RESULT)
    smoke.check("the holder commits", "commit_time" in commit)
    replayed = smoke.call("Reserve", **key, fingerprint="sha256:5f2c")
    smoke.check("a committed key is REPLAYED byte for byte", replays(replayed))
    mismatch = smoke.call("Reserve", **key, fingerprint="sha256:0000")
    smoke.check("another fingerprint is a MISMATCH", mismatch.get("outcome") == "OUTCOME_MISMATCH")


def released(smoke):
    key = {"namespace": "shop", "key": "order-2"}
    first = smoke.call("Reserve", **key)
    release = smoke.call("Release", **key, token=token_of(first))
    smoke.check("the holder releases", release.get("released") is True)
    second = smoke.call("Reserve", **key)
    smoke.check("a released key is FRESH, with a higher fence",
                is_fresh(second) and fence_of(second) > fence_of(first) > 0)


def lapsed(smoke):
    key = {"namespace": "shop", "key": "order-3"}
    first = smoke.call("Reserve", **key, owner="worker-a", lease_ttl="0.5s")
    smoke.call("Extend", **key, token=token_of(first), lease_ttl="0.5s",
               checkpoint=base64.b64encode(b"charged, not yet mailed").decode())
    second = smoke.call("Reserve", **key, owner="worker-b", wait_timeout="30s")
    previous = second.get("reservation", {}).get("previous", {})
    smoke.check("a lapsed key is taken over, knowing whom from",
                is_fresh(second) and second["reservation"]["attempt"] == 2
                and previous.get("owner") == "worker-a"
                and int(previous.get("fence", 0)) == fence_of(first) < fence_of(second)
                and base64.b64decode(previous.get("checkpoint", "")) == b"charged, not yet mailed")
    late = smoke.call("Commit", **key, token=token_of(first), result=RESULT)
    smoke.check("the one taken over from is ABORTED", "Aborted" in late.get("error", ""))


def held(smoke):
    key = {"namespace": "bank", "key": "transfer-1"}
    first = smoke.call("Reserve", **key, owner="worker-a", lease_ttl="0.5s")
    second = smoke.call("Reserve", **key, owner="worker-b", wait_timeout="30s")
    smoke.check("a lapsed key under HOLD is UNRESOLVED",
                second.get("outcome") == "OUTCOME_UNRESOLVED"
                and second["holder"]["state"] == "STATE_LAPSED")
    late = smoke.call("Commit", **key, token=token_of(first), result=RESULT)
    smoke.check("its holder's late commit is kept", late.get("late") is True)
    smoke.check("and replayed", replays(smoke.call("Reserve", **key)))


def restarted(smoke):
    for namespace, key, fingerprint in (("shop", "order-1", "sha256:5f2c"),
                                        ("bank", "transfer-1", "")):
        answer = smoke.call("Reserve", namespace=namespace, key=key, fingerprint=fingerprint)
        smoke.check(f"after a restart, {key} is REPLAYED byte for byte", replays(answer))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--onced", required=True)
    parser.add_argument("--grpcurl", required=True)
    arguments = parser.parse_args()
    smoke = Smoke(arguments.grpcurl)
    with tempfile.TemporaryDirectory(prefix="onced-smoke-") as folder:
        config = pathlib.Path(folder, "onced.yaml")
        config.write_text(CONFIG)
        data_dir = str(pathlib.Path(folder, "data"))
        for parts in ((discovery, once, released, lapsed, held), (restarted,)):
            smoke.server = Server(arguments.onced, data_dir, str(config))
            try:
                for part in parts:
                    part(smoke)
            finally:
                code = smoke.server.stop()
            smoke.check("SIGTERM ends it with exit code 0", code == 0)
    for name in smoke.failed:
        print(f"FAILED  {name}")
    print(f"{smoke.passed} checks hold, {len(smoke.failed)} don't")
    return 1 if smoke.failed or smoke.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
