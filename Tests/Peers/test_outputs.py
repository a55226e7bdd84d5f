"""Output files: regular files are replaced atomically, other kinds are kept and written to; nothing is lost."""

import json
import os
import re
import signal
import stat
import subprocess
import threading

import pytest

from support import TIMEOUT, ROOT, Process, bluebench, dongles, run_bench

pytestmark = pytest.mark.wall_time

PASS, USAGE, BENCH = 0, 2, 3
ONE_CASE = ("run", "hci/buffer-size")
ENCRYPTED = ("run", "encryption/central-starts")
FULL = "/dev/full"
"""Every write fails with ENOSPC, as on a full disk."""


def verdicts(text):
    return [case["verdict"] for case in json.loads(text)["cases"]]


@pytest.mark.parametrize("path", ["-", "/dev/stdout"])
@pytest.mark.parametrize("command", [ONE_CASE, ("throughput", "--seconds", "0.1")])
def test_the_standard_output_is_the_document_alone(tmp_path, command, path):
    result = run_bench(*command, "--json", path, cwd=ROOT)
    document = json.loads(result.stdout)
    assert ("cases" in document) or ("rows" in document)
    assert result.stderr, "lines for people go elsewhere"
    assert not (ROOT / "-").exists()


def test_a_fifo_stays_a_fifo_and_its_reader_gets_the_document(tmp_path):
    path = tmp_path / "results"
    os.mkfifo(path)
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_text()), daemon=True)
    reader.start()
    run_bench(*ONE_CASE, "--json", path)
    reader.join(TIMEOUT)
    assert verdicts(got[0]) == ["PASS"]
    assert stat.S_ISFIFO(os.lstat(path).st_mode)


@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_link_stays_a_link(tmp_path, is_dangling):
    target, link = tmp_path / "target", tmp_path / "link"
    if not is_dangling:
        target.write_text("old")
    link.symlink_to("target")
    run_bench(*ONE_CASE, "--json", link)
    assert link.is_symlink()
    assert verdicts(target.read_text()) == ["PASS"]


