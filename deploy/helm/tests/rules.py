"""The rules and the dashboard: what promtool says of them, and that what they name is there."""

import json
import pathlib
import re
import subprocess
import tempfile

import yaml

from chart import DASHBOARD, ROOT, TESTS, VALUES, in_parallel, of_kind

JOB, NAMESPACE = "onced", "payments"


def promtool(*arguments, folder=None):
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, cwd=folder)


def rules():
    """(records, alerts): as rendered, of all files of values, each by its name once."""
    records, alerts = {}, {}
    for values in sorted(VALUES, key=lambda v: v.stem != "production"):
        for manifest in of_kind(values, "PrometheusRule"):
            for group in manifest["spec"]["groups"]:
                for rule in group["rules"]:
                    name = rule.get("record") or rule.get("alert")
                    (records if "record" in rule else alerts).setdefault(name, rule)
    return records, alerts


def rule_file(folder):
    records, alerts = rules()
    groups = [{"name": "records", "rules": list(records.values())}, {"name": "alerts", "rules": list(alerts.values())}]
    path = pathlib.Path(folder) / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": groups}))
    return path


def check_rules():
    """promtool check rules"""
    with tempfile.TemporaryDirectory() as folder:
        done = promtool("check", "rules", rule_file(folder))
        if done.returncode:
            yield done.stdout + done.stderr


def named(series):
    """With the release's labels."""
    name, _, labels = series.rstrip("}").partition("{")
    return f'{name}{{job="{JOB}",namespace="{NAMESPACE}"{"," if labels else ""}{labels}}}'


def unit_test(alert, case, rule, fires):
    expected = []
    if fires:
        labels = {"job": JOB, "namespace": NAMESPACE, **case.get("labels", {}), **rule["labels"]}
        annotations = {**rule["annotations"], "summary": case["summary"]}
        expected = [{"exp_labels": labels, "exp_annotations": annotations}]
    return {
        "interval": "1m",
        "input_series": [{"series": named(s), "values": str(v)} for s, v in case["series"].items()],
        "alert_rule_test": [{"eval_time": case["at"], "alertname": alert, "exp_alerts": expected}],
    }


def record_test(record, case):
    labels = f'{record}{{job="{JOB}",namespace="{NAMESPACE}"}}'
    expected = [] if case["value"] is None else [{"labels": labels, "value": case["value"]}]
    return {
        "interval": "1m",
        "input_series": [{"series": named(s), "values": str(v)} for s, v in case["series"].items()],
        "promql_expr_test": [{"expr": record, "eval_time": case["at"], "exp_samples": expected}],
    }


def test_rules():
    """promtool test rules: each alert as it fires and as it doesn't, each record with its value and without one"""
    records, alerts = rules()
    rows = yaml.safe_load((TESTS / "alerts.yaml").read_text())
    recorded, rows = [r for r in rows if "record" in r], [r for r in rows if "alert" in r]
    for record in set(records) ^ {row["record"] for row in recorded}:
        yield f"{record}: in one of the rules and tests/alerts.yaml only"
    for row in recorded:
        values = [case["value"] for case in row["cases"]]
        if None not in values or not any(values):
            yield f"{row['record']}: needs a case with a value, and one without"
    for alert in set(alerts) ^ {row["alert"] for row in rows}:
        yield f"{alert}: in one of the rules and tests/alerts.yaml only"
    for alert in alerts:
        if not any(row["silent"] for row in rows if row["alert"] == alert):
            yield f"{alert}: no test of when it doesn't fire"
    tests = [record_test(row["record"], case) for row in recorded for case in row["cases"]]
    for row in rows:
        rule = alerts.get(row["alert"])
        if rule is None:
            continue
        tests.append(unit_test(row["alert"], row["fires"], rule, fires=True))
        tests += [unit_test(row["alert"], case, rule, fires=False) for case in row["silent"]]
    def run(part):
        with tempfile.TemporaryDirectory() as folder:
            rule_file(folder)
            test = pathlib.Path(folder) / "test.yaml"
            test.write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": part}))
            done = promtool("test", "rules", test, folder=folder)
            return done.stdout + done.stderr if done.returncode else ""

    yield from filter(None, in_parallel(run, [tests[i::4] for i in range(4)]))


def anchors(page):
    """GitHub's of the headings."""
    headings = re.findall(r"^#+ (.+)$", page, re.M)
    return {re.sub(r"[^a-z0-9 _-]", "", h.lower()).replace(" ", "-") for h in headings}


