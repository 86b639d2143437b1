"""What deploys, builds and publishes Keeps fits the schemas of those who read it, and names what is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import keeps
from keeps.base.settings import ABOUT
from keeps.doors.server.public_routes import PUBLIC_PATHS

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
SCHEMAS = {
    "vendor.github-workflows": [".github/workflows/ci.yml", ".github/workflows/release.yml"],
    "vendor.dependabot": [".github/dependabot.yml"],
    "vendor.github-issue-forms": [".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/wish.yml"],
    "vendor.github-issue-config": [".github/ISSUE_TEMPLATE/config.yml"],
    "vendor.compose-spec": ["deploy/compose.yaml"],
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_fit_their_schemas(schema: str) -> None:
    command = [str(Path(sys.executable).with_name("check-jsonschema")), "--builtin-schema", schema, *SCHEMAS[schema]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_settings_that_are_named_are_settings() -> None:
    known = {f"KEEPS_{name.upper()}" for name in ABOUT}
    files = [*DEPLOY.rglob("*.y*ml"), *DEPLOY.rglob("*.service"), DEPLOY / "env.example", ROOT / "Dockerfile"]
    named = {name for each in files for name in re.findall(r"KEEPS_[A-Z_]+", each.read_text(encoding="utf-8"))}
    assert named
    assert named <= known, named - known


def test_files_that_are_mounted_are_there() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    mounted = [
        mount.split(":")[0]
        for service in compose["services"].values()
        for mount in service.get("volumes", [])
        if mount.startswith("./")
    ]
    assert len(mounted) >= 4
    assert [each for each in mounted if not (DEPLOY / each).is_file()] == []


def test_nothing_runs_as_root_or_writes_its_root() -> None:
    for each in ("serve", "worker", "migrate"):
        for manifest in yaml.safe_load_all((DEPLOY / "kubernetes" / f"{each}.yaml").read_text(encoding="utf-8")):
            if manifest["kind"] not in ("Deployment", "Job"):
                continue
            pod = manifest["spec"]["template"]["spec"]
            assert pod["securityContext"]["runAsNonRoot"] is True
            for container in pod["containers"] + pod.get("initContainers", []):
                assert container["securityContext"]["readOnlyRootFilesystem"] is True
                assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "\nUSER 10001" in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_actions_are_pinned_by_commit() -> None:
    for path in (ROOT / ".github" / "workflows").iterdir():
        used = re.findall(r"uses: (\S+)(.*)", path.read_text(encoding="utf-8"))
        assert used
        for action, comment in used:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), f"{path.name}: {action}"
            assert re.fullmatch(r"  # v\d+\.\d+\.\d+", comment), f"{path.name}: the version of {action} is not named"


def test_jobs_with_an_identity_run_only_actions() -> None:
    for path in (ROOT / ".github" / "workflows").iterdir():
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert set(workflow["permissions"].items()) <= {("contents", "read")}
        for job in workflow["jobs"].values():
            writes = "write" in job.get("permissions", {}).values()
            commands = [step["run"] for step in job["steps"] if "run" in step]
            assert not writes or all(command.startswith("mkdir dist && cp ") for command in commands), commands
            for step in job["steps"]:
                if step.get("uses", "").startswith("actions/checkout@"):
                    assert step["with"]["persist-credentials"] is False


def test_each_pod_is_reached_from_named_places_only() -> None:
    read = (DEPLOY / "kubernetes" / "network.yaml").read_text(encoding="utf-8")
    closed, *opened = [manifest["spec"] for manifest in yaml.safe_load_all(read)]
    assert (closed["policyTypes"], closed.get("ingress")) == (["Ingress"], None)
    names = closed["podSelector"]["matchExpressions"][0]["values"]
    for each in ("serve", "worker", "migrate"):
        for manifest in yaml.safe_load_all((DEPLOY / "kubernetes" / f"{each}.yaml").read_text(encoding="utf-8")):
            if manifest["kind"] in ("Deployment", "Job"):
                labels = manifest["spec"]["template"]["metadata"]["labels"]
                assert labels["app.kubernetes.io/name"] in names
    assert all(rule["from"] and rule["ports"] for policy in opened for rule in policy["ingress"])


def test_every_password_of_compose_is_asked_for() -> None:
    compose = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    named = set(re.findall(r"\$\{([A-Z_]+)", compose))
    asked = set(re.findall(r"^([A-Z_]+)=$", (DEPLOY / "env.example").read_text(encoding="utf-8"), re.MULTILINE))
    assert named == asked
    assert all(f"${{{name}:?" in compose for name in named)
    assert "GF_SECURITY_ADMIN_PASSWORD" in yaml.safe_load(compose)["services"]["grafana"]["environment"]


def _pods(*names: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each manifest with a pod, and the pod's spec."""
    read = [(DEPLOY / "kubernetes" / f"{name}.yaml").read_text(encoding="utf-8") for name in names]
    manifests = [manifest for text in read for manifest in yaml.safe_load_all(text)]
    return [(each, each["spec"]["template"]["spec"]) for each in manifests if each["kind"] in ("Deployment", "Job")]