def test_a_device_stays_a_device():
    """On an own device node if possible, otherwise on the machine's null device through a link."""
    run_bench(*ONE_CASE, "--json", os.devnull, "--junit", os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_file_keeps_its_permissions_and_no_draft_is_left(tmp_path):
    path = tmp_path / "results.json"
    path.write_text("old")
    path.chmod(0o640)
    run_bench(*ONE_CASE, "--json", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert verdicts(path.read_text()) == ["PASS"]
    assert os.listdir(tmp_path) == ["results.json"]


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize("place", ["new", "old", "link", "device"])
def test_keys_go_where_the_path_leads_for_the_owner_alone(tmp_path, place):
    path, target = tmp_path / "keys", tmp_path / "target"
    if place == "old":
        path.write_text("old\n" * 100)
        path.chmod(0o644)
    if place == "link":
        path.symlink_to("target")
    run_bench(*ENCRYPTED, "--keylog", os.devnull if place == "device" else path)
    if place == "device":
        assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
        return
    assert path.is_symlink() == (place == "link")
    assert re.fullmatch(r"([0-9A-F]{8} [0-9A-F]{32}\n)+", path.read_text())
    assert mode(target if place == "link" else path) == 0o600


def test_keys_are_written_as_they_are_made(tmp_path):
    """A killed run keeps the keys of the air that it has logged."""
    path = tmp_path / "keys"
    os.mkfifo(path)
    with Process(bluebench(), "run", "encryption", "smp-sc", "smp-legacy", "--keylog", path) as run:
        with open(path, encoding="ascii") as keys:
            assert re.fullmatch(r"[0-9A-F]{8} [0-9A-F]{32}\n", keys.readline())
            assert run.running()
            os.kill(run.pid, signal.SIGKILL)


def test_what_a_peer_is_to_have_is_for_the_owner_alone(tmp_path):
    """Out-of-band data and captures of dongles contain keys; neither is written to a file in use for something else."""
    capture, data = tmp_path / "c.btsnoop", tmp_path / "data.json"
    with dongles(1, "--capture", capture) as [port]:
        device = f"tcp:127.0.0.1:{port}"
        with Process(bluebench(), "pair", device, "--advertise", "x", "--bonds", "none", "--oob-own", data, "--json") as pairing:
            pairing.wait_for("advertising")
            assert mode(data) == 0o600 and mode(capture) == 0o600
        again = run_bench("pair", device, "--advertise", "x", "--bonds", "none", "--oob", data, "--oob-own", data, expected=USAGE)
        assert "--oob and --oob-own both write" in again.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--json", "."), "folder"),
        (("--json", "{tmp}/no/such/x.json"), "No such file"),
        (("--json", "{tmp}/x", "--html", "{tmp}/x"), "--json and --html both write"),
        (("--json", "{tmp}/x", "--junit", "{tmp}/../{name}/x"), "--json and --junit both write"),
        (("--capture", "{tmp}/x.pcapng", "--air", "{tmp}/x.pcapng"), "--capture and --air both write"),
        (("--json", "{tmp}/x", "--keylog", "{tmp}/x"), "--json and --keylog both write"),
        (("--keylog", "{tmp}/no/such/x"), "No such file"),
        (("--keylog", "."), "folder"),
        (("--report", "{tmp}/r", "--air", "{tmp}/r/results.json"), "both write"),
        (("--json", "-", "--html", "-"), "both write"),
        (("--report", "/proc/x"), "cannot make the folder"),
    ],
)
def test_outputs_that_cannot_be(tmp_path, options, words):
    options = [option.format(tmp=tmp_path, name=tmp_path.name) for option in options]
    result = run_bench(*ONE_CASE, *options, expected=USAGE)
    assert words in result.stderr and len(result.stderr.splitlines()) == 1
    assert "PASS" not in result.stdout, "told before anything runs"


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize("command", [ONE_CASE, ("throughput", "--seconds", "0.1")])
def test_closed_standard_streams_get_into_no_file(tmp_path, command, closed):
    capture = tmp_path / "c.btsnoop"
    script = 'exec "$@" ' + " ".join(f"{descriptor}>&-" for descriptor in closed)
    result = subprocess.run(["sh", "-c", script, "sh", bluebench(), *command, "--capture", capture], cwd=ROOT, timeout=TIMEOUT, capture_output=True)
    assert result.returncode == PASS
    shown = run_bench("show", capture)
    assert "Reset" in shown.stdout


def test_closed_output_does_not_get_into_the_results(tmp_path):
    script = 'exec "$@" >&-'
    subprocess.run(["sh", "-c", script, "sh", bluebench(), *ONE_CASE, "--report", tmp_path / "r"], cwd=ROOT, timeout=TIMEOUT, check=True)
    for line in (tmp_path / "r" / "results.jsonl").read_text().splitlines():
        json.loads(line)


@pytest.mark.parametrize(
    "command",
    [ONE_CASE, ("throughput", "--seconds", "0.1"), ("explain", "phy/coded"), ("schema",), ("show", "{capture}"), ("run", "--list"), ("--help",)],
)
def test_a_full_standard_output_is_told(tmp_path, command):
    capture = tmp_path / "c.btsnoop"
    run_bench(*ONE_CASE, "--capture", capture)
    command = [part.format(capture=capture) for part in command]
    with open(FULL, "w") as full:
        result = subprocess.run([bluebench(), *command], stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, timeout=TIMEOUT)
    assert result.returncode == BENCH
    assert "No space left on device" in result.stderr and len(result.stderr.splitlines()) == 1


def test_a_reader_that_has_read_enough_is_no_failure():
    result = subprocess.run(["sh", "-c", '"$0" schema | head -1', bluebench()], cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT)
    assert result.stderr == ""


def limited(octets, *command):
    """A program whose files cannot grow: the results are those of a full disk, with another message of the system."""
    return subprocess.run(
        ["prlimit", f"--fsize={octets}", bluebench(), *map(str, command)], capture_output=True, text=True, cwd=ROOT, timeout=TIMEOUT,
        preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))


