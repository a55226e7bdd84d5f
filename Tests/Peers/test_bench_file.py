"""`bench.yaml`: the options that a bench always passes; the command line wins over the file, and results name the origin of each."""

import json
import re

import pytest

from support import ROOT, bluebench, run_bench

USAGE = 2
CASES = ["--cases", ROOT / "Conformance"]
ONE = ["run", "phy/read", *CASES]
PAGE = ROOT / "docs/guide/bench-file.md"
NOBODY = "tcp:127.0.0.1:1"


@pytest.fixture
def bench(tmp_path):
    """Runs commands in a folder with this `bench.yaml`."""

    def run(text, *arguments, expected=0, name="bench.yaml"):
        (tmp_path / name).write_text(text)
        return run_bench(*arguments, expected=expected, cwd=tmp_path)

    return run


def made(tmp_path):
    return json.loads((tmp_path / "out.json").read_text())["run"]


def origins(run):
    return {entry["option"]: (entry.get("value"), entry["origin"]) for entry in run["options"]}


def test_a_run_takes_the_options_of_the_folder(tmp_path, bench):
    bench("label: [desk=3, room=lab]\nretry: 2\nbefore-case: echo before $BLUEBENCH_CASE >>log\nswap: false\n",
          *ONE, "--json", "out.json", "--html", "out.html", "--seed", 5)
    run = made(tmp_path)
    assert run["labels"] == {"desk": "3", "room": "lab"} and (tmp_path / "log").read_text() == "before phy/read\n"
    assert origins(run) == {
        "--label": ("desk=3, room=lab", "bench.yaml"), "--retry": ("2", "bench.yaml"),
        "--before-case": ("echo before $BLUEBENCH_CASE >>log", "bench.yaml")}
    page = (tmp_path / "out.html").read_text()
    assert "options, bench.yaml" in page and "--retry 2" in page


def test_the_command_line_wins(tmp_path, bench):
    bench("label: [desk=3]\nretry: 2\n", *ONE, "--json", "out.json", "--label", "room=lab", "--retry", "1", "--retry=0")
    run = made(tmp_path)
    assert run["labels"] == {"room": "lab"}
    assert origins(run) == {"--label": ("room=lab", "command line"), "--retry": ("0", "command line")}


@pytest.mark.parametrize(("words", "origin"), [(["--config", "other/desk.yaml"], "other/desk.yaml"), (["--config", "none"], None), ([], "bench.yaml")])
def test_another_file_or_none(tmp_path, bench, words, origin):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/desk.yaml").write_text("label: from=other\n")
    bench("label: from=folder\n", *ONE, "--json", "out.json", *words)
    run = made(tmp_path)
    assert run.get("labels") == (origin and {"from": "other" if "other" in origin else "folder"})
    assert origins(run) == {"--label": (run["labels"]["from"] and f"from={run['labels']['from']}", origin)} if origin else "options" not in run


def test_the_paths_of_a_file_begin_at_its_folder(tmp_path, bench):
    (tmp_path / "desk").mkdir()
    refused = bench("known-dongles: ours.yaml\n", *ONE, "--config", "desk/bench.yaml", name="desk/bench.yaml", expected=USAGE)
    assert "desk/ours.yaml" in refused.stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("tester: virtual\nslak: 5\n", "bench.yaml:2:1: unknown option 'slak'; did you mean slack?"),
        ("slack: often\n", "bench.yaml:1:8: slack is a number, not 'often'"),
        ("slack: 20000\n", "bench.yaml:1:8: slack is '20000': a whole number, 0 to 10000"),
        ("retry: 1.5\n", "bench.yaml:1:8: retry is '1.5': a whole number, 0 to 100"),
        ("event-filling: much\n", "bench.yaml:1:16: event-filling is 'much': Please provide one of 'actual' and 'reserve-max'."),
        ("force-usb: perhaps\n", "bench.yaml:1:12: force-usb is true or false, not 'perhaps'"),
        ("label: {a: b}\n", "bench.yaml:1:8: label must be a line of text"),
        ("report: out\n", "bench.yaml:1:1: unknown option 'report'"),
        ("- slack\n", "bench.yaml:1:1: the options of a bench must be a set of `name: value` lines"),
    ])
def test_a_mistake_is_refused_with_its_place(bench, text, line):
    for command in (ONE, ["throughput", "--seconds", "0.1"]):
        assert line in bench(text, *command, expected=USAGE).stderr.splitlines()


def test_a_missing_file_is_refused(tmp_path):
    refused = run_bench(*ONE, "--config", "desk.yaml", cwd=tmp_path, expected=USAGE)
    assert "desk.yaml:1:1: the file cannot be read" in refused.stderr


