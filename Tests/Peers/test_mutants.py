"""All mutants in the release build: every one is killed, and nearly every message describes the defect."""

import json

from support import run_bench

LEAST = 150
"""The minimum number of mutants."""
LEAST_OF_HOSTS = 60
"""The minimum number of mutants that cases for hosts kill."""
TEXTS = ("Core Vol ", "Core Supplement, ", "TS 07.10, ", "RFCOMM 1.2, ")
"""The specifications that mutants violate."""


def test_every_mutant_is_killed_with_a_message_that_helps(tmp_path):
    path = tmp_path / "mutants.json"
    run_bench("mutants", "--json", path)
    mutants = json.loads(path.read_text())["mutants"]
    assert len(mutants) >= LEAST
    assert [mutant["id"] for mutant in mutants if mutant["expected_but_missed"]] == []
    assert sum(any(case.startswith("host-") for case in mutant["killed_by"]) for mutant in mutants) >= LEAST_OF_HOSTS
    assert all(mutant["violates"].startswith(TEXTS) for mutant in mutants)
    poor = [f"{mutant['id']}: {mutant['message']}" for mutant in mutants if mutant["grade"] != "good"]
    assert len(poor) * 15 <= len(mutants), "\n".join(poor)


def test_a_sample_of_generated_mutants_is_run(tmp_path):
    path = tmp_path / "generated.json"
    run_bench("mutants", "--generated", "--only", "phy", "--only", "hci", "--least", "40", "--json", path)
    mutants = json.loads(path.read_text())["mutants"]
    assert len(mutants) == 60
    assert {mutant["outcome"] for mutant in mutants} <= {"killed", "survived"}
    assert all(mutant["occasions"] and bool(mutant.get("killed_by")) == (mutant["outcome"] == "killed") for mutant in mutants)
