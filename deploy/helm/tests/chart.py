"""The chart, rendered by helm. Everything that the other checks look at comes from here."""

import concurrent.futures
import functools
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import yaml

TESTS = pathlib.Path(__file__).parent
CHART = TESTS.parent / "onced"
ROOT = TESTS.parents[2]
TOOLS = ROOT / "build" / "tools"
VALUES = sorted((TESTS / "values").glob("*.yaml"))
DASHBOARD = CHART / "dashboards" / "onced.json"


def in_parallel(work, items):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(work, items))


def helm(*arguments, text=None):
    command = [TOOLS / "helm", *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=text)


def template(*arguments, text=None):
    return helm("template", "onced", CHART, "--namespace", "payments", *arguments, text=text)


@functools.cache
def rendered(values):
    """Of a file of values: the text of all manifests."""
    done = template("-f", values)
    if done.returncode:
        raise RuntimeError(f"{values.name}: {done.stderr}")
    return done.stdout


@functools.cache
def manifests(values):
    return [m for m in yaml.safe_load_all(rendered(values)) if m]


def every_manifest():
    for values in VALUES:
        for manifest in manifests(values):
            name = f"{values.stem}: {manifest['kind']} {manifest['metadata']['name']}"
            yield name, manifest


def of_kind(values, kind, component=None):
    for manifest in manifests(values):
        labels = manifest["metadata"].get("labels", {})
        if manifest["kind"] != kind:
            continue
        if component in (None, labels.get("app.kubernetes.io/component")):
            yield manifest


def config(values):
    """onced's configuration, as text."""
    return next(of_kind(values, "ConfigMap", "server"))["data"]["onced.yaml"]


# ---- Checks: each yields what is wrong.


def lint():
    """helm lint --strict"""
    for values, done in zip(VALUES, in_parallel(lambda v: helm("lint", "--strict", CHART, "-f", v), VALUES)):
        if done.returncode:
            yield f"{values.name}: {done.stdout}{done.stderr}"


def golden_text(values):
    """As rendered, but for the dashboard, which is a file of its own."""
    text = rendered(values)
    start = text.find("# Source: onced/templates/dashboard.yaml")
    if start < 0:
        return text
    body = text.index("  onced.json: |\n", start) + len("  onced.json: |\n")
    end = text.index("\n---\n", body)
    shown = "".join(f"    {line}\n" for line in DASHBOARD.read_text().splitlines())
    assert text[body:end].rstrip() == shown.rstrip(), "the dashboard isn't dashboards/onced.json"
    return text[:body] + "    (dashboards/onced.json)" + text[end:]


def golden(write=False):
    """manifests as in tests/golden"""
    wanted = {TESTS / "golden" / v.name: golden_text(v) for v in VALUES}
    if write:
        for path, text in wanted.items():
            path.write_text(text)
    for path in (TESTS / "golden").glob("*.yaml"):
        if path not in wanted:
            yield f"{path.name}: no values of that name"
    for path, text in wanted.items():
        if not path.exists():
            yield f"golden/{path.name} is missing: make it by deploy/helm/check.sh --write"
        elif path.read_text() != text:
            diff = subprocess.run(["diff", "-u", path, "-"], input=text, capture_output=True, text=True)
            yield f"{diff.stdout}(if that is meant: deploy/helm/check.sh --write)"


def refused():
    """values that can't work are refused, and told which"""
    rows = yaml.safe_load((TESTS / "refused.yaml").read_text())

    def run(row):
        base = ["-f", TESTS / "values" / f"{row['base']}.yaml"] if "base" in row else []
        return template(*base, "-f", "-", text=yaml.safe_dump(row["values"]))

    for row, done in zip(rows, in_parallel(run, rows)):
        if not done.returncode:
            yield f"{row['name']}: accepted"
        for words in row["says"]:
            if words not in done.stderr:
                yield f"{row['name']}: doesn't say {words!r}:\n{done.stderr}"


