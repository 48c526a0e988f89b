"""What Kubernetes would say to the manifests: schemas, Pod Security, and that they refer to each other."""

import pathlib
import re
import subprocess
import tempfile

import kubernetes_validate
import yaml

from chart import CHART, TESTS, TOOLS, VALUES, config, every_manifest, manifests, of_kind

# The oldest that Chart.yaml allows, and the newest whose schemas are at hand.
OLDEST = "1.27"
THEIRS = ("cert-manager.io/", "monitoring.coreos.com/")


def schemas():
    """every manifest fits Kubernetes' schemas, of the oldest and the newest version"""
    newest = kubernetes_validate.latest_version()
    if f">={OLDEST}.0-0" != yaml.safe_load((CHART / "Chart.yaml").read_text())["kubeVersion"]:
        yield f"Chart.yaml allows another version than {OLDEST}"
    for name, manifest in every_manifest():
        if manifest["apiVersion"].startswith(THEIRS):
            continue
        for version in (OLDEST, newest):
            try:
                kubernetes_validate.validate(manifest, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                yield f"{name}, Kubernetes {version}: {error.message}"
            except kubernetes_validate.SchemaNotFoundError as error:
                yield f"{name}, Kubernetes {version}: {error.message}"


def their_kinds():
    """manifests of cert-manager and the Prometheus operator fit those projects' own types"""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, manifest in every_manifest():
            if manifest["apiVersion"].startswith(THEIRS):
                paths.append(pathlib.Path(folder) / (re.sub(r"[^A-Za-z0-9]+", "-", name) + ".yaml"))
                paths[-1].write_text(yaml.safe_dump(manifest))
        if len(paths) < 4:
            yield "too few of them"
        done = subprocess.run([TOOLS / "crds", *paths], capture_output=True, text=True)
        if done.returncode:
            yield done.stdout + done.stderr


def pods(values):
    """(name, metadata, spec) of every pod that a manifest is or makes."""
    for manifest in manifests(values):
        name, kind, spec = manifest["metadata"]["name"], manifest["kind"], manifest.get("spec")
        if kind == "Pod":
            yield f"{values.stem}: {name}", manifest["metadata"], spec
        elif kind in ("StatefulSet", "Job"):
            yield f"{values.stem}: {name}", spec["template"]["metadata"], spec["template"]["spec"]
        elif kind == "CronJob":
            inner = spec["jobTemplate"]["spec"]["template"]
            yield f"{values.stem}: {name}", inner["metadata"], inner["spec"]


RESTRICTED_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}


def not_restricted(spec):
    """What the Pod Security Standard `restricted` has against it."""
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field):
            yield field
    for volume in spec.get("volumes", []):
        yield from (f"volume {kind}" for kind in set(volume) - {"name"} - RESTRICTED_VOLUMES)
    whole = spec.get("securityContext", {})
    for container in spec["containers"] + spec.get("initContainers", []):
        own, name = container.get("securityContext", {}), container["name"]
        if own.get("allowPrivilegeEscalation") is not False:
            yield f"{name}: allowPrivilegeEscalation"
        if own.get("privileged"):
            yield f"{name}: privileged"
        capabilities = own.get("capabilities", {})
        if "ALL" not in capabilities.get("drop", []) or set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
            yield f"{name}: capabilities"
        if own.get("runAsNonRoot", whole.get("runAsNonRoot")) is not True:
            yield f"{name}: runAsNonRoot"
        if own.get("runAsUser", whole.get("runAsUser")) == 0:
            yield f"{name}: runAsUser"
        if own.get("seccompProfile", whole.get("seccompProfile", {})).get("type") not in ("RuntimeDefault", "Localhost"):
            yield f"{name}: seccompProfile"
        if any("hostPort" in port for port in container.get("ports", [])):
            yield f"{name}: hostPort"


def pod_security():
    """every pod fulfils `restricted`, writes to no root, and has no token"""
    for values in VALUES:
        for name, _, spec in pods(values):
            yield from (f"{name}: {what}" for what in not_restricted(spec))
            if spec.get("automountServiceAccountToken") is not False:
                yield f"{name}: automountServiceAccountToken"
            if spec.get("enableServiceLinks") is not False:
                yield f"{name}: enableServiceLinks"
            ours = [c for c in spec["containers"] if c["name"] in ("onced", "oncectl", "restore")]
            if len(ours) != 1 or not ours[0]["securityContext"].get("readOnlyRootFilesystem"):
                yield f"{name}: readOnlyRootFilesystem"