@pytest.mark.parametrize(
    "command",
    [
        (*ONE_CASE, "--json", "{x}.json"), (*ONE_CASE, "--html", "{x}.html"), (*ONE_CASE, "--capture", "{x}.btsnoop"),
        (*ONE_CASE, "--air", "{x}.pcapng"), ("throughput", "--seconds", "0.1", "--json", "{x}.json"),
        ("throughput", "--seconds", "0.1", "--capture", "{x}.btsnoop"), (*ONE_CASE, "--report", "{x}"),
    ],
)
def test_a_file_that_cannot_grow(tmp_path, command):
    """A clear message and exit code 3; the verdicts are on the screen, no document is incomplete, the old one is kept."""
    path = tmp_path / "x.json"
    path.write_text("old")
    result = limited(64, *[part.format(x=tmp_path / "x") for part in command])
    assert result.returncode == BENCH, result.stderr
    for line in result.stderr.splitlines():
        assert line.startswith("bluebench: cannot write ") and "File too large" in line
    assert "NSCocoa" not in result.stderr and result.stdout
    assert path.read_text() == "old"
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_report_that_cannot_begin_is_no_mistake_of_the_user(tmp_path):
    result = limited(0, *ONE_CASE, "--report", tmp_path / "r")
    assert result.returncode == BENCH and "File too large" in result.stderr, result.stderr


def test_a_run_goes_on_when_its_results_do_not_fit(tmp_path):
    """The file contains complete lines as far as possible, the rest is on the screen, and --resume continues from it."""
    folder = tmp_path / "r"
    result = limited(3000, "run", "phy", "--report", folder)
    assert result.returncode == BENCH
    kept = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()[1:]]
    ran = result.stdout.count("PASS  ")
    assert 0 < len(kept) < ran
    again = run_bench("run", "phy", "--report", folder, "--resume")
    assert again.stdout.count("PASS  ") == ran - len(kept)
    assert len(verdicts((folder / "results.json").read_text())) == ran


def test_two_runs_do_not_write_into_one_folder(tmp_path):
    folder = tmp_path / "r"
    with dongles(2) as (near, far):
        ends = ("--tester", f"tcp:127.0.0.1:{near}", "--subject", f"tcp:127.0.0.1:{far}")
        with Process(bluebench(), "run", "hci", *ends, "--report", folder) as first:
            first.wait_for("PASS")
            second = run_bench("run", "phy", "--report", folder, expected=BENCH)
            assert "another run writes into" in second.stderr
            third = run_bench("run", "phy", "--capture", folder / "capture.pcapng", expected=None)
            assert third.returncode in (USAGE, BENCH) and "another program writes it" in third.stderr
            os.kill(first.pid, signal.SIGINT)
            first.wait()
    run_bench("show", folder / "capture.pcapng")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_a_report(tmp_path, number):
    folder = tmp_path / "r"
    with dongles(2) as (near, far):
        ends = ("--tester", f"tcp:127.0.0.1:{near}", "--subject", f"tcp:127.0.0.1:{far}")
        with Process(bluebench(), "run", "hci", *ends, "--report", folder) as run:
            run.wait_for("PASS")
            os.kill(run.pid, number)
            assert run.wait() == BENCH
    assert "PASS" in verdicts((folder / "results.json").read_text())
    assert (folder / "index.html").exists() and (folder / "junit.xml").exists()


def holds_back(program, number):
    """Waits until the program handles a signal instead of being terminated by the system. While it starts a thread, it blocks all signals."""
    while program.running():
        blocked = int(re.search(r"^SigBlk:\s*(\S+)", open(f"/proc/{program.pid}/status").read(), re.M)[1], 16)
        if blocked >> (number - 1) & 1 and not blocked >> (signal.SIGUSR2 - 1) & 1:
            return


@pytest.mark.parametrize("option", ["--capture", "--air", "--json"])
def test_a_fifo_without_a_reader_can_be_given_up(tmp_path, option):
    path = tmp_path / "f.pcapng"
    os.mkfifo(path)
    with Process(bluebench(), *ONE_CASE, option, path) as run:
        holds_back(run, signal.SIGINT)
        os.kill(run.pid, signal.SIGINT)
        assert run.wait() == 128 + signal.SIGINT