def test_service_links_do_not_set_settings() -> None:
    """A service called keeps makes KEEPS_PORT=tcp://… in each pod of its namespace."""
    assert all(pod["enableServiceLinks"] is False for _, pod in _pods("serve", "worker", "migrate"))


def test_pods_wait_for_the_schema_and_share_a_home() -> None:
    (claim,) = yaml.safe_load_all((DEPLOY / "kubernetes" / "home.yaml").read_text(encoding="utf-8"))
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for _, pod in _pods("serve", "worker"):
        (wait,), (serves,) = pod["initContainers"], pod["containers"]
        assert wait["command"][-1] == "until keeps status; do sleep 2; done"
        assert (wait["image"], wait["env"]) == (serves["image"], serves["env"])
        (home,) = [each for each in pod["volumes"] if each["name"] == "home"]
        assert home["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        assert pod["securityContext"]["fsGroup"] == 10001


def test_job_and_image_are_named_for_the_release() -> None:
    kustomization = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text(encoding="utf-8"))
    assert sorted(f"{each}" for each in kustomization["resources"]) == sorted(
        path.name for path in (DEPLOY / "kubernetes").iterdir() if path.name != "kustomization.yaml"
    )
    assert [each["newTag"] for each in kustomization["images"]] == [keeps.__version__]
    ((job, _),) = _pods("migrate")
    assert job["metadata"]["name"] == f"keeps-migrate-{keeps.__version__.replace('.', '-')}"
    page = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
    assert f"keeps:{keeps.__version__}" in page


def test_probes_are_answered_without_credentials() -> None:
    for manifest, pod in _pods("serve", "worker"):
        for container in pod["containers"]:
            ports = {each["name"]: each["containerPort"] for each in container["ports"]}
            probes = [value["httpGet"] for name, value in container.items() if name.endswith("Probe")]
            assert {probe["path"] for probe in probes} <= PUBLIC_PATHS
            assert {probe["port"] for probe in probes} <= set(ports)
            scraped = manifest["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"]
            assert int(scraped) in ports.values()


def test_images_of_compose_are_of_one_release_and_the_database_is_backed_up() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    images = {name: each["image"] for name, each in services.items() if each.get("image") != "keeps:local"}
    assert [image for image in images.values() if not re.search(r":v?\d+\.\d+\.\d+(-[\w.]+)?$", image)] == []
    assert images["backup"] == images["postgres"], "the dump is of the server's own version"
    script = services["backup"]["command"][0].replace("$$", "$")
    assert subprocess.run(["sh", "-n", "-c", script], check=False).returncode == 0
    assert "pg_dump --format=custom" in script
    assert services["backup"]["volumes"] == ["backups:/backups"]


def test_both_distributions_have_one_version() -> None:
    for path in ("pyproject.toml", "client/pyproject.toml"):
        assert f'version = "{keeps.__version__}"' in (ROOT / path).read_text(encoding="utf-8")
    assert f"keeps-client[folders]=={keeps.__version__}" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"## {keeps.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
