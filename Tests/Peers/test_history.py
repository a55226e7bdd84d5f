"""Results over time: added once, written by two writers in turn, plotted on one page, and exported as metrics."""

import concurrent.futures
import html.parser
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess

import pytest

from support import TIMEOUT, bluebench, run_bench

FAIL, USAGE, BENCH = 1, 2, 3


def write_run(path, number, goodput=1300.0, mtus=(247,), **setup):
    rows = [
        {"over": "notify", "direction": "from-subject", "phy": "2m", "data_length": 251, "mtu": mtu, "interval_ms": 15, "goodput_kbps": goodput,
         "ceiling_kbps": 1400.0}
        for mtu in mtus]
    made = {"tester": "virtual", "subject": "virtual", "date": f"2026-01-01T{number // 60:02}:{number % 60:02}:00", "build": "0.1", "host": "h"}
    path.write_text(json.dumps({"setup": made | setup, "rows": rows, "seed": number}))
    return path


def fill(tmp_path, goodputs):
    """A history of one row, with a build for each figure."""
    history = tmp_path / "h.sqlite"
    files = [write_run(tmp_path / f"{number}.json", number, goodput, labels={"build": f"b{number}"}) for number, goodput in enumerate(goodputs)]
    run_bench("history", "add", history, *files)
    return history


WOBBLE = [0, 2, -1, 1, -2, 3, -3, 1, 0, -1]
DROP = [1300 + WOBBLE[number % 10] for number in range(40)] + [1261 + WOBBLE[number % 10] for number in range(10)]


def test_what_was_measured_is_kept_once(tmp_path):
    history, figures, verdicts, runs = (tmp_path / name for name in ("h.sqlite", "figures.json", "verdicts.json", "runs.json"))
    run_bench("throughput", "--seconds", "0.2", "--repeat", "2", "--label", "antenna=inside", "--json", figures)
    run_bench("run", "phy/read", "--json", verdicts)
    run_bench("history", "add", history, figures, verdicts, "--build", "abc", "--label", "night=1")
    again = tmp_path / "again.json"
    again.write_text(json.dumps(json.loads(figures.read_text())))
    assert "already, as run 1; nothing was added" in run_bench("history", "add", history, again, expected=USAGE).stderr
    listed = run_bench("history", "list", history, "--json", runs).stdout
    assert "2 runs" in listed and "antenna=inside" in listed
    made = json.loads(runs.read_text())
    assert {(run["kind"], run["build"], run["count"], run["labels"]["night"]) for run in made} == {("throughput", "abc", 1, "1"), ("verdicts", "abc", 1, "1")}
    assert made[0]["date"] and made[0]["host"]
    shown = run_bench("history", "show", history).stdout
    assert "notify from-subject 2m 251/247 15 ms" in shown and "1 PASS; 0 turned" in shown


def test_a_change_is_named_and_can_fail(tmp_path):
    history, findings = fill(tmp_path, DROP), tmp_path / "f.json"
    assert "-3.0 % at b40" in run_bench("history", "show", history, "--json", findings).stdout
    [row] = json.loads(findings.read_text())["rows"]
    [change] = row["changes"]
    assert (change["build"], change["worse"], change["runs_ago"]) == ("b40", True, 10) and len(row["points"]) == 50
    run_bench("history", "show", history, "--fail-within", "9")
    assert "worse within 10 runs: notify" in run_bench("history", "show", history, "--fail-within", "10", expected=FAIL).stderr
    assert "0 changed" in run_bench("history", "show", history, "--smallest", "5").stdout
    assert "no row's name holds coded" in run_bench("history", "show", history, "--row", "coded", expected=USAGE).stderr


