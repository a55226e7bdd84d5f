"""Defects and legal behaviour of a foreign product's L2CAP channels, over the air: each defect has a case whose purpose it is, and no case FAILs a legal product."""

import json
import os
import random

import pytest

from att_changes import Change
from channel_changes import CHANGES
from channel_product import DECLARES, NAME
from support import Process, PythonPeer, bluebench, dongles, run_bench

SOAK = "SOAK" in os.environ
DEFECTS = {name: change.case for name, change in CHANGES.items() if isinstance(change, Change)}
LEGAL = {name: change.section for name, change in CHANGES.items() if not isinstance(change, Change)}
SAMPLE = int(os.environ.get("SAMPLE", "1"))
"""The seed of the sample that `make test` runs; `make soak` runs all."""


def sample(names, count):
    return sorted(names) if SOAK else sorted(random.Random(SAMPLE).sample(sorted(names), count))


@pytest.fixture(scope="module")
def description(tmp_path_factory):
    """The product as a survey describes it, with what its maker declares."""
    path = tmp_path_factory.mktemp("device") / "wire.yaml"
    with dongles(2, virtual_time=True) as ports, PythonPeer("channel_product.py", f"virtual:127.0.0.1:{ports[1]}") as product:
        product.wait_for("advertising")
        survey = run_bench("survey", f"tcp:127.0.0.1:{ports[0]},virtual-time", "--peer", NAME, "--bonds", "none").stdout
    assert "declares: {}" in survey, survey
    path.write_text(survey.replace("declares: {}\n", DECLARES))
    return path


def judge(description, folder, change, *cases):
    """The verdicts of cases on the product with a change, with their messages."""
    results = folder / f"{change}.json"
    arguments = ["--subject-port", "tcp-listen:0", "--wait-for-host", "120", "--virtual-time", "--peer", NAME, "--json", results, "--device", description]
    with Process(bluebench(), "run", *cases, *arguments) as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with PythonPeer("channel_product.py", f"virtual:127.0.0.1:{port.group(1)}", change):
            bench.wait()
    assert results.exists(), bench.text
    return {case["id"]: (case["verdict"], case.get("message", "")) for case in json.loads(results.read_text())["cases"]}


@pytest.mark.corpus("defects, own channels")
@pytest.mark.parametrize("name", sample(DEFECTS, 8))
def test_a_defect_is_found_by_the_case_whose_purpose_it_is(name, description, tmp_path):
    found = judge(description, tmp_path, name, DEFECTS[name])
    verdicts = {verdict for verdict, _ in found.values()}
    assert "FAIL" in verdicts and verdicts <= {"FAIL", "PASS", "N/A"}, found


@pytest.mark.corpus("legal, own channels")
@pytest.mark.parametrize("name", sample(LEGAL, 2))
def test_a_legal_product_fails_nothing(name, description, tmp_path):
    found = judge(description, tmp_path, name, "accessory-channel")
    wrong = {case: result for case, result in found.items() if result[0] not in ("PASS", "N/A")}
    assert not wrong, LEGAL[name]
    assert sum(verdict == "PASS" for verdict, _ in found.values()) >= 12, found


def test_a_guarded_channel_is_judged_in_clear_in_a_run_that_pairs(description, tmp_path):
    found = judge(description, tmp_path, "", "accessory-channel/guarded-in-clear", "accessory-channel/guarded-enhanced-in-clear", "--pair")
    assert len(found) == 2 and {verdict for verdict, _ in found.values()} == {"PASS"}, found


def test_the_corpus_is_large_and_every_defect_has_a_case_that_is_there():
    assert len(DEFECTS) >= 90 and len(LEGAL) >= 18, (len(DEFECTS), len(LEGAL))
    listed = run_bench("run", "accessory-channel", "--list").stdout
    assert not {name: case for name, case in DEFECTS.items() if case not in listed}
