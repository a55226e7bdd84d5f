"""Conforming devices and surroundings that behave unlike ours: no case fails for them."""

import json

from support import run_bench


def variants(path, *options, expected=0):
    result = run_bench("variants", "--json", path, *options, expected=expected)
    return result.stdout, json.loads(path.read_text())["variants"]


def test_no_case_fails_against_a_conforming_device(tmp_path):
    text, rows = variants(tmp_path / "variants.json", expected=None)
    faults = [f'{row["id"]}: {fault["id"]}: {fault["message"]}' for row in rows for fault in row["faults"]]
    assert not faults, "\n".join(faults)
    assert len(rows) >= 60
    assert {group for row in rows for group in ("subject", "tester", "accessory") if row["id"].endswith(group)} == {"subject", "tester", "accessory"}
    # A variant that leaves hardly a case with a verdict shows little; without encryption two thirds of them cannot apply.
    for row in rows:
        total = sum(row["verdicts"].values())
        assert row["verdicts"].get("PASS", 0) > 150, (row["id"], row["verdicts"])
        assert row["verdicts"].get("INCONC", 0) < total * 0.2, (row["id"], row["verdicts"])
    print(text.splitlines()[-1])


def test_the_same_seed_gives_the_same_verdicts(tmp_path):
    chosen = ("loss-3", "neighbours-20", "eager-accessory", "--seeds", "2")
    one, other = variants(tmp_path / "one.json", *chosen, expected=None), variants(tmp_path / "other.json", *chosen, expected=None)
    assert one == other
    assert [row["seed"] for row in one[1]] == [1, 2] * 3


def test_a_case_that_is_too_strict_is_found(tmp_path):
    """The bench itself must notice: a case that asks for an event which a conforming subject need not have."""
    suite = tmp_path / "cases" / "mine"
    suite.mkdir(parents=True)
    (tmp_path / "cases" / "covers.txt").write_text("")
    (suite / "public-key.yaml").write_text(
        "title: Every controller makes keys\npurpose: It does not have to.\nreference: Core Vol 4, Part E, 7.8.36\nsteps:\n"
        "  - send: LE_Read_Local_P-256_Public_Key\n    as: subject\n    answer: {Status: Success}\n    states: The command is there.\n")
    folder = tmp_path / "cases" / "variants"
    folder.mkdir()
    (folder / "keyless.yaml").write_text(
        "title: No keys\nallowed_by: \"Core Vol 4, Part E, 3.1: the command is optional\"\n"
        "subject: {withoutCommands: [LE_Read_Local_P-256_Public_Key]}\n")
    text, rows = variants(tmp_path / "variants.json", "--cases", tmp_path / "cases", expected=1)
    assert rows[0]["faults"][0]["id"] == "mine/public-key" and "FAULT" in text
