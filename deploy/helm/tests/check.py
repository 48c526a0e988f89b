"""All checks of the chart: deploy/helm/check.sh calls it."""

import pathlib
import subprocess
import sys
import time

import chart
import live
import manifests
import restoring
import rules


def values_table():
    """the README's table of values is that of values.yaml"""
    done = subprocess.run([sys.executable, chart.TESTS.parent / "values_table.py", chart.CHART], capture_output=True, text=True)
    if done.returncode:
        yield done.stdout + done.stderr


def main():
    bin, write = pathlib.Path(sys.argv[1]).resolve(), "--write" in sys.argv
    scrapes = []
    checks = [chart.values_agree, values_table, chart.lint, chart.golden, chart.refused, chart.restarts, chart.notes]
    checks += [manifests.schemas, manifests.their_kinds, manifests.pod_security, manifests.pod_security_planted, manifests.references, manifests.grace]
    checks += [rules.check_rules, rules.test_rules, rules.runbooks, rules.dashboard, live.on_the_server, rules.metrics]
    checks += [restoring.refused, restoring.done, restoring.cut_off]
    failed = 0
    for check in checks:
        started = time.monotonic()
        arguments = {chart.golden: [write], live.on_the_server: [bin, scrapes], rules.metrics: ["\n".join(scrapes)]}
        arguments |= dict.fromkeys((restoring.refused, restoring.done, restoring.cut_off), [bin])
        try:
            wrong = list(check(*arguments.get(check, [])))
        except Exception as error:  # Of one check: the others go on.
            wrong = [f"{type(error).__name__}: {error}"]
        failed += bool(wrong)
        print(f"{'FAILED' if wrong else 'ok':6} {time.monotonic() - started:5.1f} s  {check.__doc__}", flush=True)
        for what in wrong:
            print(f"       {what}", flush=True)
    print(f"{len(checks) - failed} passed, {failed} failed")
    sys.exit(bool(failed))


main()
