"""The overlay with CloudNativePG fits the types of its operators, and says what Keeps' pages and code say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

import keeps

ROOT = Path(__file__).parents[2]
BASE, OVERLAY = ROOT / "deploy" / "kubernetes", ROOT / "deploy" / "cloudnativepg"
Manifest = dict[str, Any]
needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


def read(name: str) -> list[Manifest]:
    return list(yaml.safe_load_all((OVERLAY / f"{name}.yaml").read_text(encoding="utf-8")))


def rendered(folder: Path) -> list[Manifest]:
    command = ["kubectl", "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture(scope="module")
def overlay() -> list[Manifest]:
    return rendered(OVERLAY)


def problems(manifests: list[Manifest]) -> list[str]:
    """Return what the types and schemas of Kubernetes, CloudNativePG and KEDA find wrong."""
    command = ["node", "check.mjs"]
    done = subprocess.run(
        command,
        cwd=Path(__file__).parent,
        input=json.dumps(manifests),
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.manifests
@pytest.mark.parametrize("folder", [BASE, OVERLAY], ids=lambda folder: folder.name)
def test_manifests_fit_the_types_of_their_operators(folder: Path) -> None:
    assert problems(rendered(folder)) == []


@pytest.mark.manifests
def test_wrong_fields_are_found(overlay: list[Manifest]) -> None:
    first = {kind: next(each for each in overlay if each["kind"] == kind) for kind in ("Cluster", "Pooler", "Job")}
    first["Cluster"]["spec"]["instances"] = 0
    first["Pooler"]["spec"]["pgbouncer"]["poolMode"] = "statement"
    first["Job"]["spec"]["template"]["spec"]["containers"][0]["arguments"] = ["migrate"]
    found = problems(list(first.values()))
    assert {each.split(":")[0] for each in found} == {"Cluster", "Pooler", "Job"}


def test_every_file_is_a_resource() -> None:
    kustomization = yaml.safe_load((OVERLAY / "kustomization.yaml").read_text(encoding="utf-8"))
    files = {path.name for path in OVERLAY.iterdir()} - {"kustomization.yaml"}
    assert set(kustomization["resources"]) == {"../kubernetes", *files}


def test_cells_differ_in_their_names_and_the_pooler_only() -> None:
    main, second = read("main"), read("second")
    assert main[-1]["kind"] == "Pooler"
    assert json.loads(json.dumps(main[:-1]).replace("keeps-main", "keeps-second")) == second


def test_clusters_survive_the_loss_of_a_node() -> None:
    for cluster, backup, *_ in (read("main"), read("second")):
        spec = cluster["spec"]
        assert (spec["instances"], spec["enablePDB"], spec["affinity"]["podAntiAffinityType"]) == (3, True, "required")
        assert spec["postgresql"]["synchronous"]["dataDurability"] == "required"
        (archiver,) = [plugin for plugin in spec["plugins"] if plugin["isWALArchiver"]]
        assert archiver["parameters"]["barmanObjectName"] == read("backups")[0]["metadata"]["name"]
        assert backup["spec"]["cluster"]["name"] == cluster["metadata"]["name"]
        assert backup["spec"]["pluginConfiguration"]["name"] == archiver["name"]


def test_pooler_has_the_settings_of_its_page() -> None:
    (block,) = re.findall(r"```ini\n(.*?)```", (ROOT / "docs" / "pgbouncer.md").read_text(encoding="utf-8"), re.DOTALL)
    page = ConfigParser()
    page.read_string(block)
    bouncer = read("main")[-1]["spec"]["pgbouncer"]
    assert bouncer["poolMode"] == page["pgbouncer"]["pool_mode"]
    assert bouncer["parameters"] == {name: page["pgbouncer"][name] for name in bouncer["parameters"]}


def test_pods_are_scaled_by_a_metric_of_keeps() -> None:
    (scaled,) = read("scaling")
    (trigger,) = scaled["spec"]["triggers"]
    (name,) = re.findall(r"keeps_\w+", trigger["metadata"]["query"])
    metrics = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    assert f"| `{name.removesuffix('_count')}` | histogram |" in metrics
    assert scaled["spec"]["minReplicaCount"] >= 2


def test_job_of_the_second_cell_is_named_for_the_release() -> None:
    (job,) = read("second-job")
    assert job["metadata"]["name"] == f"keeps-second-{keeps.__version__.replace('.', '-')}"
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == ["cells", "add", "second"]


@needs_kubectl
def test_pods_see_secrets_as_files_without_rights(overlay: list[Manifest]) -> None:
    pods = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in overlay
        if each["kind"] in ("Deployment", "Job")
    }
    assert len(pods) == 4
    for pod in pods.values():
        (secret,) = [volume["secret"] for volume in pod["volumes"] if "secret" in volume]
        assert (pod["enableServiceLinks"], pod["securityContext"]["runAsNonRoot"]) == (False, True)
        for container in (*pod["containers"], *pod.get("initContainers", [])):
            variables = {each["name"]: each["value"] for each in container["env"]}
            assert (
                variables.items()
                <= {f"{item['key']}_FILE": f"/run/keeps/{item['path']}" for item in secret["items"]}.items()
            )
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
    (worker,) = pods["keeps-worker"]["containers"]
    assert "KEEPS_WORKER_DATABASE_URL_FILE" in {each["name"] for each in worker["env"]}


@needs_kubectl
def test_every_workload_has_a_budget_and_the_scaler_decides_replicas(overlay: list[Manifest]) -> None:
    budgets = [each["spec"] for each in overlay if each["kind"] == "PodDisruptionBudget"]
    assert {json.dumps(each["selector"]["matchLabels"]) for each in budgets} == {
        '{"app.kubernetes.io/name": "keeps"}',
        '{"app.kubernetes.io/name": "keeps-worker"}',
        '{"cnpg.io/poolerName": "keeps-main-pooler"}',
    }
    assert all(each["maxUnavailable"] == 1 for each in budgets)
    replicas = {
        each["metadata"]["name"]: each["spec"].get("replicas") for each in overlay if each["kind"] == "Deployment"
    }
    assert replicas == {"keeps": None, "keeps-worker": 2}


@needs_kubectl
def test_databases_and_poolers_are_reached_by_names_only(overlay: list[Manifest]) -> None:
    policies = {each["metadata"]["name"]: each["spec"] for each in overlay if each["kind"] == "NetworkPolicy"}
    for name in ("keeps-databases", "keeps-poolers"):
        assert policies[name]["policyTypes"] == ["Ingress", "Egress"]
        assert all(rule["from"] and rule["ports"] for rule in policies[name]["ingress"])
    rules = [rule for rule in policies["keeps"]["egress"] if {"protocol": "TCP", "port": 5432} in rule["ports"]]
    assert [len(rule["to"]) for rule in rules] == [2]


@needs_kubectl
def test_overlay_is_in_one_namespace_and_takes_the_image_of_the_base(overlay: list[Manifest]) -> None:
    assert {each["metadata"].get("namespace") for each in overlay if each["kind"] != "Namespace"} == {"keeps"}
    images = {
        container["image"]
        for each in overlay
        if each["kind"] in ("Deployment", "Job")
        for container in each["spec"]["template"]["spec"]["containers"]
    }
    assert images == {f"YOUR-REGISTRY/keeps:{keeps.__version__}"}
