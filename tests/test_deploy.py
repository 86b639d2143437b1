"""Files that deploy, build and publish Keeps fit the schemas of their readers, and name what is there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

import keeps
from keeps.base.settings import ABOUT, SECRETS
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
    known = {f"KEEPS_{name.upper()}" for name in ABOUT} | {f"KEEPS_{name.upper()}_FILE" for name in SECRETS}
    files = [*DEPLOY.rglob("*.y*ml"), *DEPLOY.rglob("*.service"), DEPLOY / "env.example", ROOT / "Dockerfile"]
    named = {name for each in files for name in re.findall(r"KEEPS_[A-Z_]+", each.read_text(encoding="utf-8"))}
    assert named
    assert named <= known, named - known


def _compose() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def test_files_that_are_mounted_are_there() -> None:
    mounted = [
        mount.split(":")[0]
        for service in _compose()["services"].values()
        for mount in service.get("volumes", [])
        if mount.startswith("./")
    ]
    assert len(mounted) >= 4
    assert [path for path in mounted if not (DEPLOY / path).is_file()] == []


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


def test_pods_reach_and_are_reached_from_named_places_only() -> None:
    text = (DEPLOY / "kubernetes" / "network.yaml").read_text(encoding="utf-8")
    closed, *opened = [manifest["spec"] for manifest in yaml.safe_load_all(text)]
    assert (closed["policyTypes"], closed.get("ingress")) == (["Ingress", "Egress"], None)
    names = closed["podSelector"]["matchExpressions"][0]["values"]
    assert {manifest["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"] for manifest, _ in PODS} == {
        *names
    }
    assert all(rule["from"] and rule["ports"] for policy in opened for rule in policy.get("ingress", []))
    rules = [rule for policy in (closed, *opened) for rule in policy.get("egress", [])]
    assert all(rule["ports"] for rule in rules)
    (public,) = [rule["to"][0]["ipBlock"]["except"] for rule in rules if rule["ports"][0]["port"] == 443]
    assert "169.254.0.0/16" in public, "the metadata of the cloud hands out credentials"


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """A copy of deploy/ in which prepare.sh has run."""
    folder = tmp_path / "deploy"
    folder.mkdir()
    for name in ("compose.yaml", "env.example", "prepare.sh", "pin-images.sh"):
        shutil.copy(DEPLOY / name, folder)
    subprocess.run(["sh", folder / "prepare.sh"], check=True)
    return folder


def test_prepare_makes_every_secret_once(prepared: Path) -> None:
    secrets = {name: prepared / secret["file"] for name, secret in _compose()["secrets"].items()}
    texts = {name: path.read_text(encoding="utf-8") for name, path in secrets.items()}
    assert {path.name for path in (prepared / "secrets").iterdir()} == set(secrets)
    assert (prepared / "secrets").stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o644 for path in secrets.values()), "containers read them as other users"
    assert all(len(texts[name]) == 48 for name in ("postgres_password", "app_password", "secret_keys"))
    assert texts["app_password"] in texts["database_url"]
    subprocess.run(["sh", prepared / "prepare.sh"], check=True)
    assert {name: path.read_text(encoding="utf-8") for name, path in secrets.items()} == texts


def test_services_of_compose_read_secrets_from_files() -> None:
    for name, service in _compose()["services"].items():
        environment = service.get("environment", {})
        files = {value.removeprefix("/run/secrets/") for value in environment.values() if "/run/secrets/" in value}
        assert files <= set(service.get("secrets", [])), name
        secret = [key for key in environment if re.search("PASSWORD|SECRET|DATABASE_URL|ADMIN_URL", key)]
        assert all(key.endswith("_FILE") for key in secret), f"{name}: docker inspect shows {secret}"
    assert "/deploy/secrets/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "deploy/secrets" in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


def test_every_image_can_be_pinned_by_digest(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = dict(re.findall(r"^(\w+_IMAGE)=(\S+)$", (prepared / ".env").read_text(encoding="utf-8"), re.MULTILINE))
    variables = set(re.findall(r"\$\{(\w+):\?", (DEPLOY / "compose.yaml").read_text(encoding="utf-8")))
    assert variables == set(images)
    assert f"ARG PYTHON_IMAGE={images['PYTHON_IMAGE']}\n" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    digest = f"sha256:{'0' * 64}"
    docker = prepared / "docker"  # a registry is not reachable from here
    docker.write_text(f'#!/bin/sh\n[ "$1 $2 $3" = "buildx imagetools inspect" ] && echo {digest}\n', encoding="utf-8")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{prepared}:/usr/bin:/bin")
    for _ in range(2):
        subprocess.run(["sh", prepared / "pin-images.sh"], check=True)
        pinned = (prepared / ".env").read_text(encoding="utf-8")
        assert re.findall(r"^\w+_IMAGE=(\S+)$", pinned, re.MULTILINE) == [
            f"{image}@{digest}" for image in images.values()
        ]


def _pods(*names: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each manifest with a pod, and the pod's spec."""
    read = [(DEPLOY / "kubernetes" / f"{name}.yaml").read_text(encoding="utf-8") for name in names]
    manifests = [manifest for text in read for manifest in yaml.safe_load_all(text)]
    return [(each, each["spec"]["template"]["spec"]) for each in manifests if each["kind"] in ("Deployment", "Job")]