class Page(html.parser.HTMLParser):
    """Counts a page's elements, and its external resources."""

    def __init__(self, text):
        super().__init__()
        self.count, self.open, self.loads = {}, [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        kind = f"{tag}.{dict(attributes).get('class')}" if tag == "g" else tag
        self.count[kind] = self.count.get(kind, 0) + 1
        self.loads += [value for name, value in attributes if name in ("src", "href") and not value.startswith("#")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_run_says_itself_when_and_by_what_it_was_made(tmp_path):
    history, results, runs = (tmp_path / name for name in ("h.sqlite", "results.json", "runs.json"))
    run_bench("run", "phy/read", "--json", results)
    made = json.loads(results.read_text())["run"]
    os.utime(results, (0, 0))
    run_bench("history", "add", history, results)
    run_bench("history", "list", history, "--json", runs)
    [found] = json.loads(runs.read_text())
    assert (found["date"], found["host"], found["program"]) == (made["date"], os.uname().nodename, made["build"])


def test_the_page_stands_alone(tmp_path):
    history, page = fill(tmp_path, DROP), tmp_path / "page.html"
    verdicts = {"run": {"tester": "virtual", "subject": "virtual"}, "cases": [{"id": "a<b", "verdict": "PASS"}]}
    for verdict in ("PASS", "FAIL"):
        verdicts["cases"][0]["verdict"] = verdict
        (tmp_path / "v.json").write_text(json.dumps(verdicts))
        run_bench("history", "add", history, tmp_path / "v.json", "--build", f"<{verdict}>")
    run_bench("history", "plot", history, page, "--title", "A & B")
    text = page.read_text()
    found = Page(text)
    assert found.loads == [] and "script" not in found.count
    assert found.count["circle"] == 50 and found.count["g.worse"] == 1 and found.count["svg"] == 2
    assert "A &amp; B" in text and "a&lt;b" in text and "PASS to FAIL" in text and "&lt;FAIL&gt;" in text
    assert "b40" in text and "-3.0 %" in text


def test_the_page_at_400_pixels(tmp_path):
    from playwright.sync_api import sync_playwright
    from axe_playwright_python.sync_playwright import Axe

    history, page = fill(tmp_path, DROP), tmp_path / "page.html"
    run_bench("history", "plot", history, page)
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            view = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme=scheme)
            view.goto(page.as_uri(), timeout=TIMEOUT * 1_000)
            assert view.evaluate("document.documentElement.scrollWidth") <= 400
            assert min(view.eval_on_selector_all("svg text", "all => all.map(t => t.getBoundingClientRect().height)")) >= 9
            serious = [found["id"] for found in Axe().run(view).response["violations"] if found["impact"] in ("serious", "critical")]
            assert serious == []
        browser.close()


NAME = r"[a-zA-Z_][a-zA-Z0-9_]*"
LABEL = NAME + r'="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{(?:{LABEL}(?:,{LABEL})*)?\}})? (-?[0-9.]+(?:e[+-]?[0-9]+)?)")
UNITS = ("bits_per_second", "seconds", "ratio")


def families(text):
    """A strict parser of OpenMetrics text, as far as gauges and infos need it: contiguous families, metadata first, unique samples, and the end mark."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""] and lines.count("# EOF") == 1
    found, name, suffix, seen = {}, None, "", set()
    for line in lines[:-2]:
        if match := re.fullmatch(rf"# TYPE ({NAME}) (gauge|info)", line):
            name, suffix = match[1], "_info" if match[2] == "info" else ""
            assert name not in found
            found[name] = {}
        elif match := re.fullmatch(rf"# UNIT ({NAME}) (\w+)", line):
            assert match[1] == name and name.endswith("_" + match[2]) and match[2] in UNITS and not found[name]
        elif match := re.fullmatch(rf"# HELP ({NAME}) (?:[^\\\n]|\\[\\n\"])*", line):
            assert match[1] == name and not found[name]
        else:
            match = SAMPLE.fullmatch(line)
            assert match and match[1] == name + suffix and line.rpartition(" ")[0] not in seen, line
            seen.add(line.rpartition(" ")[0])
            found[name][line.rpartition(" ")[0]] = float(match[2])
    assert all(found.values())
    return found


def test_scraping(tmp_path):
    history = fill(tmp_path, DROP)
    run_bench("history", "add", history, write_run(tmp_path / "x.json", 99, tester='a "b" \\', labels={"x": "ü"}))
    (tmp_path / "v.json").write_text(json.dumps({"cases": [{"id": "a", "verdict": "PASS"}, {"id": "b", "verdict": "N/A"}]}))
    run_bench("history", "add", history, tmp_path / "v.json")
    found = families(run_bench("history", "show", history, "--openmetrics", "-").stdout)
    assert sorted(found["bluebench_goodput_bits_per_second"].values()) == [1_260_000, 1_300_000]
    assert sorted(found["bluebench_cases"].values()) == [1, 1]
    assert set(found["bluebench_setup"].values()) == {1} and any('description="' in line for line in found["bluebench_setup"])
    assert all(len(line) < 100 for line in found["bluebench_goodput_bits_per_second"]), "the setup is a number"
    [change] = found["bluebench_goodput_change_ratio"].values()
    assert change == pytest.approx(-0.03, abs=0.002)


def test_many_writers_at_once(tmp_path):
    history = tmp_path / "h.sqlite"
    files = [write_run(tmp_path / f"{number}.json", number) for number in range(16)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda path: run_bench("history", "add", history, path), files))
    assert "16 runs" in run_bench("history", "list", history).stdout


@pytest.mark.parametrize("ignores", [True, False])
def test_a_full_disk_and_a_killed_writer_lose_nothing(tmp_path, ignores):
    """A limit of the file size simulates a full disk: reported to a program that ignores the signal, and fatal to one that does not."""
    history = fill(tmp_path, DROP[:3])
    large = write_run(tmp_path / "large.json", 50, mtus=range(23, 500))
    room = history.stat().st_size + 8192

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignores else signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    result = subprocess.run([bluebench(), "history", "add", history, large], capture_output=True, text=True, timeout=TIMEOUT, preexec_fn=limit, restore_signals=False)
    if ignores:
        assert result.returncode == BENCH and "is as it was" in result.stderr
    else:
        assert result.returncode == -signal.SIGXFSZ
    assert "3 runs" in run_bench("history", "list", history).stdout
    run_bench("history", "add", history, large)
    with sqlite3.connect(history) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("list", "{tmp}/none"), "there is no history"),
        (("show", "{tmp}/theirs"), "database of another program"),
        (("add", "{tmp}/theirs", "{tmp}/run.json"), "database of another program"),
        (("plot", "{tmp}/text", "{tmp}/page.html"), "not an SQLite file"),
        (("add", "{tmp}/h", "{tmp}/text"), "is not JSON"),
        (("add", "{tmp}/h", "{tmp}/run.json", "--date", "yesterday"), "--date yesterday"),
        (("add", "{tmp}/h", "{tmp}/run.json", "--label", "x"), "NAME=VALUE"),
        (("add", "{tmp}/h", "{tmp}/run.json", "{tmp}/run.json"), "nothing was added"),
        (("add", "{tmp}/no/h", "{tmp}/run.json"), "cannot open"),
        (("show", "{tmp}/h", "--last", "0"), "'0'"),
    ],
)
def test_what_is_no_history(tmp_path, arguments, words):
    write_run(tmp_path / "run.json", 1)
    (tmp_path / "text").write_text("words " * 200)
    with sqlite3.connect(tmp_path / "theirs") as database:
        database.execute("CREATE TABLE x (y)")
    result = run_bench("history", *(argument.format(tmp=tmp_path) for argument in arguments), expected=USAGE)
    assert words in result.stderr and len(result.stderr.splitlines()) == 1


def test_each_set_up_stands_above_its_rows(tmp_path):
    history = tmp_path / "h.sqlite"
    files = [write_run(tmp_path / f"{number}.json", number, packet_error=error) for number, error in enumerate((0.0, 0.03))]
    run_bench("history", "add", history, *files)
    lines = run_bench("history", "show", history, "--row", "notify", "--row", "wriet").stdout.splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith("set-up: ")]
    rows = [number for number, line in enumerate(lines) if line.startswith("notify ")]
    assert len(heads) == 2 and heads[0] < rows[0] < heads[1] < rows[1] and lines[heads[0]] != lines[heads[1]]
    assert "0.03" in lines[heads[1]]


def test_a_text_that_no_row_has_is_told(tmp_path):
    history = tmp_path / "h.sqlite"
    run_bench("history", "add", history, write_run(tmp_path / "1.json", 1))
    assert "--row wriet: no row's name contains it" in run_bench("history", "show", history, "--row", "notify", "--row", "wriet").stderr
