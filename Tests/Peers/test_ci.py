"""The CI features of a run: shards, early end, retries and a summary; merged parts equal the whole."""

import json
import os
import re
import xml.etree.ElementTree as ElementTree

import pytest

from support import bluebench, dongles, run_bench

PASS, FAIL, USAGE, BENCH = 0, 1, 2, 3
COUNT = 12

CASE = """
title: Case {number}
purpose: It reads a number, and every third wants another status.
reference: Core Vol 4, Part E, 7.8.23
subject: controller
steps:
  - {{send: LE_Rand, as: subject, answer: {{Status: {wanted}}}, states: The status is {wanted}.}}
"""
ODD = """
title: Heads
purpose: The number that is drawn is odd.
reference: Core Vol 4, Part E, 7.8.23
subject: controller
steps:
  - {send: LE_Rand, as: subject, saveAs: drawn}
  - {check: $drawn.Random_Number, is: {mask: 1, is: 1}, states: The number is odd.}
"""
LONG = """
title: Long
purpose: It waits.
reference: Core Vol 4, Part E, 7.8.23
subject: controller
steps:
  - {send: LE_Rand, as: subject, answer: {Status: Success}, states: The command succeeds.}
  - {wait: 100 s}
"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mine")
    for suite, name, text in [
        *(("made", f"case-{number:02}", CASE.format(number=number, wanted="Success" if number % 3 else "Hardware_Failure")) for number in range(COUNT)),
        ("chance", "heads", ODD), ("long", "wait", LONG),
    ]:
        (folder / suite).mkdir(exist_ok=True)
        (folder / suite / f"{name}.yaml").write_text(text)
    return folder


def results(folder):
    return json.loads((folder / "results.json").read_text())


@pytest.fixture(scope="module")
def whole(cases, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    run_bench("run", "made", "--cases", cases, "--report", folder, expected=FAIL)
    return folder


def told(case):
    case = case | {"message": re.sub(r"packet \d+", "packet", case["message"])}
    case["step"] = {key: value for key, value in case.get("step", {}).items() if key != "packet"}
    return {key: case.get(key) for key in ("id", "title", "verdict", "message", "virtual_ms", "seed", "covers", "purpose", "file", "step")}


def run_shards(cases, folder, count, *options):
    folders = [folder / f"shard-{index}" for index in range(1, count + 1)]
    for index, part in enumerate(folders, 1):
        run_bench("run", "made", "--cases", cases, "--shard", f"{index}/{count}", "--report", part, *options, expected=None)
    return folders


@pytest.mark.parametrize("by_duration", [False, True])
def test_merged_shards_equal_the_whole(tmp_path, cases, whole, by_duration):
    folders = run_shards(cases, tmp_path, 3, *(["--durations", whole] if by_duration else []))
    ids = [case["id"] for folder in folders for case in results(folder)["cases"]]
    assert sorted(ids) == [case["id"] for case in results(whole)["cases"]], "each is in one part"
    assert results(folders[1])["run"]["shard"] == "2/3"
    merged = tmp_path / "merged"
    output = run_bench("merge", *folders, "--report", merged, expected=FAIL)
    assert "8 PASS, 4 FAIL of 3 runs" in output.stdout
    now, then = results(merged), results(whole)
    assert [told(case) for case in now["cases"]] == [told(case) for case in then["cases"]]
    assert now["summary"] == then["summary"]
    for key in ("seed", "tester", "subject", "interrupted"):
        assert now["run"][key] == then["run"][key]
    junit = ElementTree.parse(merged / "junit.xml").getroot()
    assert (junit.get("tests"), junit.get("failures")) == ("12", "4")
    for case in now["cases"]:
        assert case["evidence"] or case["verdict"] == "PASS"
        for entry in case["evidence"]:
            lines = run_bench("show", merged / case["capture"]).stdout.splitlines()
            assert any(line.split()[0] == str(entry["packet"]) and "LE_Rand" in line for line in lines)


def test_a_part_that_was_killed_and_done_again_counts_once(tmp_path, cases, whole):
    run_bench("run", "made", "--cases", cases, "--max-failures", 1, "--report", tmp_path / "a", expected=FAIL)
    assert results(tmp_path / "a")["summary"]["not_run"] == COUNT - 1
    (tmp_path / "b").mkdir()
    lines = (whole / "results.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "b" / "results.jsonl").write_text("".join([lines[0], *lines[2:]]) + '{"id": "made/cut')
    run_bench("merge", tmp_path / "a", tmp_path / "b", "--json", tmp_path / "all.json", expected=FAIL)
    assert json.loads((tmp_path / "all.json").read_text())["summary"] == results(whole)["summary"]


def test_runs_that_are_no_parts_of_one_are_refused(tmp_path, cases, whole):
    twice = run_bench("merge", whole, whole, "--json", tmp_path / "x", expected=USAGE)
    assert "made/case-00 is FAIL in one run" in twice.stderr and "--again" in twice.stderr
    run_bench("merge", whole, whole, "--again", "--json", tmp_path / "x", expected=FAIL)
    run_bench("run", "made/case-01", "--cases", cases, "--seed", 2, "--json", tmp_path / "other.json")
    assert "seed 2" in run_bench("merge", whole, tmp_path / "other.json", expected=USAGE).stderr
    (tmp_path / "none.json").write_text('{"rows": []}')
    assert "does not hold the results" in run_bench("merge", tmp_path / "none.json", expected=USAGE).stderr
    assert "no such file" in run_bench("merge", tmp_path / "nothing", expected=USAGE).stderr


PASSING = ["made/case-01", "made/case-02", "made/case-04"]


@pytest.fixture(scope="module")
def shards(cases, tmp_path_factory):
    """The three shards of a run that passes."""
    folder = tmp_path_factory.mktemp("shards")
    for index in (1, 2, 3):
        run_bench("run", *PASSING, "--cases", cases, "--shard", f"{index}/3", "--report", folder / str(index))
    return [folder / str(index) for index in (1, 2, 3)]


def test_a_missing_shard_is_named_and_no_success(tmp_path, shards):
    merged = run_bench("merge", shards[0], shards[2], "--report", tmp_path / "m", expected=BENCH)
    assert merged.stderr == "bluebench: shard 2 of 3 is missing\n" and "2 PASS of 2 runs" in merged.stdout
    run = results(tmp_path / "m")["run"]
    assert (run["shard"], run["missing_shards"], run["interrupted"]) == ("1/3, 3/3", [2], True)
    assert "Incomplete: shard 2 of 3 is missing" in (tmp_path / "m" / "index.html").read_text()
    assert "shards 2 and 3 of 3 are missing" in run_bench("merge", shards[0], expected=BENCH).stderr
    run_bench("merge", tmp_path / "m", shards[1], "--report", tmp_path / "all")
    assert "missing_shards" not in results(tmp_path / "all")["run"] and "shard" not in results(tmp_path / "all")["run"]


def test_a_missing_shard_may_be_accepted(tmp_path, shards):
    accepted = run_bench("merge", shards[0], shards[2], "--allow-missing-shards", "--report", tmp_path, "--markdown", tmp_path / "summary.md")
    assert "shard 2 of 3 is missing" in accepted.stderr
    assert results(tmp_path)["run"]["missing_shards"] == [2] and "shard 1/3, 3/3" in (tmp_path / "summary.md").read_text()


def test_shards_of_differently_divided_runs_are_refused(tmp_path, cases, shards):
    run_bench("run", *PASSING, "--cases", cases, "--shard", "2/4", "--report", tmp_path / "other")
    refused = run_bench("merge", shards[0], tmp_path / "other", expected=USAGE).stderr
    assert "is shard 2/4" in refused and "is shard 1/3: not shards of one run" in refused


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (["made"], ["is a shard of made", "a shard of made/case-01 made/case-02 made/case-04: not shards of one run"]),
        ([], None),
        ([*PASSING[:2], "chance/heads"], ["is a shard of made/case-01 made/case-02 chance/heads"]),
    ])
def test_shards_of_other_cases_are_refused(tmp_path, cases, shards, other, words):
    if words is None:
        other, words = [*PASSING, "--durations", str(shards[0])], ["are shards of different cases", "--durations"]
    run_bench("run", *other, "--cases", cases, "--shard", "2/3", "--report", tmp_path / "other", expected=None)
    for name in ("other", "other/results.jsonl"):
        refused = run_bench("merge", shards[0], tmp_path / name, "--report", tmp_path / "m", expected=USAGE).stderr
        assert all(word in refused for word in words), refused


def test_a_run_does_not_continue_with_a_shard_of_other_cases(tmp_path, cases):
    for number in (1, 2):
        run_bench("run", *PASSING, "--cases", cases, "--shard", f"{number}/3", "--report", tmp_path, "--resume")
    refused = run_bench("run", "made", "--cases", cases, "--shard", "3/3", "--report", tmp_path, "--resume", expected=USAGE).stderr
    assert "it has a shard of made/case-01 made/case-02 made/case-04, this run one of made" in refused


@pytest.mark.parametrize("count", [0, 5, 13])
def test_results_with_other_cases_than_their_summary_counts_are_refused(tmp_path, whole, count):
    document = results(whole)
    document["cases"] = (document["cases"] * 2)[:count]
    (tmp_path / "cut.json").write_text(json.dumps(document))
    for words in (["merge"], ["run", "--list", "--last-failed"]):
        refused = run_bench(*words, tmp_path / "cut.json", expected=USAGE).stderr
        assert f"`summary` counts 12 cases, but `cases` has {count}" in refused


def test_a_journal_replaces_damaged_results(tmp_path, shards):
    """The results of a run whose last file was cut short are still complete line by line."""
    for shard in shards:
        (tmp_path / shard.name).mkdir()
        (tmp_path / shard.name / "results.jsonl").write_text((shard / "results.jsonl").read_text())
    (tmp_path / "1" / "results.json").write_text((shards[0] / "results.json").read_text()[:200])
    # A journal does not say that its run ended.
    merged = run_bench("merge", *(tmp_path / shard.name for shard in shards), expected=BENCH)
    assert "1/results.jsonl is read instead" in merged.stderr and "3 PASS of 3 runs" in merged.stdout
    assert "shard" not in merged.stderr, "a journal names its shard"


def test_what_did_not_pass_is_not_run_again_after_a_run_without_an_end(tmp_path, cases, shards):
    (tmp_path / "results.jsonl").write_text((shards[0] / "results.jsonl").read_text())
    refused = run_bench("run", *PASSING, "--cases", cases, "--last-failed", tmp_path, expected=BENCH)
    assert "did not reach its end" in refused.stderr


@pytest.mark.parametrize("capture", ["/", "..", ".", "", "sub/..", "sub", "link.pcapng", "pipe.pcapng"])
def test_a_merged_capture_is_a_file_beside_its_results(tmp_path, capture):
    """Results may be those of others: nothing else than a capture beside them is brought into the report."""
    part, secret = tmp_path / "part", tmp_path / "secret"
    run_bench("run", "phy/read", "--report", part)
    document = json.loads((part / "results.json").read_text())
    document["cases"][0]["capture"] = capture
    (part / "results.json").write_text(json.dumps(document))
    (part / "results.jsonl").unlink()
    secret.write_text("secret")
    (part / "sub").mkdir()
    (part / "link.pcapng").symlink_to(secret)
    os.mkfifo(part / "pipe.pcapng")
    run_bench("merge", part, "--report", tmp_path / "merged")
    assert {path.name for path in (tmp_path / "merged").rglob("*")} == {"results.json", "junit.xml", "index.html", "public-tests.csv", "public-tests.json"}
    assert results(tmp_path / "merged")["cases"][0].get("capture") is None


@pytest.fixture(scope="module")
def flaky_seed(cases):
    """A seed whose first number is even and whose second is odd."""
    for seed in range(1, 40):
        first = run_bench("run", "chance/heads", "--cases", cases, "--seed", seed, expected=None)
        again = run_bench("run", "chance/heads", "--cases", cases, "--seed", seed, "--retry", 1, expected=None)
        if (first.returncode, again.returncode) == (FAIL, PASS):
            return seed
    raise AssertionError("another attempt draws the same")


def test_a_flaky_case_is_marked(tmp_path, cases, flaky_seed):
    options = ["chance/heads", "--cases", cases, "--seed", flaky_seed, "--retry", 3, "--report", tmp_path, "--markdown", tmp_path / "summary.md"]
    output = run_bench("run", *options, "--quiet").stdout
    assert "PASS    chance/heads (flaky: FAIL, PASS)" in output and "1 PASS (1 flaky)" in output
    [case] = results(tmp_path)["cases"]
    assert case["verdict"] == "PASS" and case["flaky"] is True and results(tmp_path)["summary"]["flaky"] == 1
    assert [attempt["verdict"] for attempt in case["attempts"]] == ["FAIL", "PASS"]
    assert len({attempt["seed"] for attempt in case["attempts"]}) == 2 and case["attempts"][0]["last_packet"] < case["first_packet"]
    junit = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert junit.get("failures") == "0" and "The number is odd" in junit.find(".//flakyFailure").get("message")
    assert "Flaky" in (tmp_path / "summary.md").read_text()
    run_bench("run", *options, "--fail-on-flaky", expected=FAIL)


def test_flaky_means_the_same_everywhere(tmp_path, cases):
    """A case whose first attempt was an ERROR is as flaky as one whose first attempt was a FAIL."""
    options = [
        "made/case-01", "--cases", cases, "--before-case", "[ $BLUEBENCH_ATTEMPT -gt 1 ]", "--retry", 1, "--report", tmp_path, "--markdown",
        tmp_path / "summary.md"]
    passed = run_bench("run", *options).stdout
    assert "1 PASS (1 flaky)" in passed and "flaky: ERROR, PASS" in passed
    [case] = results(tmp_path)["cases"]
    assert case["flaky"] is True and results(tmp_path)["summary"]["flaky"] == 1
    assert ElementTree.parse(tmp_path / "junit.xml").getroot().find(".//flakyFailure").get("type") == "ERROR"
    assert "Passed, 1 flaky" in (tmp_path / "summary.md").read_text()
    assert "flaky: ERROR, PASS" in (tmp_path / "index.html").read_text()
    run_bench("run", *options, "--fail-on-flaky", expected=FAIL)
    assert "1 case is flaky" in (tmp_path / "summary.md").read_text() and "1 case is flaky" in (tmp_path / "index.html").read_text()
    assert results(tmp_path)["run"]["fail_on_flaky"] is True
    run_bench("merge", tmp_path, expected=FAIL)


def test_a_case_that_fails_each_time_fails(tmp_path, cases):
    run_bench("run", "made/case-00", "--cases", cases, "--retry", 2, "--report", tmp_path, expected=FAIL)
    [case] = results(tmp_path)["cases"]
    assert [attempt["verdict"] for attempt in case["attempts"]] == ["FAIL"] * 3 and "flaky" not in case
    junit = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert len(junit.findall(".//failure")) == 1 and len(junit.findall(".//rerunFailure")) == 3


def test_enough_failures_end_the_run(tmp_path, cases):
    output = run_bench("run", "made", "--cases", cases, "--max-failures", 2, "--report", tmp_path, expected=FAIL).stdout
    assert "8 cases not run: the run ended after 2 failures" in output
    assert len([line for line in output.splitlines() if "made/case" in line]) == 4, "who was not run has no line"
    assert f"to go on  bluebench run made --cases {cases} --max-failures 2 --report {tmp_path} --resume" in output
    document = results(tmp_path)
    assert document["run"]["ending"] == "the run ended after 2 failures" and document["summary"]["not_run"] == 8
    junit = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (junit.get("failures"), junit.get("errors"), junit.find("testsuite").get("skipped")) == ("2", "0", "8")
    run_bench("run", "made", "--cases", cases, "--report", tmp_path, "--resume", expected=FAIL)
    assert results(tmp_path)["summary"] == {"pass": 8, "fail": 4, "inconc": 0, "na": 0, "error": 0}


def test_a_run_whose_time_is_up_ends(tmp_path, cases):
    with dongles(2) as (near, far):
        ends = ("--tester", f"tcp:127.0.0.1:{near}", "--subject", f"tcp:127.0.0.1:{far}")
        output = run_bench("run", "long", "made", "--cases", cases, *ends, "--timeout", 1, "--report", tmp_path, expected=BENCH).stdout
    assert f"{COUNT} cases not run: the run's time was up (--timeout 1)" in output
    assert {case["verdict"] for case in results(tmp_path)["cases"]} == {"INCONC"}
    assert results(tmp_path)["cases"][0]["message"] == "the run's time was up (--timeout 1)"


def test_what_did_not_pass_can_be_run_again(tmp_path, cases, whole):
    output = run_bench("run", "--cases", cases, "--last-failed", whole, "--report", tmp_path, expected=FAIL).stdout
    failed = [case["id"] for case in results(whole)["cases"] if case["verdict"] == "FAIL"]
    assert [case["id"] for case in results(tmp_path)["cases"]] == failed
    assert "once more, what did not pass" in output
    run_bench("run", "made/case-00", "--cases", cases, "--report", tmp_path, "--last-failed", "--quiet", expected=FAIL)
    assert len(results(tmp_path)["cases"]) == 1
    run_bench("run", "made/case-01", "--cases", cases, "--report", tmp_path)
    again = run_bench("run", "--cases", cases, "--report", tmp_path, "--last-failed")
    assert "has passed" in again.stdout and len(results(tmp_path)["cases"]) == 1


def test_quiet_says_what_needs_attention(cases):
    lines = run_bench("run", "made", "--cases", cases, "--quiet", expected=FAIL).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["FAIL"] * 4 + ["8"]


@pytest.mark.parametrize(("options", "environment", "is_coloured"), [((), {}, False), (("--color", "always"), {"NO_COLOR": "1"}, True), (("--color", "never"), {}, False)])
def test_colour(cases, monkeypatch, options, environment, is_coloured):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[31mFAIL\x1b[0m" in run_bench("run", "made/case-00", "--cases", cases, *options, expected=FAIL).stdout) == is_coloured


def test_a_summary_for_a_job(cases):
    text = run_bench("run", "made", "--cases", cases, "--markdown", "-", expected=FAIL).stdout
    assert text.startswith("## 4 cases failed\n") and "8 PASS, 4 FAIL." in text
    assert re.search(r"^\| FAIL \| `made/case-00` \| .*Hardware.* \| [\d, ]+ \|$", text, re.M)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--shard", "5/4"], "i/n"), (["--shard", "0/4"], "i/n"), (["--shard", "x"], "i/n"), (["--shard", "20/20"], "fewer cases than parts"),
        (["--durations", "x"], "--shard"), (["--fail-on-flaky"], "--retry"), (["--last-failed"], "--report"), (["--retry", "-1"], "0 to 100"),
        (["--max-failures", "0"], "1 to"), (["--last-failed", "/nope"], "no such file"), (["--timeout", "0"], "1 to"), (["--color", "red"], "'always'"),
    ],
)
def test_options_that_mean_nothing(cases, options, words):
    result = run_bench("run", "made", "--cases", cases, *options, expected=USAGE)
    assert words in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr


def test_a_new_case_passes(tmp_path):
    run_bench("new", "case", "battery/level", "--cases", tmp_path / "mine")
    run_bench("check", tmp_path / "mine")
    assert "PASS    battery/level" in run_bench("run", "--cases", tmp_path / "mine").stdout
    assert "exists already" in run_bench("new", "case", "battery/level", "--cases", tmp_path / "mine", expected=USAGE).stderr
    assert "suite/name" in run_bench("new", "case", "../x", "--cases", tmp_path, expected=USAGE).stderr
    run_bench("new", "case", "battery/met", "--accessory", "--cases", tmp_path / "mine")
    assert "2 PASS" in run_bench("run", "--cases", tmp_path / "mine").stdout


@pytest.mark.parametrize(
    ("words", "wanted", "unwanted"),
    [
        (("", "ph"), {"phy", "phy/"}, {"mutants", "procedures", "phy/read"}), (("", "phy/"), {"phy/read", "phy/coded"}, {"hci/rand"}),
    ],
)
def test_a_shell_completes_cases(words, wanted, unwanted):
    """The arguments of a completion script: the argument, the word and the cursor position."""
    offered = set(run_bench("---completion", "run", "--", "positional@0", "1", str(len(words[1])), "bluebench", words[1]).stdout.split())
    assert wanted <= offered and not unwanted & offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_completion_script(shell):
    script = run_bench("--generate-completion-script", shell).stdout
    assert "---completion run" in script and "last-failed" in script and "\\u{" not in script
