"""The rendered configuration, jobs and tests on the real server: what Kubernetes would do, on loopback."""

import contextlib
import os
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.request

import yaml

from chart import TOOLS, VALUES, config, notes_of, of_kind


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options)


def make_secrets(folder, bin):
    """What the secrets of the files of values would hold, at the paths where they are mounted."""
    for name in ("tls", "client-ca", "tokens", "otlp", "client"):
        (folder / name).mkdir()
    tls = folder / "tls"
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=onced",
        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1,DNS:helm-test.internal", "-keyout", tls / "tls.key", "-out", tls / "tls.crt")
    for copy in ("tls/ca.crt", "tls/server.crt", "client-ca/ca.crt", "client-ca/bundle.pem", "client/tls.crt"):
        (folder / copy).write_bytes((tls / "tls.crt").read_bytes())
    for copy in ("tls/server.key", "client/tls.key"):
        (folder / copy).write_bytes((tls / "tls.key").read_bytes())
    lines = []
    for identity in ("checkout", "helm-test", "backup"):
        made = dict(re.findall(r"^(\w+): +(.*)$", run(bin / "oncectl", "token", "new", "--identity", identity).stdout, re.M))
        (folder / f"token-{identity}").write_text(made["token"] + "\n")
        lines.append(made["line"] + "\n")
    (folder / "tokens" / "tokens").write_text("".join(lines))
    (folder / "otlp" / "headers").write_text("Authorization: none\n")
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


def here(text, folder):
    """The file with its paths below `folder`, its ports any that are free, and its collector nowhere."""
    text = text.replace("/etc/onced/", f"{folder}/").replace("/var/lib/", f"{folder}/var/")
    text = re.sub(r"^(\w*listen: [0-9.]+):[0-9]+$", r"\1:0", text, flags=re.M)
    return re.sub(r"^otlp_endpoint: .*$", "otlp_endpoint: http://127.0.0.1:9", text, flags=re.M)


class Server:
    """onced, started on a rendered configuration."""

    def __init__(self, values, folder, bin):
        (folder / "onced.yaml").write_text(here(config(values), folder))
        (folder / "var").mkdir(exist_ok=True)
        spec = next(of_kind(values, "StatefulSet"))["spec"]["template"]["spec"]
        container = next(c for c in spec["containers"] if c["name"] == "onced")
        arguments = [a.replace("/etc/onced/", f"{folder}/") for a in container["args"]]
        self.log = folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen([bin / "onced", *arguments, "--log-level", "info"] if "--log-level" not in arguments
                                            else [bin / "onced", *[a if a != "warn" else "info" for a in arguments]], stderr=log)
        while '"event":"serving"' not in self.log.read_text():
            if self.process.poll() is not None:
                raise RuntimeError(f"onced didn't start: {self.log.read_text()}")
            time.sleep(0.02)

    def address(self, which):
        port = re.search(rf'"event":"serving".*?"{which}":"[^"]*:(\d+)"', self.log.read_text())
        return port and f"localhost:{port[1]}"

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.address('http_listen')}{path}") as answer:
            return answer.read().decode()

    def stop(self):
        self.process.terminate()
        # A second signal ends the drain.
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(0.3)
        self.process.terminate()
        return self.process.wait()


def as_in_pod(pod, folder, bin, **more):
    """The environment of a pod's container that calls the server, with its mounts found here."""
    container = pod["containers"][0]
    env = {"PATH": f"{bin}:{os.environ['PATH']}"}
    for variable in container.get("env", []):
        value = variable["value"].replace("/etc/oncectl/ca/", f"{folder}/tls/").replace("/etc/oncectl/cert/", f"{folder}/client/")
        for volume in pod.get("volumes", []):
            if volume["name"] == "token":
                value = value.replace("/etc/oncectl/token/token", f"{folder}/token-{volume['secret']['secretName'].removeprefix('onced-token-')}")
        env[variable["name"]] = value
    return env | more


def as_the_notes_say(values, folder, server):
    """What is wrong with the call that NOTES.txt shows, made where its files and its token are."""
    call = re.search(r"grpcurl .*?/Reserve$", notes_of("-f", values), re.S | re.M)
    if not call:
        return
    env = {"PATH": f"{TOOLS}:{os.environ['PATH']}", "TOKEN": (folder / "token-helm-test").read_text().strip()}
    command = call[0].replace("localhost:50051", server.address("listen"))
    done = subprocess.run(["sh", "-c", command], cwd=folder / "tls", env=env, capture_output=True, text=True)
    if done.returncode or "OUTCOME_FRESH" not in done.stdout:
        yield f"{values.stem}: {command}: {done.stdout}{done.stderr}"


def on_server(values, bin, scrapes):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_secrets(folder, bin)
        server = Server(values, folder, bin)
        try:
            for pod in of_kind(values, "Pod", "test"):
                env = as_in_pod(pod["spec"], folder, bin, ONCECTL_SERVER=server.address("listen"))
                done = subprocess.run([*pod["spec"]["containers"][0]["command"], *pod["spec"]["containers"][0]["args"]], env=env, capture_output=True, text=True)
                if done.returncode or "reserved, committed, replayed" not in done.stdout:
                    yield f"{values.stem}: helm test: {done.stdout}{done.stderr}"
            yield from as_the_notes_say(values, folder, server)
            for job in of_kind(values, "CronJob"):
                pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
                container = pod["containers"][0]
                arguments = [re.sub(r"^\S+-admin:50052$", server.address("admin_listen"), a) for a in container["args"]]
                done = subprocess.run([bin / "oncectl", *arguments], env=as_in_pod(pod, folder, bin), capture_output=True, text=True)
                if done.returncode or "backup_id" not in done.stdout:
                    yield f"{values.stem}: backup job: {done.stdout}{done.stderr}"
            spec = next(of_kind(values, "StatefulSet"))["spec"]["template"]["spec"]
            onced = next(c for c in spec["containers"] if c["name"] == "onced")
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                server.get(onced[probe]["httpGet"]["path"])
            scrapes.append(server.get("/metrics"))
        finally:
            code = server.stop()
        if code:
            yield f"{values.stem}: exit code {code} after SIGTERM: {server.log.read_text()}"


def on_the_server(bin, scrapes):
    """onced takes each rendered configuration; the test pod, the backup job, the probes and the notes' call work on it"""
    for values in VALUES:
        try:
            yield from on_server(values, bin, scrapes)
        except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
            yield f"{values.stem}: {error} {getattr(error, 'stderr', '')}"