def test_help_does_not_read_the_file(bench):
    assert "USAGE: bluebench run" in bench("slak: 5\n", "run", "--help").stdout


RARE = "slack: 50\nswap: true\nclient-timeout: 5\nboot-line: booting\ncommand-timeout: 5\nfail-on-flaky: true\nwait-for-host: 9\n" \
    "wait-for-replug: 9\nsubject-address: random\nquirk: [joins-packets=20]\nvirtual-time: true\nbtp: tcp:127.0.0.1:1\nat-least: 90%\n" \
    "mps: '100'\ncredits: 5\nexchanges: 3\nforce-usb: true\n"


def test_options_without_effect_are_refused_on_the_command_line_only(tmp_path, bench):
    """A file serves every run of a bench: with dongles, in the simulation, with and without retries."""
    bench(RARE, *ONE, "--json", "out.json")
    bench(RARE, "throughput", "--seconds", "0.1")
    for words in (["--slack", "50"], ["--client-timeout", "5"], ["--boot-line", "x"], ["--command-timeout", "5"], ["--fail-on-flaky"]):
        assert words[0] in run_bench(*ONE, *words, expected=USAGE).stderr


def test_a_conflict_names_the_file(bench):
    refused = bench(f"tester: {NOBODY}\n", *ONE, expected=USAGE).stderr
    assert f"--tester {NOBODY} is a real device, but the DUT is virtual" in refused
    assert "--tester is from bench.yaml (--config none: without it)" in refused
    bench(f"tester: {NOBODY}\n", *ONE, "--tester", "virtual")
    assert "bench.yaml" not in bench("retry: 1\n", *ONE, "--tester", NOBODY, expected=USAGE).stderr


def test_throughput_takes_its_options(tmp_path, bench):
    bench("exchanges: 1\nlabel: desk=3\nslack: 50\n", "throughput", "--seconds", "0.1", "--json", "out.json")
    setup = json.loads((tmp_path / "out.json").read_text())["setup"]
    assert setup["exchanges"] == 1 and setup["labels"] == {"desk": "3"}
    assert origins(setup) == {"--exchanges": ("1", "bench.yaml"), "--label": ("desk=3", "bench.yaml")}


def test_a_tool_takes_what_is_about_dongles(bench):
    refused = bench("known-dongles: ours.yaml\ntester: virtual\nquirk: [x]\n", "scan", NOBODY, expected=USAGE)
    assert "ours.yaml" in refused.stderr
    assert "unknown option 'slak'" in bench("slak: 5\n", "scan", NOBODY, expected=USAGE).stderr
    bench("slak: 5\n", "schema", "--chips")


def test_the_command_that_repeats_a_case_names_the_file(tmp_path, bench):
    (tmp_path / "mine/own").mkdir(parents=True)
    (tmp_path / "mine/own/fails.yaml").write_text(
        "title: t\npurpose: p\nreference: r\nsubject: controller\nsteps:\n"
        "  - {send: LE_Rand, as: subject, answer: {Status: Hardware_Failure}, states: It fails.}\n")
    bench("retry: 0\n", "run", "own", "--cases", "mine", "--config", "desk.yaml", "--html", "out.html", name="desk.yaml", expected=1)
    assert "--config desk.yaml" in (tmp_path / "out.html").read_text()


@pytest.mark.parametrize(("command", "options", "lines"), [("run", 46, 130), ("throughput", 46, 120)])
def test_the_help_fits_three_screens(command, options, lines, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = run_bench(command, "--help").stdout
    assert len(re.findall(r"^  --", shown, re.M)) <= options and len(shown.splitlines()) <= lines, len(shown.splitlines())


def test_the_page_lists_options_that_exist(tmp_path, bench):
    text = PAGE.read_text()
    known = "".join(run_bench(command, "--help-hidden").stdout for command in ("run", "throughput"))
    keys = [key for row in re.findall(r"^\| (`[a-z`, -]+`) \|", text, re.M) for key in re.findall(r"`([a-z-]+)`", row)]
    assert len(keys) > 30
    for key in keys:
        assert re.search(rf"--{key}\b(?!-)", known) or key == "usb-timeout", key
        refused = bench(f"{key}: [[]]\n", *ONE, expected=USAGE).stderr
        assert "unknown option" not in refused, key
    (tmp_path / "our-dongles.yaml").write_text("dongles: []\n")
    for example in re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S):
        bench(re.sub("usb:.*", "virtual", example), *ONE, "--list")
