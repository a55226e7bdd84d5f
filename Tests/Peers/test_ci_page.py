"""The jobs of docs/guide/ci.md, run command by command: the parts of the simulation with their report, and the dongles on a simulated bus."""

import itertools
import json
import os
import re
import shutil
import subprocess

import pytest
import yaml

from support import TIMEOUT, ROOT, bluebench, fake_usb

CASES = ["hci/buffer-size", "hci/random-numbers", "phy/read"]
"""The cases that the jobs run here: the commands are those of the page, with these names added to each `run`."""


def blocks():
    page = (ROOT / "docs" / "guide" / "ci.md").read_text()
    return {title: yaml.safe_load(text) for title, text in re.findall(r"^## (\w+)\n\n```yaml\n(.*?)^```", page, re.M | re.S)}


def combinations(matrix):
    """One dictionary for each job of a matrix."""
    if "include" in matrix:
        return matrix["include"]
    return [dict(zip(matrix, values)) for values in itertools.product(*matrix.values())]


def github(name):
    """The commands of each job of a matrix, with its variables."""
    job = blocks()["GitHub"]["jobs"][name]
    for index, chosen in enumerate(combinations(job.get("strategy", {}).get("matrix", {})) or [{}]):
        values = {f"matrix.{key}": str(value) for key, value in chosen.items()} | {"strategy.job-index": str(index)}
        scripts = [step["run"] for step in job["steps"] if "run" in step]
        yield {}, [re.sub(r"\$\{\{ *(\S+) *\}\}", lambda match: values[match[1]], script) for script in scripts]


def gitlab(name):
    job = blocks()["GitLab"][name]
    parallel = job.get("parallel", 1)
    if isinstance(parallel, dict):
        for chosen in parallel["matrix"]:
            yield chosen, job["script"]
    else:
        for index in range(1, parallel + 1):
            yield {"CI_NODE_INDEX": str(index), "CI_NODE_TOTAL": str(parallel)}, job["script"]


@pytest.fixture
def checkout(tmp_path):
    """A folder with our cases, and a `bluebench` in the PATH."""
    for name in ("hci", "phy", "procedures"):
        shutil.copytree(ROOT / "Conformance" / name, tmp_path / "Conformance" / name)
    shutil.copy(ROOT / "Conformance" / "constants.yaml", tmp_path / "Conformance")
    program = tmp_path / "path" / "bluebench"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncase $1 in run) shift; exec "{bluebench()}" run {" ".join(CASES)} "$@";; *) exec "{bluebench()}" "$@";; esac\n')
    program.chmod(0o755)
    return tmp_path


def perform(checkout, jobs, environment=os.environ):
    for variables, scripts in jobs:
        own = {"GITHUB_STEP_SUMMARY": str(checkout / "summary.md"), "GITHUB_PATH": str(checkout / "added")} | variables
        own["PATH"] = f"{checkout / 'path'}:{environment['PATH']}"
        for script in scripts:
            if script.startswith("make "):
                continue
            assert script.startswith("bluebench "), script
            result = subprocess.run(["bash", "-ec", script], cwd=checkout, env=dict(environment) | own, capture_output=True, text=True, timeout=TIMEOUT * 2)
            assert result.returncode == 0, f"{script}\n{result.stdout}\n{result.stderr}"


def ids(path):
    return [case["id"] for case in json.loads(path.read_text())["cases"]]


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_the_simulations_jobs(checkout, jobs):
    perform(checkout, jobs("simulation"))
    assert all(len(ids(checkout / "build" / f"shard-{index}" / "results.json")) == 1 for index in (1, 2, 3))
    perform(checkout, jobs("report"))
    assert ids(checkout / "build" / "report" / "results.json") == CASES
    assert (checkout / "build" / "report" / "index.html").exists()
    if jobs is github:
        assert (checkout / "summary.md").read_text().startswith("## Passed\n")


@pytest.mark.parametrize("jobs", [github, gitlab])
def test_the_dongles_jobs(checkout, jobs):
    with fake_usb(2) as bus:
        perform(checkout, jobs("dongles"), bus.environment)
    reports = list((checkout / "build").glob("dongles*/results.json"))
    assert reports and all(ids(path) == CASES for path in reports)
