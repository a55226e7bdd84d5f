"""Parts of a capture, and the explanation of one, from the command line."""

import csv
import io
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess

import pytest

from support import ROOT, Process, bluebench, run_bench
from test_outputs import limited
from test_wireshark import tshark

SESSION = ROOT / "Fixtures/h4/gatt-session--bumble-over-usb.pcapng"


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    path = tmp_path_factory.mktemp("show") / "run.pcapng"
    run_bench("run", "gatt/mtu-exchange", "--capture", path)
    return path


def numbers(*arguments):
    return [int(line.split()[0]) for line in run_bench("show", *arguments).stdout.splitlines()]


def test_from_and_to_take_packets_and_times(capture):
    every = numbers(capture)
    assert numbers(capture, "--from", 10, "--to", 20) == every[9:20]
    lines = run_bench("show", capture).stdout.splitlines()
    middle = float(lines[len(lines) // 2].split()[1])
    late = [line for line in lines if float(line.split()[1]) >= middle]
    assert run_bench("show", capture, "--from", f"{middle}s").stdout.splitlines() == late, "the same text as without a limit"


def test_connection_is_a_handle_or_an_access_address(capture):
    lines = run_bench("show", capture).stdout.splitlines()
    handle = re.search(r"ACL (0x[0-9A-F]{4})", "\n".join(lines))[1]
    shown = run_bench("show", capture, "--connection", handle).stdout.splitlines()
    assert [line for line in lines if f"ACL {handle} " in line] == [line for line in shown if " ACL " in line]
    assert all(handle in line for line in shown)
    refused = run_bench("show", capture, "--connection", "all", expected=2)
    assert "--connection all" in refused.stderr


def test_explain_hides_addresses_without_keys(capture):
    text = run_bench("explain", capture).stdout
    assert "No fault found" in text and not re.search(r"([0-9A-F]{2}:){5}", text)
    assert re.search(r"([0-9A-F]{2}:){5}", run_bench("explain", "--keys", capture).stdout)


def test_a_capture_of_another_network_is_not_explained(tmp_path):
    path = tmp_path / "ethernet.pcap"
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    path.write_bytes(header + struct.pack("<IIII", 0, 0, 14, 14) + bytes(14))
    assert "no packets that can be read" in run_bench("explain", path, expected=2).stderr


def test_a_run_that_passed_has_no_findings_and_says_what_was_examined(capture):
    text = run_bench("explain", capture).stdout
    assert "No fault found.\nExamined: " in text and "Cause:" not in text and "HCI events" in text


def test_own_rules_match_and_mistakes_are_told(capture, tmp_path):
    rules = tmp_path / "own.yaml"
    rules.write_text('rules:\n  - {id: my-mtu, severity: fault, on: ATT_EXCHANGE_MTU_REQ, message: "MTU {Client_Rx_MTU}"}\n')
    found = json.loads(run_bench("explain", "--json", "--rules", rules, capture).stdout)
    assert found["cause"] == "my-mtu" and found["findings"][0]["message"].startswith("MTU ")
    rules.write_text("rules:\n  - {id: my-mtu, severity: fault, on: ATT_EXCHANGE_MTU, message: text}\n")
    refused = run_bench("explain", "--rules", rules, capture, expected=2)
    assert "own.yaml:2:" in refused.stderr and "did you mean ATT_EXCHANGE_MTU_RE" in refused.stderr


def test_a_control_sequence_in_a_capture_is_not_written(tmp_path):
    def record(packet, flags):
        return len(packet).to_bytes(4, "big") * 2 + flags.to_bytes(4, "big") + bytes(4) + (0x00E03AB44A676000).to_bytes(8, "big") + packet

    name = b"\x1b[31mred\x1b]0;title\x07"
    event = b"\x07" + bytes([7 + len(name)]) + b"\x00" + bytes.fromhex("010203040506") + name
    path = tmp_path / "name.btsnoop"
    path.write_bytes(b"btsnoop\0" + bytes.fromhex("00000001000003ea") + record(b"\x04" + event, 3))
    rules = tmp_path / "own.yaml"
    rules.write_text('rules:\n  - {id: name, severity: note, on: Remote_Name_Request_Complete, message: "{Remote_Name} {BD_ADDR}"}\n')
    for keys in [], ["--keys"]:
        assert "\x1b" not in run_bench("explain", *keys, "--rules", rules, path).stdout


def test_conditions_select_packets_by_their_fields():
    every = run_bench("show", SESSION).stdout.splitlines()
    errors = [line for line in every if " ATT_ERROR_RSP " in line]
    assert errors and run_bench("show", SESSION, "--where", "ATT_ERROR_RSP").stdout.splitlines() == errors
    late = run_bench("show", SESSION, "--where", "ATT_ERROR_RSP and Attribute_Handle_In_Error > 9").stdout.splitlines()
    assert late == [line for line in errors if int(re.search(r"Handle_In_Error=0x(\w+)", line)[1], 16) > 9] and 0 < len(late) < len(errors)
    cases = run_bench("show", SESSION, "--where", "{Attribute_Handle_In_Error: {range: [0, 9]}}").stdout.splitlines()
    assert cases == [line for line in errors if line not in late]
    assert "did you mean Success?" in run_bench("show", SESSION, "--where", "Status != Sucess", expected=2).stderr


def test_lines_are_selected_by_layer_and_regular_expression():
    every = run_bench("show", SESSION).stdout.splitlines()
    assert run_bench("show", SESSION, "--layer", "att").stdout.splitlines() == [line for line in every if " ATT_" in line]
    pattern = r"ATT_(READ|WRITE)_REQ.*0x00(0|1)"
    assert run_bench("show", SESSION, "--grep", pattern).stdout.splitlines() == [line for line in every if re.search(pattern, line)]
    assert "--layer atts: use" in run_bench("show", SESSION, "--layer", "atts", expected=2).stderr
    assert "--grep (" in run_bench("show", SESSION, "--grep", "(", expected=2).stderr


@pytest.mark.parametrize("pattern", ["((((a{1,250}){1,250}){1,250}){1,250})", "(.{1,900}){1,900}", "(x)\\1", "a" * 2_000])
def test_a_pattern_has_bounds(pattern):
    """Program and text of a pattern are bounded, and so are the memory and the time of a search."""
    assert f"--grep {pattern}: " in run_bench("show", SESSION, "--grep", pattern, expected=2).stderr


def test_a_number_that_no_field_can_have_is_refused():
    assert "Status" in run_bench("show", SESSION, "--where", "Status > 99999999999999999999999", expected=2).stderr


def test_handles_have_the_names_of_their_characteristics():
    text = run_bench("show", SESSION, "--layer", "att").stdout
    assert re.search(r"ATT_READ_REQ Attribute_Handle=0x[0-9A-F]{4} \([A-Z][^)]+\)", text)
    assert "ACL 0x0001 (Bluebench Reference) ATT_" in text
    plain = run_bench("show", SESSION, "--layer", "att", "--no-names").stdout
    assert "Reference)" not in plain and len(plain.splitlines()) == len(text.splitlines())


def test_no_line_is_longer_than_the_width():
    for options in [], ["--tree"], ["--mark"]:
        lines = run_bench("show", SESSION, "--width", 60, *options).stdout.splitlines()
        assert max(map(len, lines)) == 60 and any(line.endswith("…") for line in lines)
    assert max(map(len, run_bench("show", SESSION).stdout.splitlines())) > 200, "a file gets whole lines"


def test_json_and_csv_have_what_the_lines_have():
    lines = run_bench("show", SESSION).stdout.splitlines()
    objects = [json.loads(line) for line in run_bench("show", SESSION, "--json").stdout.splitlines()]
    rows = list(csv.DictReader(io.StringIO(run_bench("show", SESSION, "--csv").stdout)))
    assert len(lines) == len(objects) == len(rows)
    for line, found, row in zip(lines, objects, rows):
        assert line.startswith(f"{found['number']} ") and line.endswith(found["text"])
        assert row["number"] == str(found["number"]) and row["packet"] == found["text"]
        assert row["name"] == found["layers"][-1]["name"]
    reads = [found["layers"][-1] for found in objects if found["layers"][-1]["name"] == "ATT_READ_REQ"]
    assert reads and all(isinstance(layer["fields"]["Attribute_Handle"], int) for layer in reads)
    status = [layer["fields"]["Status"] for found in objects for layer in found["layers"] if "Status" in layer.get("fields", {})]
    assert set(status) == {"Success"}


def test_marks_are_the_findings_of_explain():
    found = json.loads(run_bench("explain", "--json", SESSION).stdout)["findings"]
    expected = {(packet, finding["rule"]) for finding in found for packet in finding["packets"]}
    number, marked = 0, set()
    for line in run_bench("show", SESSION, "--only-marked").stdout.splitlines():
        if line.startswith("    ^ "):
            marked.add((number, line.split()[2].rstrip(":")))
        else:
            number = int(line.split()[0])
    assert marked == expected and expected
    assert "is a stream" in run_bench("show", "-", "--mark", expected=2).stderr


@pytest.mark.parametrize("ending", ["btsnoop", "pcapng", "pklg"])
def test_an_exported_selection_is_a_capture(tmp_path, ending):
    path = tmp_path / f"att.{ending}"
    run_bench("show", SESSION, "--layer", "att", "--export", path)
    shown = run_bench("show", SESSION, "--layer", "att", "--no-names", "--json").stdout.splitlines()
    read = run_bench("show", path, "--no-names", "--json").stdout.splitlines()
    assert [json.loads(line)["text"] for line in read] == [json.loads(line)["text"] for line in shown]
    frames = tshark(path, "-T", "fields", "-e", "frame.number", "-e", "_ws.malformed")
    assert len(frames) == len(shown) and all(frame.split() == [str(number)] for number, frame in enumerate(frames, 1))


def test_an_exported_text_is_what_show_prints(tmp_path):
    for ending, options in ("txt", []), ("json", ["--json"]), ("csv", ["--csv"]):
        path = tmp_path / f"all.{ending}"
        assert run_bench("show", SESSION, "--export", path).stdout == ""
        assert path.read_bytes().decode() == subprocess.run(
            [bluebench(), "show", str(SESSION), *options], capture_output=True, check=True).stdout.decode()
    assert "name a capture" in run_bench("show", SESSION, "--export", tmp_path / "all.doc", expected=2).stderr


@pytest.mark.parametrize("ending", ["txt", "pcapng"])
def test_an_export_that_does_not_fit_is_told(tmp_path, ending):
    result = limited(64, "show", SESSION, "--export", tmp_path / f"all.{ending}")
    assert result.returncode == 3 and "cannot write" in result.stderr and "File too large" in result.stderr


def test_show_ends_with_its_reader():
    show = subprocess.Popen([bluebench(), "show", str(SESSION), "--tree"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    show.stdout.readline()
    show.stdout.close()
    assert show.wait(timeout=60) == 0 and show.stderr.read() == b""


@pytest.mark.parametrize("ending", ["pcapng", "btsnoop"])
@pytest.mark.parametrize("over, limit", [("notify", "air"), ("write", "air"), ("request", "acknowledgement")])
def test_throughput_of_a_capture_is_that_of_its_measurement(tmp_path, ending, over, limit):
    path, measured, explained = tmp_path / f"run.{ending}", tmp_path / "measured.json", tmp_path / "explained.json"
    run_bench("throughput", "--over", over, "--interval", 30, "--seconds", 2, "--capture", path, "--json", measured)
    run_bench("throughput", "--from", path, "--explain", "--json", explained)
    [before] = json.loads(measured.read_text())["rows"]
    rows = json.loads(explained.read_text())["rows"]
    # A pcapng file has the flow at both ends, a btsnoop file has both ends in one.
    assert len(rows) == (2 if ending == "pcapng" else 1)
    for row in rows:
        assert (row["over"], row["limit"], row["data_length"], row["mtu"]) == (over, limit, 251, 247)
        assert (row["interval_ms"], row["phy"]) == (30, "2m") and row["ceiling_kbps"] == pytest.approx(before["ceiling_kbps"], rel=0.001)
        assert row["goodput_kbps"] == pytest.approx(before["goodput_kbps"], rel=0.07) and row["percent"] <= 100
    assert rows[0]["direction"] == before["direction"]


def test_throughput_of_a_capture_without_flows_is_no_measurement(capture):
    assert "no LE connection with a flow" in run_bench("throughput", "--from", capture, expected=3).stderr
    assert "--phy would change nothing" in run_bench("throughput", "--from", SESSION, "--phy", "1m", expected=2).stderr


def on_a_terminal(*arguments, environment={}):
    """What a terminal gets."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([bluebench(), *map(str, arguments)], stdout=theirs, cwd=ROOT, env=os.environ | {"TERM": "xterm"} | environment):
        os.close(theirs)
        text = b""
        try:
            while piece := os.read(ours, 1 << 16):
                text += piece
        except OSError:
            pass
        os.close(ours)
    return text.decode().replace("\r\n", "\n")


SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")


def test_colours_are_for_terminals_and_change_no_text():
    plain = run_bench("show", SESSION, "--width", 80).stdout
    assert "\x1b" not in plain
    coloured = on_a_terminal("show", SESSION, "--width", 80)
    assert SEQUENCE.sub("", coloured) == plain
    assert re.search(r"\x1b\[0;31mACL .*ATT_ERROR_RSP", coloured) and re.search(r"\x1b\[0;36mHCI_?\w*|\x1b\[0;36m\w+", coloured)
    assert "\x1b" not in on_a_terminal("show", SESSION, environment={"NO_COLOR": "1"})
    assert "\x1b" not in on_a_terminal("show", SESSION, "--color", "never")
    assert run_bench("show", SESSION, "--color", "always", "--width", 80).stdout == coloured


def test_notes_are_kept_beside_the_capture(capture, tmp_path):
    path = tmp_path / "run.pcapng"
    shutil.copy(capture, path)
    before = path.read_bytes()
    shown = run_bench("show", path, "--comment", "7=slow=yes \x1b[31m", "--flag", 9, "--flag", 7).stdout.splitlines()
    assert [line.split()[0] for line in shown] == ["7", "9"]
    assert "[flag]" in shown[0] and "slow=yes" in shown[0] and "\x1b" not in shown[0]
    notes = tmp_path / "run.pcapng.notes.json"
    assert notes.stat().st_mode & 0o777 == 0o600 and path.read_bytes() == before
    assert numbers(path, "--flagged") == [7, 9]
    exported = tmp_path / "part.pcapng"
    run_bench("show", path, "--flagged", "--export", exported)
    first, second = (json.loads(line) for line in run_bench("show", exported, "--json").stdout.splitlines())
    assert first["flagged"] and second["flagged"] and first["comment"].endswith("slow=yes \x1b[31m")
    assert "slow=yes" in tshark(exported, "-T", "fields", "-e", "frame.comment")[0]
    run_bench("show", path, "--comment", "7=", "--unflag", 7, "--unflag", 9)
    assert not notes.exists()


def test_notes_that_cannot_be_kept_are_told(capture, tmp_path):
    path = tmp_path / "run.pcapng"
    shutil.copy(capture, path)
    assert "no packet 99999" in run_bench("show", path, "--flag", 99999, "--flag", 1, expected=2).stderr
    assert not (tmp_path / "run.pcapng.notes.json").exists()
    run_bench("show", path, "--flag", 2)
    shutil.copy(SESSION, path)
    assert "belongs to another capture" in run_bench("show", path).stderr and numbers(path, "--flagged") == []
    (tmp_path / "run.pcapng.notes.json").write_text("[1, 2")
    assert "cannot be read as notes" in run_bench("show", path, expected=2).stderr
    with open(SESSION, "rb") as file:
        stream = subprocess.run([bluebench(), "show", "-", "--flag", "1"], stdin=file, capture_output=True, text=True, cwd=ROOT)
    assert stream.returncode == 2 and "a stream" in stream.stderr


@pytest.mark.parametrize("ending", ["pcapng", "btsnoop", "pklg"])
def test_a_growing_file_is_followed(tmp_path, ending):
    whole, growing = tmp_path / f"whole.{ending}", tmp_path / f"growing.{ending}"
    run_bench("show", SESSION, "--export", whole)
    octets, lines = whole.read_bytes(), run_bench("show", whole).stdout.splitlines()
    growing.touch()
    with Process(bluebench(), "show", growing, "--follow") as process, open(growing, "ab", buffering=0) as file:
        for start in range(0, len(octets), 7_001):
            file.write(octets[start:start + 7_001])
        process.wait_for(rf"^{len(lines)} ")
        os.kill(process.pid, signal.SIGINT)
        assert process.wait() == 0
        assert process.text.splitlines() == lines
        file.write(octets[:5])


def test_following_ends_with_the_reader_and_tells_a_shorter_file(tmp_path):
    path = tmp_path / "run.pcapng"
    shutil.copy(SESSION, path)
    follower = subprocess.Popen([bluebench(), "show", path, "--follow"], stdout=subprocess.PIPE, cwd=ROOT)
    follower.stdout.readline()
    follower.stdout.close()
    assert follower.wait(60) == 0
    with Process(bluebench(), "show", path, "--follow") as process:
        process.wait_for("^9 ")
        os.truncate(path, 30)
        assert process.wait() == 3 and "has become shorter" in process.text
    assert "followed anyway" in run_bench("show", "-", "--follow", expected=2).stderr


@pytest.mark.parametrize("selection", [
    ("--from", "9999999"), ("--to", "0.0s", "--layer", "sdp"), ("--connection", "0x999"), ("--filter", "ATT_EROR"), ("--grep", "ATT_EROR"),
    ("--where", "ATT_ERROR_RSP and Attribute_Handle_In_Error = 0xFFF0"), ("--layer", "sdp"), ("--flagged",)])
def test_a_selection_without_a_packet_says_so(selection):
    shown = run_bench("show", SESSION, *selection)
    assert shown.stdout == "" and re.fullmatch(r"bluebench: no packet of \d+ matches\n", shown.stderr)


def test_a_selection_with_packets_says_nothing():
    assert run_bench("show", SESSION, "--where", "ATT_ERROR_RSP").stderr == "" == run_bench("show", SESSION, "--limit", 1).stderr


@pytest.mark.parametrize("condition, text", [
    ("Reason = Connection_Timout", "did you mean Connection_Timeout?"), ("Reason = 8", "Reason is written by name: Connection_Timeout for 8"),
    ("ATT_HANDLE_VALUE_NOTIFICATION", "did you mean ATT_HANDLE_VALUE_NTF?")])
def test_a_condition_that_can_hold_for_nothing_is_refused(condition, text):
    assert text in run_bench("show", SESSION, "--where", condition, expected=2).stderr


def test_an_event_with_several_forms_goes_by_one_name():
    found = run_bench("show", SESSION, "--where", "Any_LE_Connection_Complete").stdout
    assert found and all("Connection_Complete" in line for line in found.splitlines())


def test_two_captures_are_compared_by_their_pdus(tmp_path, capture):
    same = run_bench("show", capture, "--diff", capture).stdout
    assert "the same PDUs in both" in same
    other = tmp_path / "other.pcapng"
    run_bench("run", "gatt/read-long", "--capture", other)
    changed = run_bench("show", capture, "--diff", other, "--layer", "att", expected=1).stdout.splitlines()
    assert changed[:2] == [f"--- {capture}", f"+++ {other}"]
    assert any(line.startswith("+ ") and "ATT_READ_BLOB_REQ (packet " in line for line in changed)
    assert "no packet of the two captures matches" in run_bench("show", capture, "--diff", other, "--layer", "sdp", expected=2).stderr