def restarts():
    """a changed configuration restarts the pod, another chart version doesn't"""
    base = VALUES[0]

    def pod(*arguments):
        manifest = next(m for m in yaml.safe_load_all(template("-f", base, *arguments).stdout) if m and m["kind"] == "StatefulSet")
        return manifest["spec"]["template"]

    same, changed = pod(), pod("--set", "config.queue_max=7")
    if same["metadata"]["annotations"]["checksum/config"] == changed["metadata"]["annotations"]["checksum/config"]:
        yield "config.queue_max has changed, and checksum/config has not"
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
    if re.search(rf"onced-{re.escape(version)}\b", yaml.safe_dump(same)):
        yield "the pod's template names the chart's version"


NOTES_AS_A_MANIFEST = 'notes: |\n{{ tpl (.Files.Get "files/NOTES.txt") . | indent 2 }}\n'


@functools.cache
def chart_with_notes():
    """A copy of the chart that renders its notes: helm shows them after an installation only."""
    folder = tempfile.TemporaryDirectory()
    copy = shutil.copytree(CHART, pathlib.Path(folder.name) / "onced")
    (copy / "templates" / "NOTES.txt").rename(copy / "files" / "NOTES.txt")
    (copy / "templates" / "notes.yaml").write_text(NOTES_AS_A_MANIFEST)
    return folder, copy


def notes_of(*arguments, text=None):
    done = helm("template", "onced", chart_with_notes()[1], "--namespace", "payments", "-s", "templates/notes.yaml", *arguments, text=text)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return yaml.safe_load(done.stdout)["notes"]


def notes():
    """NOTES.txt tells how to call it, and what isn't as it should be"""
    chart_with_notes()
    rows = yaml.safe_load((TESTS / "notes.yaml").read_text())

    for row in rows:
        yield from (f"{row['name']}: what is {key!r}?" for key in row.keys() - {"name", "base", "values", "says", "hides"})

    def run(row):
        return notes_of("-f", TESTS / "values" / f"{row['base']}.yaml", "-f", "-", text=yaml.safe_dump(row.get("values", {})))

    for row, said in zip(rows, in_parallel(run, rows)):
        yield from (f"{row['name']}: the notes don't say {words!r}:\n{said}" for words in row["says"] if words not in said)
        yield from (f"{row['name']}: the notes say {words!r}:\n{said}" for words in row.get("hides", []) if words in said)
    for values in VALUES:
        if values.stem not in {row["base"] for row in rows}:
            yield f"{values.name}: no row in tests/notes.yaml"


def values_agree():
    """values.yaml, its schema, its README and docs/configuration.md agree"""
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    yield from same_keys(schema, values, "")
    yield from strict(schema, "values.schema.json")
    page = (ROOT / "docs" / "configuration.md").read_text()
    settings, policies = (set(re.findall(r"^\| `([a-z_.]+)` \|", part, re.M)) for part in page.split("## Policies"))
    policies = {p for p in policies if p not in settings}
    ours = set(schema["properties"]["config"]["properties"])
    file_only = {"default_policy", "namespaces", "unlisted_namespaces", "access"}
    for key in (settings - {"config"} | file_only) ^ ours:
        yield f"config.{key}: in one of values.schema.json and docs/configuration.md only"
    policy = schema["definitions"]["policy"]["properties"]
    told = {f"{k}.{i}" for k, v in policy.items() for i in v.get("properties", {})}
    told |= {k for k, v in policy.items() if "properties" not in v}
    for key in policies ^ told:
        yield f"policy {key}: in one of values.schema.json and docs/configuration.md only"


def same_keys(schema, values, path):
    known = schema.get("properties")
    if known is None or path == "config." or not isinstance(values, dict):
        return
    for key in set(known) ^ (set(values) | ({"global"} if not path else set())):
        if key not in ("claims", "rollingUpdate"):  # Kubernetes', and seldom wanted.
            yield f"{path}{key}: in one of values.yaml and values.schema.json only"
    for key in set(known) & set(values):
        yield from same_keys(known[key], values[key], f"{path}{key}.")


def strict(schema, path):
    if "properties" in schema and schema.get("additionalProperties", True) is not False:
        yield f"{path}: additional properties are allowed"
    for key in ("properties", "definitions"):
        for name, inner in schema.get(key, {}).items():
            yield from strict(inner, f"{path}: {name}")