def links():
    """Each alert's runbook_url is one that can be opened; without a base there is none."""
    bases = set()
    for values in VALUES:
        base = (yaml.safe_load(values.read_text()).get("prometheusRule") or {}).get("runbookBaseUrl")
        for manifest in of_kind(values, "PrometheusRule"):
            bases.add(base)
            for rule in (r for group in manifest["spec"]["groups"] for r in group["rules"] if "alert" in r):
                url, wanted = rule["annotations"].get("runbook_url"), base and f"{base}#{rule['alert'].lower()}"
                if url != wanted or url and not re.match(r"https?://[^/]+/", url):
                    yield f"{values.stem}: {rule['alert']}: runbook_url is {url}, not {wanted}"
    if len(bases) < 2:
        yield "there must be rules with runbookBaseUrl and rules without"


def runbooks():
    """each alert has a heading in docs/operations.md, each such heading an alert, and runbook_url leads there"""
    there = anchors((ROOT / "docs" / "operations.md").read_text())
    _, alerts = rules()
    told = {name.lower() for name in alerts}
    for anchor in told - there:
        yield f"docs/operations.md has no heading for #{anchor}"
    yield from links()
    for anchor in {a for a in there if a.startswith("onced") and a != "onced"} - told:
        yield f"docs/operations.md: no alert for #{anchor}"
    for name, rule in alerts.items():
        if rule["labels"]["severity"] not in ("critical", "warning"):
            yield f"{name}: severity"


def panels():
    return [p for p in json.loads(DASHBOARD.read_text())["panels"] if p["type"] != "row"]


def expressions():
    """(where, expression) of the dashboard, with Grafana's variables replaced."""
    board = json.loads(DASHBOARD.read_text())
    found = [(p["title"], t["expr"]) for p in panels() for t in p["targets"]]
    found += [(a["name"], a["expr"]) for a in board["annotations"]["list"]]
    for variable in board["templating"]["list"]:
        query = re.match(r"label_values\((.+), (\w+)\)", variable.get("definition", ""))
        if query:
            found.append((variable["name"], query[1]))
    return [(where, e.replace("$__rate_interval", "5m").replace("$namespace", ".*").replace("$job", ".*")) for where, e in found]


def dashboard():
    """promtool parses each expression of the dashboard; panels have units, names and places of their own"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rules.yaml"
        all_rules = [{"record": f"panel:{i}", "expr": e} for i, (_, e) in enumerate(expressions())]
        path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": all_rules}]}))
        done = promtool("check", "rules", path)
        if done.returncode:
            yield done.stdout + done.stderr
    board = json.loads(DASHBOARD.read_text())
    ids = [p["id"] for p in board["panels"]]
    if len(ids) != len(set(ids)):
        yield "two panels have one id"
    taken = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                if x >= 24 or (x, y) in taken:
                    yield f"{panel['title']}: lies over another panel, or beside the page"
                    break
                taken.add((x, y))
    for panel in panels():
        if "unit" not in panel["fieldConfig"]["defaults"] or not panel["targets"]:
            yield f"{panel['title']}: no unit or no expression"
        for target in panel["targets"]:
            if "$namespace" not in target["expr"] or "$job" not in target["expr"]:
                yield f"{panel['title']}: isn't of the chosen release"


def metrics_in(expression):
    return set(re.findall(r"\b(?:idempotency|process|grpc_server)_[a-z0-9_]+(?::p99)?", re.sub(r'"[^"]*"', "", expression)))


def base(metric):
    return re.sub(r"_(bucket|sum|count)$", "", metric)


def metrics(scrape):
    """every metric in the rules and on the dashboard is in docs/metrics.md and in a live scrape, with those labels"""
    records, alerts = rules()
    documented = set(re.findall(r"^\| `([a-z0-9_]+)` \|", (ROOT / "docs" / "metrics.md").read_text(), re.M))
    live = set(re.findall(r"^([a-z_][a-z0-9_]*)[{ ]", scrape, re.M))
    used = {f"rule {n}": r["expr"] for n, r in (records | alerts).items()}
    used |= {f"panel {where} {i}": e for i, (where, e) in enumerate(expressions())}
    count = 0
    for where, expression in used.items():
        for metric in metrics_in(expression) - set(records):
            count += 1
            if metric not in live:
                yield f"{where}: {metric} isn't in a live scrape"
            if base(metric) not in documented:
                yield f"{where}: {metric} isn't in docs/metrics.md"
        for label, value in re.findall(r'(\w+)=~?"([A-Za-z_|]+)"', expression):
            for one in value.split("|"):
                if label not in ("job", "namespace") and f'{label}="{one}"' not in scrape:
                    yield f"{where}: {label}={one} isn't in a live scrape"
    if count < 100:
        yield f"only {count} metrics were found in rules and panels"
    charted = {base(m) for e in used.values() for m in metrics_in(e)}
    unused = documented - charted - {"process_virtual_memory_bytes", "process_threads"}
    for metric in unused & {m for m in documented if m.endswith("_failures_total") or m.endswith("_errors_total")}:
        yield f"{metric}: failures that nobody looks at"
