"""What deploys, builds and publishes Keeps fits the schemas of those who read it, and names what is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import keeps
from keeps.settings import ABOUT

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
            for container in pod["containers"]:
                assert container["securityContext"]["readOnlyRootFilesystem"] is True
                assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "\nUSER 10001" in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_both_distributions_have_one_version() -> None:
    for path in ("pyproject.toml", "client/pyproject.toml"):
        assert f'version = "{keeps.__version__}"' in (ROOT / path).read_text(encoding="utf-8")
    assert f"keeps-client[folders]=={keeps.__version__}" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"## {keeps.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