PODS = _pods("serve", "worker", "migrate")


def test_service_links_do_not_set_settings() -> None:
    """A service called keeps makes KEEPS_PORT=tcp://… in each pod of its namespace."""
    assert all(pod["enableServiceLinks"] is False for _, pod in PODS)


def test_pods_see_secrets_as_files_and_only_what_they_need() -> None:
    for name, needs in (
        ("serve", {"KEEPS_DATABASE_URL", "KEEPS_SECRET_KEYS"}),
        ("worker", {"KEEPS_DATABASE_URL", "KEEPS_SECRET_KEYS"}),
        ("migrate", {"KEEPS_ADMIN_URL", "KEEPS_APP_PASSWORD"}),
    ):
        assert "secretKeyRef" not in (DEPLOY / "kubernetes" / f"{name}.yaml").read_text(encoding="utf-8")
        ((_, pod),) = _pods(name)
        (volume,) = [each["secret"] for each in pod["volumes"] if "secret" in each]
        assert {item["key"] for item in volume["items"]} == needs
        assert pod["securityContext"]["fsGroup"] == 10001, "the files belong to root"
        for container in pod["containers"] + pod.get("initContainers", []):
            variables = {each["name"]: each["value"] for each in container["env"]}
            assert variables == {f"{key}_FILE": f"/run/keeps/{key}" for key in needs}


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
        path.name
        for path in (DEPLOY / "kubernetes").iterdir()
        if path.name not in ("kustomization.yaml", "ingress.yaml")  # an ingress has a host of its own
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


def test_database_of_compose_is_backed_up() -> None:
    services = _compose()["services"]
    assert services["backup"]["image"] == services["postgres"]["image"], "the dump is of the server's own version"
    script = services["backup"]["command"][0].replace("$$", "$")
    assert subprocess.run(["sh", "-n", "-c", script], check=False).returncode == 0
    assert "pg_dump --format=custom" in script
    assert services["backup"]["volumes"] == ["backups:/backups"]


def test_images_have_the_tag_of_a_release() -> None:
    images = re.findall(r"_IMAGE=(\S+)$", (DEPLOY / "env.example").read_text(encoding="utf-8"), re.MULTILINE)
    assert [image for image in images if not re.search(r":v?\d+\.\d+(\.\d+)?(-[\w.]+)?$", image)] == []


def test_pgbouncer_of_compose_has_the_settings_of_its_page() -> None:
    page = (ROOT / "docs" / "pgbouncer.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```ini\n(.*?)```", page, re.DOTALL)
    documented, ours = ConfigParser(), ConfigParser()
    documented.read_string(block)
    ours.read(DEPLOY / "pgbouncer.ini")
    local = {"listen_addr", "auth_file", "unix_socket_dir"}
    settings = [{*parser["pgbouncer"].items()} for parser in (documented, ours)]
    assert {name for name, _ in settings[0] ^ settings[1]} == local


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_puts_everything_into_the_namespace() -> None:
    command = ["kubectl", "kustomize", str(DEPLOY / "kubernetes")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    manifests = list(yaml.safe_load_all(done.stdout))
    (namespace,) = [manifest["metadata"] for manifest in manifests if manifest["kind"] == "Namespace"]
    assert namespace["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    others = [manifest["metadata"]["namespace"] for manifest in manifests if manifest["kind"] != "Namespace"]
    assert set(others) == {namespace["name"]}


def test_both_distributions_have_one_version() -> None:
    for path in ("pyproject.toml", "client/pyproject.toml"):
        assert f'version = "{keeps.__version__}"' in (ROOT / path).read_text(encoding="utf-8")
    assert f"keeps-client[folders]=={keeps.__version__}" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"## {keeps.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def _alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "prometheus-alerts.yml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_every_alert_has_its_section_in_the_runbook() -> None:
    names = [alert["alert"] for alert in _alerts()]
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    assert re.findall(r"^### (\w+)$", page, re.MULTILINE) == names
    for alert in _alerts():
        assert alert["annotations"]["runbook"] == f"docs/monitoring.md#{alert['alert'].lower()}"


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_alerts_fire_when_they_should() -> None:
    command = ["promtool", "test", "rules", "alerts.yml"]
    done = subprocess.run(
        command, cwd=ROOT / "tests" / "deploying", capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_accepts_its_configuration(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "prometheus-alerts.yml", tmp_path / "alerts.yml")
    text = (DEPLOY / "prometheus.yml").read_text(encoding="utf-8").replace("/etc/prometheus", str(tmp_path))
    (tmp_path / "prometheus.yml").write_text(text, encoding="utf-8")
    command = ["promtool", "check", "config", str(tmp_path / "prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