def test_a_folder_that_is_removed_during_the_run(tmp_path):
    folder = tmp_path / "r"
    with dongles(2) as (near, far):
        ends = ("--tester", f"tcp:127.0.0.1:{near}", "--subject", f"tcp:127.0.0.1:{far}")
        with Process(bluebench(), "run", "hci", *ends, "--report", folder) as run:
            run.wait_for("PASS")
            folder.rename(tmp_path / "elsewhere")
            os.kill(run.pid, signal.SIGINT)
            assert run.wait() == BENCH
            assert "was removed or renamed during the run" in run.text
    assert "PASS" in verdicts((folder / "results.json").read_text())
    assert (folder / "results.jsonl").read_text() == (tmp_path / "elsewhere" / "results.jsonl").read_text()


@pytest.mark.parametrize("options", [("--phy", "1m"), ("--ladder",)])
def test_ctrl_c_ends_a_row_of_virtual_time(tmp_path, options):
    results = tmp_path / "rows.json"
    with Process(bluebench(), "throughput", *options, "--seconds", "86400", "--json", results) as sweep:
        sweep.wait_for("kbit/s")
        os.kill(sweep.pid, signal.SIGINT)
        assert sweep.wait() == BENCH
        assert "stopped: 0 of" in sweep.text
    assert json.loads(results.read_text())["rows"] == []


def test_a_resumed_run_says_everything_once(tmp_path):
    folder = tmp_path / "r"
    run_bench("run", "phy/read", "--report", folder)
    first = json.loads((folder / "results.json").read_text())
    assert first["cases"][0]["capture"] == "capture.pcapng"
    run_bench("run", "phy/read", "--report", folder, "--resume")
    run_bench("run", "phy/read", "phy/coded", "--report", folder, "--resume")
    cases = {case["id"]: case for case in json.loads((folder / "results.json").read_text())["cases"]}
    assert cases["phy/read"] == first["cases"][0]
    assert cases["phy/coded"]["capture"] == "capture-2.pcapng", "an idle run leaves no capture"


def test_a_new_run_leaves_no_captures_of_old_ones(tmp_path):
    folder = tmp_path / "r"
    run_bench(*ONE_CASE, "--report", folder)
    old, own = folder / "capture-2.pcapng", folder / "capture-3.pcapng"
    for path in (old, own):
        path.write_bytes(b"x")
    # Captures that the previous run names belong to it; others may belong to the user.
    for name in ("results.json", "results.jsonl"):
        file = folder / name
        file.write_text(file.read_text().replace("capture.pcapng", "capture-2.pcapng"))
    run_bench(*ONE_CASE, "--report", folder, "--resume")
    assert old.exists(), "it belongs to the run that is continued"
    run_bench(*ONE_CASE, "--report", folder)
    assert not old.exists() and own.exists()


def test_a_seed_can_be_used_again(tmp_path):
    """As text: most readers of JSON lose the last digits of a number beyond 2^53."""
    path, seed = tmp_path / "results.json", str(2**64 - 1)
    run_bench(*ONE_CASE, "--seed", seed, "--shuffle", seed, "--json", path)
    document = json.loads(path.read_text())
    assert document["format"] == 3
    assert (document["run"]["seed"], document["run"]["shuffle"]) == (seed, seed)
    assert isinstance(document["cases"][0]["seed"], str)


def test_a_report_that_could_not_be_written_is_not_named(tmp_path):
    (tmp_path / "index.html").mkdir()
    result = run_bench(*ONE_CASE, "--report", tmp_path, expected=None)
    assert "report  " not in result.stdout and result.returncode != PASS


def test_show_ends_with_its_reader(tmp_path):
    """Output without a reader is not decoded: `show` does not reach the damage at the end, for which its exit code would be 3."""
    path, long = tmp_path / "capture.pcapng", tmp_path / "long.pcapng"
    run_bench("run", "gap-adv", "--capture", path)
    long.write_bytes(path.read_bytes() * 20 + b"\x06\x00\x00\x00\x08\x00\x00\x00damaged!")
    run_bench("show", long, expected=BENCH)
    with subprocess.Popen([bluebench(), "show", str(long)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b"1 ")
        process.stdout.close()
        assert process.wait(TIMEOUT) == PASS
