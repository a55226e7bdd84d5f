"""A single dongle: tested through its HCI, command by command, without a tester."""

import json
import re

from support import dongles, run_bench


def rows(path):
    """The rows of a scorecard: command, claimed, verdict, cases."""
    return {row[0]: row[1:] for row in re.findall(r"^\| (\w[\w \[\]-]*) \| (yes|no|no bit) \| ([\w ]+) \| (.*) \|$", path.read_text(), re.M)}


def test_one_dongle_is_judged_without_a_tester(tmp_path):
    with dongles(1) as [port]:
        told = run_bench(
            "run", "hci", "--subject", f"tcp:127.0.0.1:{port}", "--report", tmp_path / "report", "--scorecard", tmp_path / "card.md").stdout
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    verdicts = {case["id"]: case["verdict"] for case in results["cases"]}
    assert set(verdicts.values()) == {"PASS", "N/A"}, told
    assert sum(verdict == "PASS" for verdict in verdicts.values()) >= 25, verdicts
    assert results["run"]["tester"] == "none"
    card = rows(tmp_path / "card.md")
    assert card == rows(tmp_path / "report" / "scorecard.md")
    assert card["Reset"][:2] == ("yes", "PASS") and "hci/supported-commands" in card["Read_Local_Supported_Commands"][2]
    assert {row["command"] for row in results["scorecard"]} == set(card)
    assert any(verdict == "no case" for _, verdict, _ in card.values())


def test_a_command_that_does_wrong_is_named(tmp_path):
    with dongles(1, "--quirk", "refuses=LE_Rand") as [port]:
        run_bench(
            "run", "hci", "--subject", f"tcp:127.0.0.1:{port}", "--scorecard", tmp_path / "card.md", "--json", tmp_path / "results.json",
            expected=1)
    failed = [case["id"] for case in json.loads((tmp_path / "results.json").read_text())["cases"] if case["verdict"] == "FAIL"]
    verdict, cases = rows(tmp_path / "card.md")["LE_Rand"][1:]
    assert verdict == "FAIL" and failed and f"**{failed[0]}**" in cases, (failed, cases)


def test_cases_for_two_devices_want_a_tester():
    told = run_bench("run", "gatt", "--subject", "tcp:127.0.0.1:1", expected=2).stderr
    assert "name a real tester with --tester" in told
