"""A fifth of the mutants in the release build: every one is killed, and nearly every message describes the defect. `make soak` runs all."""

import json
import os
import random

import pytest
import yaml
from support import ROOT, run_bench

MUTANTS = sorted((ROOT / "Conformance" / "mutants").glob("*.yaml"))
PARTS = 5
"""The number of parts of the mutants. With one mutant more another part is tried; SOAK=1 tries every part."""
CHOSEN = range(PARTS) if "SOAK" in os.environ else [len(MUTANTS) % PARTS]
TEXTS = ("Core Vol ", "Core Supplement, ", "TS 07.10, ", "RFCOMM 1.2, ", "HRS 1.0, ", "CSCS 1.0, ")
"""The specifications that mutants violate."""


def part(number):
    """Every mutant is in one part, in an order that depends on their number alone."""
    names = [path.stem for path in MUTANTS]
    random.Random(len(names)).shuffle(names)
    return names[number::PARTS]


def test_every_mutant_says_what_it_violates():
    assert len(MUTANTS) >= 1_000
    texts = {path.stem: yaml.safe_load(path.read_text())["violates"] for path in MUTANTS}
    assert [name for name, text in texts.items() if not text.startswith(TEXTS)] == []


@pytest.mark.parametrize("number", CHOSEN)
def test_every_mutant_is_killed_with_a_message_that_helps(tmp_path, number):
    path, names = tmp_path / "mutants.json", part(number)
    run_bench("mutants", *names, "--json", path, timeout=900)
    mutants = json.loads(path.read_text())["mutants"]
    assert sorted(mutant["id"] for mutant in mutants) == sorted(names)
    assert [mutant["id"] for mutant in mutants if mutant["expected_but_missed"]] == []
    assert any(case.startswith("host-") for mutant in mutants for case in mutant["killed_by"])
    poor = [f"{mutant['id']}: {mutant['message']}" for mutant in mutants if mutant["grade"] != "good"]
    assert len(poor) * 15 <= len(mutants), "\n".join(poor)


def test_a_sample_of_generated_mutants_is_run(tmp_path):
    path = tmp_path / "generated.json"
    run_bench("mutants", "--generated", "--only", "phy", "--only", "hci", "--least", "40", "--json", path)
    mutants = json.loads(path.read_text())["mutants"]
    assert len(mutants) == 60
    assert {mutant["outcome"] for mutant in mutants} <= {"killed", "survived"}
    assert all(mutant["occasions"] and bool(mutant.get("killed_by")) == (mutant["outcome"] == "killed") for mutant in mutants)
