"""Conforming devices and environments that differ from the default: no case fails for them."""

import json
import os
import random

import pytest
from support import NO_SUITES, ROOT, run_bench

PARTS = 12
"""The number of parts of the cases, one of which each variant runs; `make soak` runs all cases with all variants, and SOAK=1 every part."""
CHOSEN = range(PARTS) if "SOAK" in os.environ else [0]


GROUPS = ("subject", "tester", "accessory")


def group(name):
    return next((group for group in GROUPS if name.endswith(group)), "")


def parts(paths):
    """Distributes names over equal parts, always in the same way; each part has variants of each group."""
    names = sorted(paths)
    random.Random(len(names)).shuffle(names)
    names.sort(key=group)
    return [names[part::PARTS] for part in range(PARTS)]


def files(folder):
    """Maps each variant's identifier to the text of its file: a file with `sides:` has two."""
    texts = {path.stem: path.read_text() for path in folder.glob("*.yaml")}
    return {f"{stem}{side}": text for stem, text in texts.items() for side in (("-subject", "-tester") if "\nsides:" in text else ("",))}


def cases():
    return (f"{path.parent.name}/{path.stem}" for path in (ROOT / "Conformance").glob("*/*.yaml") if path.parent.name not in NO_SUITES)


def only(names):
    return [word for name in names for word in ("--only", name)]


def variants(path, *options, expected=0):
    result = run_bench("variants", "--json", path, *options, expected=expected, timeout=900)
    return result.stdout, json.loads(path.read_text())["variants"]


def inconclusive(row):
    return row["verdicts"].get("INCONC", 0) / sum(row["verdicts"].values())


@pytest.mark.parametrize("variant", ["peripheral-only-tester", "central-only-tester"][: None if "SOAK" in os.environ else 1])
def test_a_tester_of_one_role_can_say_nothing_in_a_quarter_of_the_cases(tmp_path, variant):
    """One of the two roles; both with SOAK=1."""
    _, [row] = variants(tmp_path / "variants.json", variant)
    assert not row["faults"] and inconclusive(row) < 0.3, row["verdicts"]


@pytest.mark.parametrize("part", CHOSEN)
def test_no_case_fails_against_a_conforming_device(tmp_path, part):
    folder = ROOT / "Conformance"
    texts = files(folder / "variants")
    chosen = parts(texts)[part]
    text, rows = variants(tmp_path / "variants.json", *chosen, *only(parts(cases())[part]), expected=None)
    faults = [f'{row["id"]}: {fault["id"]}: {fault["message"]}' for row in rows for fault in row["faults"]]
    assert not faults, "\n".join(faults)
    assert len(rows) * PARTS >= 120
    assert {group(row["id"]) for row in rows} >= set(GROUPS)
    # A variant that leaves hardly a case with a verdict shows little; without encryption two thirds of them cannot apply, and a tester
    # that takes one role only is looked at with all cases below.
    for row in rows:
        is_narrow = "\nonly:" in texts[row["id"]]
        if is_narrow and not row["verdicts"]:
            # None of its cases is in this part.
            continue
        if is_narrow and not row["verdicts"].get("PASS"):
            # Few of its cases are in this part: all of them decide.
            _, [row] = variants(tmp_path / "narrow.json", row["id"])
        assert row["verdicts"].get("PASS", 0) * PARTS > (0 if is_narrow else 150), (row["id"], row["verdicts"])
        assert inconclusive(row) < (0.4 if "-only-" in row["id"] else 0.2), (row["id"], row["verdicts"])
    print(text.splitlines()[-1])


def test_the_same_seed_gives_the_same_verdicts(tmp_path):
    chosen = ("loss-3", "neighbours-20", "eager-accessory", "--seeds", "2", *only(parts(cases())[0][::4]))
    one, other = variants(tmp_path / "one.json", *chosen, expected=None), variants(tmp_path / "other.json", *chosen, expected=None)
    assert one == other
    assert [row["seed"] for row in one[1]] == [1, 2] * 3


def test_a_case_that_is_too_strict_is_found(tmp_path):
    """The bench must notice: a case that requires a version which a conforming subject may lack."""
    suite = tmp_path / "cases" / "mine"
    suite.mkdir(parents=True)
    (suite / "newest.yaml").write_text(
        "title: Every controller is new\npurpose: It need not be.\nreference: Core Vol 4, Part E, 7.4.1\nsteps:\n"
        "  - send: Read_Local_Version_Information\n    as: subject\n    answer: {Status: Success, HCI_Version: {atLeast: 4.1}}\n"
        "    states: The version is 4.1 or later.\n")
    folder = tmp_path / "cases" / "variants"
    folder.mkdir()
    (folder / "old.yaml").write_text(
        "title: Version 4.0\nallowed_by: \"Core Vol 4, Part E, 7.4.1: any version that is assigned\"\nsubject: {core-version: 6}\n")
    text, rows = variants(tmp_path / "variants.json", "--cases", tmp_path / "cases", expected=1)
    assert rows[0]["faults"][0]["id"] == "mine/newest" and "FAULT" in text
