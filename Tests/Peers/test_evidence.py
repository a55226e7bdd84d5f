"""The page for a technical file: requirements, the results that bear on them, and what no test over the air shows."""

import json
import re

import pytest

from support import ROOT, run_bench


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A run of a simulated thermometer, and the same results with one FAIL and one case that could not be judged."""
    folder = tmp_path_factory.mktemp("evidence")
    good, bad = folder / "good.json", folder / "bad.json"
    run_bench("run", "accessory", "--accessory", "thermometer", "--profile", "en18031", "--label", "state=factory", "--json", good)
    document = json.loads(good.read_text())
    for case in document["cases"]:
        if case["id"] == "accessory-robust/survives[pdu=att-empty]":
            case.update(verdict="FAIL", message="The device answers *afterwards*.\nIt did not.", evidence=[{"packet": 7, "side": "tester", "text": ""}])
        if case["id"] == "accessory-link/idle":
            case.update(verdict="INCONC", message="no device advertises")
    bad.write_text(json.dumps(document))
    return good, bad


def section(page, name):
    found = re.search(rf"^### {re.escape(name)} .*?(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, page
    return found.group(0)


def test_each_requirement_says_what_was_tried_and_what_cannot_be_shown(results):
    page = run_bench("evidence", results[0], "--profile", "en18031").stdout
    assert "state factory" in page and "the standards were not read" in page
    for name in ("ACM-1", "AUM-3", "SCM-3", "RLM-1", "tracking"):
        part = section(page, name)
        assert "**No test over the air shows:**" in part and ("**Evidence for:**" in part or "**Not tried" in part), part
        assert "Evidence against" not in part, part
    assert "`accessory-robust/survives[pdu=att-empty]`" in section(page, "RLM-1")
    assert "Evidence for" not in section(page, "NMM-1, TCM-1")
    # The page has no verdict about a requirement.
    assert not re.search(r"\b(compliant|fulfilled|conforms to)\b", page)


def test_a_fail_is_evidence_against_each_requirement_on_which_it_bears(results, tmp_path):
    path = tmp_path / "page.md"
    run_bench("evidence", results[0], results[1], "--output", path)
    page = path.read_text()
    for name in ("RLM-1", "GEC-6"):
        part = section(page, name)
        assert r"- run 2: `accessory-robust/survives[pdu=att-empty]`: The device answers \*afterwards\*. It did not. (packet 7 of" in part, part
        assert "run 1: `accessory-robust/survives[pdu=att-empty]`" in part.split("Evidence for:")[1], part
    assert "run 2: `accessory-link/idle`: no device advertises" in section(page, "RLM-1").split("Not settled")[1].split("Evidence for")[0]
    assert re.search(r"\| RLM-1 \| resilience \| shall \| \d+ for, 1 against, 1 not settled", page), page


def test_a_verdict_names_the_requirements(tmp_path):
    results = tmp_path / "results.json"
    folder = tmp_path / "cases" / "accessory-robust"
    folder.mkdir(parents=True)
    # A case of the user's own with a name on which requirements bear, and with a requirement that nothing satisfies.
    (folder / "att-empty.yaml").write_text("""title: Never
purpose: It fails.
reference: Core Vol 3, Part F, 3.3
subject: accessory
steps:
  - do: meet device
    saveAs: link
  - check: $link.handle
    is: 99999
    states: Nothing is so.
""")
    run_bench(
        "run", "accessory-robust/att-empty", "--cases", tmp_path / "cases", "--accessory", "thermometer", "--profile", "en18031", "--json", results,
        expected=1)
    [case] = json.loads(results.read_text())["cases"]
    assert "[en18031 GEC-6 (shall); en18031 RLM-1 (shall)]" in case["message"], case["message"]


def test_rules_of_other_profiles_are_not_chosen():
    listed = run_bench("run", "accessory", "--profile", "en18031", "--list").stdout
    assert "accessory-robust/survives[pdu=att-empty]" in listed and "accessory-profile/" not in listed


def test_other_profiles_have_no_page():
    said = run_bench("evidence", ROOT / "nothing.json", "--profile", "adg-r31", expected=2).stderr
    assert "use en18031" in said, said
    assert "no such file" in run_bench("evidence", ROOT / "nothing.json", expected=2).stderr
