"""Build what is published, and try it: python tools/make_release.py [--needs]

Wheels and sdists of keeps-client and keeps, and the npm package of the client, go into dist/, with a list of
everything that is installed (CycloneDX), its licences, and requirements with hashes. Each wheel is checked against the
files in git, and installed into an empty environment of every Python that is here, where a memory is stored and found.
Manifests in deploy/ are checked by their schemas.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
BIN = Path(sys.executable).parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
ALLOWED = re.compile(
    r"apache|mit\b|bsd|isc|psf|python software|mpl|mozilla|unlicense|zlib|0bsd|postgresql|cc0|public domain|hpnd",
    re.IGNORECASE,
)
"""Licences that what is installed with Keeps may have."""
MOST_MEGABYTES = 375
"""Size of an environment with a plain install, and with pip and setuptools, which take 25."""
SMALL = """
import asyncio, tempfile
from keeps import Keeps, Scope
import keeps_client.sync

async def main():
    async with Keeps.open(tempfile.mkdtemp() + "/home") as keeps:
        memory = keeps.memory(Scope("acme", "alice"))
        await memory.remember("Alice is allergic to peanuts.")
        found = await memory.recall("What must Alice not eat?")
        assert found.hits[0].memory.content == "Alice is allergic to peanuts.", found
        assert not found.partial

asyncio.run(main())
"""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run([str(each) for each in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout[-3_000:], done.stderr[-3_000:], sep="\n", file=sys.stderr)
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    return done.stdout


def built() -> list[Path]:
    shutil.rmtree(DIST, ignore_errors=True)
    for source in (ROOT / "client", ROOT):
        run(sys.executable, "-m", "build", "--outdir", DIST, source)
    made = sorted(DIST.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *made)
    javascript = ROOT / "client-js"
    run("npm", "ci", "--silent", "--no-audit", "--no-fund", cwd=javascript)
    run("npm", "pack", "--pack-destination", DIST, cwd=javascript)
    return made


def check_contents(made: list[Path]) -> None:
    """A wheel holds what git holds of its package, and nothing else."""
    for wheel in (each for each in made if each.suffix == ".whl"):
        client = wheel.name.startswith("keeps_client-")
        source, package = ("client/src", "keeps_client") if client else ("src", "keeps")
        wanted = {
            each.removeprefix(f"{source}/") for each in run("git", "ls-files", f"{source}/{package}").splitlines()
        }
        held = {each for each in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in each}
        if missing := wanted - held:
            raise SystemExit(f"{wheel.name} lacks {sorted(missing)[:10]}")
        if more := held - wanted:
            raise SystemExit(f"{wheel.name} also holds {sorted(more)[:10]}")
        notes = [each for each in zipfile.ZipFile(wheel).namelist() if each.endswith(("LICENSE", "NOTICE"))]
        print(f"{wheel.name}: {len(held)} files, {wheel.stat().st_size / 1e6:.1f} MB, {len(notes)} licence files")


def tried(made: list[Path]) -> Path | None:
    """Each Python that is here installs the wheels into an empty environment and uses them. Returns one of these."""
    wheels = [each for each in made if each.suffix == ".whl"]
    last: Path | None = None
    for version in PYTHONS:
        python = shutil.which(f"python{version}")
        if python is None or subprocess.run([python, "--version"], capture_output=True, check=False).returncode:
            print(f"Python {version} is not here")
            continue
        place = Path(tempfile.mkdtemp(prefix=f"keeps-release-{version}-"))
        run(python, "-m", "venv", place)
        installed = place / "bin" / "python"
        constraints = ROOT / "constraints.txt"
        run(installed, "-m", "pip", "install", "--quiet", "--constraint", constraints, *wheels, cwd=place)
        run(installed, "-m", "pip", "check", cwd=place)
        run(installed, "-c", SMALL, cwd=place)
        said = run(place / "bin" / "keeps", "--version", cwd=place).strip()
        size = int(run("du", "-sm", place).split()[0])
        print(f"Python {version}: installed, {said}, stored and found; {size} MB")
        if size > MOST_MEGABYTES:
            raise SystemExit(f"a plain install takes {size} MB, more than {MOST_MEGABYTES}")
        if last is not None:
            shutil.rmtree(last)
        last = place
    return last


def listed(place: Path) -> None:
    """List what is installed with Keeps: as an SBOM, with licences, and with hashes."""
    run(BIN / "cyclonedx-py", "environment", "--output-file", DIST / "keeps-sbom.json", place / "bin" / "python")
    held = json.loads((DIST / "keeps-sbom.json").read_text(encoding="utf-8"))["components"]
    run(
        BIN / "pip-licenses",
        f"--python={place / 'bin' / 'python'}",
        "--format=json",
        "--with-urls",
        f"--output-file={DIST / 'licenses.json'}",
    )
    licences = json.loads((DIST / "licenses.json").read_text(encoding="utf-8"))
    odd = [f"{each['Name']} ({each['License']})" for each in licences if not ALLOWED.search(each["License"])]
    print(f"{len(held)} components in the SBOM, {len(licences)} licences; to look at: {', '.join(odd) or 'none'}")
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "asked.in"
        ours = [each for each in needs if not each.startswith("keeps-client")]
        client = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        ours += [*client["dependencies"], *client["optional-dependencies"]["folders"]]
        asked.write_text("\n".join(ours) + "\n", encoding="utf-8")
        run(
            BIN / "pip-compile",
            "--quiet",
            "--generate-hashes",
            "--no-emit-index-url",
            "--no-emit-trusted-host",
            "--no-emit-find-links",
            "--no-header",
            "--strip-extras",
            "--constraint",
            ROOT / "constraints.txt",
            "--output-file",
            DIST / "requirements.txt",
            asked,
            cwd=Path(folder),
        )
    print(f"{(DIST / 'requirements.txt').read_text(encoding='utf-8').count('--hash')} hashes in requirements.txt")


def check_manifests() -> None:
    files = sorted((ROOT / "deploy" / "kubernetes").glob("[!k]*.yaml"))
    # The other files of this folder hold kinds of operators, which `make test-manifests` checks.
    files += [ROOT / "deploy" / "cloudnativepg" / f"{name}.yaml" for name in ("budgets", "network", "second-job")]
    for each in files:
        run(BIN / "kubernetes-validate", "--strict", "--quiet", each)
    print(f"{len(files)} Kubernetes manifests fit their schemas")


def check_api() -> None:
    """Check that what programs use is as at the last tag."""
    tags = run("git", "tag", "--list", "v*", "--sort=-version:refname").split()
    if not tags:
        print("no release before this one: the API is compared from the next one on")
        return
    for source, package in (("client/src", "keeps_client"), ("src", "keeps")):
        done = subprocess.run(
            [BIN / "griffe", "check", package, "--search", source, "--against", tags[0]],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        print(f"{package} against {tags[0]}: {done.stderr.strip() or 'nothing broke'}")


def main() -> int:
    if "--needs" in sys.argv:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        print("\n".join(f"'{each}'" for each in project["optional-dependencies"]["release"]))
        return 0
    os.environ.pop("PYTHONPATH", None)
    made = built()
    check_contents(made)
    place = tried(made)
    if place is None:
        raise SystemExit("no Python to try it with")
    listed(place)
    shutil.rmtree(place)
    check_manifests()
    check_api()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