PLANTED = {
    "allowPrivilegeEscalation": lambda s: s["containers"][0]["securityContext"].pop("allowPrivilegeEscalation"),
    "capabilities": lambda s: s["containers"][0]["securityContext"].update(capabilities={"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
    "runAsNonRoot": lambda s: s["securityContext"].pop("runAsNonRoot"),
    "runAsUser": lambda s: s["securityContext"].update(runAsUser=0),
    "seccompProfile": lambda s: s["securityContext"].pop("seccompProfile"),
    "hostNetwork": lambda s: s.update(hostNetwork=True),
    "hostPort": lambda s: s["containers"][0].update(ports=[{"containerPort": 1, "hostPort": 1}]),
    "volume hostPath": lambda s: s["volumes"].append({"name": "x", "hostPath": {"path": "/"}}),
    "privileged": lambda s: s["containers"][0]["securityContext"].update(privileged=True),
}


def pod_security_planted():
    """the check of `restricted` finds what is planted"""
    for what, spoil in PLANTED.items():
        spec = yaml.safe_load(yaml.safe_dump(next(pods(VALUES[0]))[2]))
        spoil(spec)
        if not any(what in found for found in not_restricted(spec)):
            yield f"{what} wasn't found"


def references():
    """names, labels, ports and volumes lead to something"""
    for values in VALUES:
        server = next(of_kind(values, "StatefulSet"))
        labels = server["spec"]["template"]["metadata"]["labels"]
        spec = server["spec"]["template"]["spec"]
        ports = {p["name"] for c in spec["containers"] for p in c.get("ports", [])}

        def selects(name, selector):
            if not selector.items() <= labels.items():
                yield f"{values.stem}: {name} doesn't select the pod"

        services = {s["metadata"]["name"]: s for s in of_kind(values, "Service")}
        yield from selects("StatefulSet", server["spec"]["selector"]["matchLabels"])
        for service in services.values():
            yield from selects(service["metadata"]["name"], service["spec"]["selector"])
            for port in service["spec"]["ports"]:
                if port["targetPort"] not in ports:
                    yield f"{values.stem}: {service['metadata']['name']}: no port {port['targetPort']}"
        for kind, path in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
            for manifest in of_kind(values, kind):
                yield from selects(kind, manifest["spec"][path]["matchLabels"])
        for policy in of_kind(values, "NetworkPolicy"):
            for rule in policy["spec"]["ingress"]:
                yield from (f"{values.stem}: NetworkPolicy: no port {p['port']}" for p in rule["ports"] if p["port"] not in ports)
        if services.get(server["spec"]["serviceName"], {}).get("spec", {}).get("clusterIP") != "None":
            yield f"{values.stem}: serviceName isn't that of a headless service"
        monitored = [m["spec"]["selector"]["matchLabels"] for m in of_kind(values, "ServiceMonitor")]
        for selector in monitored:
            found = [s for s in services.values() if selector.items() <= s["metadata"]["labels"].items()]
            if len(found) != 1 or "http" not in {p["name"] for p in found[0]["spec"]["ports"]}:
                yield f"{values.stem}: ServiceMonitor selects {len(found)} services"
        claims = {t["metadata"]["name"] for t in server["spec"].get("volumeClaimTemplates", [])}
        for name, metadata, pod in pods(values):
            there = {v["name"] for v in pod.get("volumes", [])} | (claims if pod is spec else set())
            for container in pod["containers"]:
                mounted = [m["name"] for m in container.get("volumeMounts", [])]
                yield from (f"{name}: no volume {m}" for m in mounted if m not in there)
            if pod is not spec and labels.get("app.kubernetes.io/component") == metadata["labels"]["app.kubernetes.io/component"]:
                yield f"{name}: services would send calls to it"
        for job in of_kind(values, "Job"):
            terms = job["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            yield from selects("the restore's antiaffinity", terms[0]["labelSelector"]["matchLabels"])
            if terms[0]["topologyKey"] != "kubernetes.io/hostname":
                yield f"{values.stem}: the restore may run beside a server that drains"
        names = {(m["kind"], m["metadata"]["name"]) for m in manifests(values)}
        if len(names) != len(manifests(values)):
            yield f"{values.stem}: two manifests of one kind have one name"


UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text):
    return sum(float(n) * UNITS[u] for n, u in re.findall(r"([0-9.]+)(ms|[smhd])", text))


def grace():
    """the pod may live longer than the server's drain takes; the budget of memory lies below the limit"""
    for values in VALUES:
        spec = next(of_kind(values, "StatefulSet"))["spec"]["template"]["spec"]
        settings = yaml.safe_load(config(values))
        drain = seconds(settings.get("drain_window", "2s")) + seconds(settings.get("shutdown_grace", "10s"))
        if spec["terminationGracePeriodSeconds"] <= drain:
            yield f"{values.stem}: {spec['terminationGracePeriodSeconds']} s for a drain of {drain} s"
        container = next(c for c in spec["containers"] if c["name"] == "onced")
        limit = container["resources"]["limits"]["memory"]
        mebibytes = {"Gi": 1024, "Mi": 1}[limit[-2:]] * int(limit[:-2])
        budget = int(re.fullmatch(r"(\d+)MiB", settings["memory_budget"])[1])
        if budget + 88 > mebibytes:
            yield f"{values.stem}: memory_budget {budget} MiB and 88 are above {mebibytes}"
