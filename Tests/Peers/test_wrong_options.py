"""Invalid command lines are reported in one line before anything runs, with the correct form."""

import json
import os
import resource
import signal
import socket
import struct
import subprocess

import pytest

from support import TIMEOUT, Process, bluebench, dongles, run_bench

pytestmark = pytest.mark.wall_time

FAIL, USAGE, BENCH = 1, 2, 3
NOBODY = "tcp:127.0.0.1:1"
PEER = ("--peer", "C0:B1:BE:00:00:01")


def complaint(result):
    [line] = result.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("command", "words"),
    [
        # Unknown names.
        (["rnu"], ["there is no command 'rnu'", "did you mean run?"]),
        (["dance"], ["there is no command 'dance'", "throughput"]),
        (["run", "--bogus"], ["Unknown option '--bogus'", "`bluebench run --help`"]),
        (["run", "--jsn", "x"], ["--jsn", "--json"]),
        (["show"], ["Missing expected argument", "`bluebench show --help`"]),
        (["run", "nosuch"], ["'nosuch'", "the suites are", "phy", "--list"]),
        (["run", "gap"], ["gap-adv, gap-conn", "'gap*'"]),
        (["run", ""], ["'': no case or suite has this name", "the suites are"]),
        (["run", "PHY"], ["did you mean phy?"]),
        (["run", "phy/central-ask-2m"], ["did you mean phy/central-asks-2m?"]),
        (["run", "*" * 30 + "zz"], ["no case or suite"]),
        (["run", "--cases", "/nope"], ["there are no cases in /nope", "--cases"]),
        (["check", "/nope"], ["there are no cases in /nope"]),
        (["run", "gap-conn", "--set", "tmes=20"], ["no case that would run has a parameter 'tmes'; did you mean times?"]),
        (["dongle", "--tcp", "0", "--profile", "classic"], ["'classic'", "'le' and 'dual'"]),
        (["mutants", "phy-swallows-update"], ["there is no mutant 'phy-swallows-update'"]),
        # Negative numbers are values, and invalid ones.
        (["run", "--seed", "-1"], ["'-1'", "0 to 18446744073709551615"]),
        (["run", "--seed", "x"], ["'x'", "a whole number"]),
        (["run", "--slack", "-5"], ["'-5'", "0 to 10000"]),
        (["run", "--shuffle", "-5"], ["'-5'"]),
        (["show", "x", "--limit", "-1"], ["'-1'", "1 or more"]),
        (["scan", NOBODY, "--count", "-1"], ["'-1'", "1 or more"]),
        (["scan", NOBODY, "--seconds", "-3"], ["'-3'", "1 to 86400"]),
        (["throughput", "--interval", "-7.5"], ["-7.5"]),
        (["throughput", "--seconds", "-.5"], ["'-.5'", "more than 0"]),
        # Values out of range.
        (["throughput", "--seconds", "0"], ["'0'", "more than 0"]),
        (["throughput", "--exchanges", "0"], ["'0'", "1 to 1000"]),
        (["throughput", "--buffers", "0"], ["'0'", "1 to 255"]),
        (["throughput", "--mtu", "10"], ["23...517"]),
        (["gatt", NOBODY, *PEER, "--interval", "3"], ["'3'", "7.5 to 4000"]),
        (["gatt", NOBODY, *PEER, "--interval", "8"], ["'8'", "multiple of 1.25 ms"]),
        (["gatt", NOBODY, *PEER, "--update", "5000"], ["'5000'"]),
        (["gatt", NOBODY, *PEER, "--mtu", "99999"], ["'99999'", "23 to 517"]),
        (["gatt", NOBODY, *PEER, "--data-length", "9999"], ["'9999'", "27 to 251"]),
        (["gatt", NOBODY, *PEER, "--seconds", "0"], ["'0'"]),
        (["gatt", NOBODY, "--peer", "C0:B1:BE:00:00:01/random", "--transport", "bredr"], ["public address"]),
        (["gatt", NOBODY, "--peer", "00:1B:DC:00:00:01", "--transport", "bredr", "--mtu", "100"], ["--mtu", "--transport le"]),
        (["loopback", NOBODY, "--packets", "0"], ["'0'", "1 or more"]),
        (["run", "--wait-for-host", "0", "--subject-port", "tcp-listen:0"], ["'0'"]),
        # Options without effect.
        (["run", "phy", "--resume"], ["--resume", "--report"]),
        (["run", "phy", "--throughput"], ["--throughput", "--html or --report"]),
        (["run", "phy", "--wait-for-host", "5"], ["--wait-for-host", "--subject-port"]),
        (["run", "phy", "--time-out", "5"], ["Unknown option '--time-out'"]),
        (["throughput", "--packet-error-rate", "1.5"], ["'1.5'", "0 to 1"]),
        (["throughput", "--event-filling", "most"], ["'most'", "'actual' and 'reserve-max'"]),
        (["throughput", "--sdu", "100"], ["--sdu needs --over channel", "rfcomm"]),
        (["throughput", "--tester", NOBODY, "--peer", "x", "--notify", "2A37", "--over", "write"], ["--peer and --over exclude each other"]),
        (["throughput", "--bearers", "6", "--over", "write"], ["--bearers 6", "1...5"]),
        (["throughput", "--bearers", "2", "--over", "channel"], ["--bearers", "channel"]),
        (["throughput", "--bearers", "2", "--mtu", "23"], ["--mtu 23", "64...517"]),
        (["throughput", "--ladder", "--repeat", "2"], ["--ladder and --repeat exclude each other"]),
        (["throughput", "--ladder", "--tester", "virtual"], ["--ladder and --tester exclude each other"]),
        (["throughput", "--json", "x", "--csv", "x"], ["--json and --csv both write x"]),
        (["run", "phy", "--json", "x", "--capture", "x"], ["--json and --capture both write x"]),
        (["run", "phy", "--subject", "virtual", "--subject-port", "tcp-listen:0"], ["--subject and --subject-port exclude each other"]),
        (["run", "--slack", "50"], ["nothing is late"]),
        (["throughput", "--ladder", "--phy", "1m"], ["--ladder", "--phy"]),
        (["throughput", "--ladder", "--capture", "x.btsnoop"], ["--ladder", "--capture"]),
        *((["throughput", "--tester", NOBODY, "--subject", "tcp:127.0.0.1:2", option, value], [option, "needs two virtual devices"])
          for option, value in [("--packet-error-rate", "0.1"), ("--exchanges", "1"), ("--buffers", "2"), ("--event-filling", "actual")]),
        (["run", "--subject-address", "random", "--subject-port", "tcp-listen:0"], ["--subject-address", "chooses its own"]),
        (["run", "--tester-address", "00:1B:DC:00:00:01"], ["'00:1B:DC:00:00:01'", "auto, random, or a static address"]),
        # Impossible pairs of devices.
        (["run", "--tester", "usb:"], ["--tester usb: is a real device, but the DUT is virtual", "--subject or --peer"]),
        (["run", "--subject", NOBODY], ["is a real device, but the tester is virtual", "--tester"]),
        (["run", "--tester", "usb:1-1", "--subject", "usb:1-1"], ["the same device, usb:1-1"]),
        (["throughput", "--tester", NOBODY, "--subject", NOBODY], ["the same device"]),
    ],
    ids=lambda value: " ".join(value)[:60],
)
def test_a_command_line_that_means_nothing(command, words):
    result = run_bench(*command, expected=USAGE)
    line = complaint(result)
    assert line.startswith("bluebench: ") and not result.stdout
    for word in words:
        assert word in line


def test_outside_of_the_checkout_the_cases_are_not_found(tmp_path):
    line = complaint(run_bench("run", expected=USAGE, cwd=tmp_path))
    assert "there are no cases in Conformance" in line and "--cases" in line


def test_a_folder_of_cases_needs_no_list_of_public_ids(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "reset.yaml").write_text(
        "title: A reset is answered\npurpose: HCI_Reset ends with Command Complete.\nreference: Core Vol 4, Part E, 7.3.2\n"
        "steps:\n  - send: Reset\n    as: subject\n    states: The reset is answered.\n")
    assert "no mistakes" in run_bench("check", tmp_path).stdout
    assert "PASS    mine/reset" in run_bench("run", "--cases", tmp_path).stdout


def test_both_ends_may_go_by_static_addresses():
    """Cases without an own address use the side's address."""
    run = run_bench("run", "gap-conn/central", "gap-adv/disable", "--tester-address", "C0:B1:BE:00:00:01", "--subject-address", "random")
    assert run.stdout.count("PASS  ") == 2


def test_a_suite_is_explained_by_its_cases():
    lines = run_bench("explain", "phy").stdout.splitlines()
    assert all(line.startswith("phy/") for line in lines) and len(lines) > 5


def test_a_controller_that_serves_somebody_else():
    with dongles(1) as [port], socket.create_connection(("127.0.0.1", port)) as holder:
        holder.sendall(bytes.fromhex("01030c00"))
        holder.recv(16)
        line = complaint(run_bench("scan", f"tcp:127.0.0.1:{port}", "--seconds", 1, expected=BENCH))
        assert f"tcp:127.0.0.1:{port} hung up" in line and "another client may be using it" in line


def test_a_socket_path_that_is_taken(tmp_path):
    path = tmp_path / "file"
    path.write_text("mine")
    assert "is not a socket" in complaint(run_bench("dongle", "--unix", path, expected=BENCH))
    assert path.read_text() == "mine"


def test_no_socket_stays_behind_when_nobody_came(tmp_path):
    path = tmp_path / "port"
    result = run_bench("run", "phy/read", "--subject-port", f"unix-listen:{path}", "--wait-for-host", 1, expected=BENCH)
    assert "no host connected" in complaint(result)
    assert not os.path.lexists(path)


@pytest.mark.parametrize(
    ("command", "sign", "code"),
    [
        (("run", "phy/read", "--subject-port", "unix-listen:{path}"), "waiting for an accessory's host", BENCH),
        (("dongle", "--unix", "{path}"), "02:BB:00:00:00:01", 0),
    ],
    ids=["run", "dongle"],
)
def test_no_socket_stays_behind_after_ctrl_c(tmp_path, command, sign, code):
    path = tmp_path / "port"
    with Process(bluebench(), *(part.format(path=path) for part in command)) as program:
        program.wait_for(sign)
        assert os.path.lexists(path)
        os.kill(program.pid, signal.SIGINT)
        assert program.wait() == code
    assert not os.path.lexists(path)


@pytest.mark.parametrize(
    ("packets", "words"), [([], ["without packets"]), ([b"\xFF" * 60], ["no packets that can be read", "link type is 1"])], ids=["none", "Ethernet"])
def test_a_capture_without_bluetooth(tmp_path, packets, words):
    """A classic pcap of link type 1."""
    path = tmp_path / "c.pcap"
    records = b"".join(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet for packet in packets)
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + records)
    line = complaint(run_bench("show", path, expected=USAGE))
    for word in words:
        assert word in line


def test_no_subscription_where_there_is_none():
    """The Device Name of GAP is only readable."""
    with dongles(2) as (near, far), Process(
            bluebench(), "pair", f"tcp:127.0.0.1:{far}", "--advertise", "Peer", "--json", "--bonds", "none") as peer:
        [address] = peer.wait_for(r'"advertising","peer":"([^"]*)"')
        result = run_bench(
            "gatt", f"tcp:127.0.0.1:{near}", "--peer", address[1], "--subscribe", "2A00", "--bonds", "none", expected=FAIL)
        assert "0x2A00 cannot be subscribed to: it has read" in complaint(result)


def processor_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def test_connections_beyond_the_descriptors_wait_without_heating_the_machine():
    with Process(bluebench(), "dongle", "--tcp", 0) as server:
        [found] = server.wait_for(r"tcp:127\.0\.0\.1:(\d+)")
        most = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        used = max(map(int, os.listdir(f"/proc/{server.pid}/fd"))) + 1
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (used, most[1]))
        before = processor_seconds(server.pid)
        with socket.create_connection(("127.0.0.1", int(found[1]))) as client:
            server.wait_for("no connection can be taken: Too many open files")
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, most)
            client.settimeout(TIMEOUT)
            client.sendall(bytes.fromhex("01030c00"))
            assert client.recv(16) == bytes.fromhex("040e0401030c00"), "served once there is room again, a second later"
        assert processor_seconds(server.pid) - before < 0.4
        assert server.text.count("Too many open files") == 1


def test_mistakes_in_case_files_are_counted_and_in_order(tmp_path):
    (tmp_path / "own").mkdir()
    head = "title: T\npurpose: P.\nreference: Core Vol 4, Part E, 7.3.2\n"
    (tmp_path / "own" / "a.yaml").write_text(head + "steps:\n  - {send: Resett, as: subject}\n  - {send: Reset, as: sbject}\n")
    (tmp_path / "own" / "b.yaml").write_text(head + "steps:\n\t- {send: Reset, as: subject}\n")
    *mistakes, count = run_bench("check", tmp_path, expected=USAGE).stderr.splitlines()
    places = [(line.split(":")[0].rsplit("/", 1)[1], int(line.split(":")[1])) for line in mistakes]
    assert places == sorted(places) and {name for name, _ in places} == {"a.yaml", "b.yaml"}
    assert count == f"bluebench: {len(mistakes)} mistakes in 2 files"
    assert "a tab; lines are indented with spaces" in mistakes[-1]


def test_a_peer_that_is_not_there():
    with dongles(1) as [port]:
        line = complaint(run_bench("gatt", f"tcp:127.0.0.1:{port}", *PEER, expected=BENCH))
    assert "C0:B1:BE:00:00:01 (random) did not answer" in line and "does it advertise" in line


def test_a_capture_from_a_pipe(tmp_path):
    path = tmp_path / "c.btsnoop"
    run_bench("run", "hci/buffer-size", "--capture", path)
    with open(path) as capture:
        piped = subprocess.run([bluebench(), "show", "-"], stdin=capture, capture_output=True, text=True, timeout=TIMEOUT)
    assert piped.stdout == run_bench("show", path).stdout and "Reset" in piped.stdout


@pytest.mark.parametrize(("command", "text"), [
    (("throughput", "--loss", "0.1"), "Unknown option '--loss'; use --packet-error-rate"),
    (("run", "--jobs", "4"), "Unknown option '--jobs'; cases run one after another; --shard 1/4"),
    (("run", "--jbos", "4"), "Unknown option '--jbos'; `bluebench run"), (("run", "--sheed", "4"), "--seed")])
def test_an_option_of_another_program_is_answered_with_ours(command, text):
    assert text in complaint(run_bench(*command, expected=USAGE))


def test_help_for_no_command_is_an_error():
    assert "there is no command 'nosuch'" in complaint(run_bench("help", "nosuch", expected=USAGE))
    assert "usage: bluebench run" in run_bench("help", "run").stdout.lower()
    listed = complaint(run_bench("zzzzzzzz", expected=USAGE))
    assert " survey," in listed and " start," not in listed, "hidden commands are not offered"


@pytest.mark.parametrize("number", [1, 2])
def test_a_mistake_begins_with_its_place(tmp_path, number):
    (tmp_path / "own").mkdir()
    head = "title: T\npurpose: P.\nreference: REQ-12\n"
    (tmp_path / "own" / "a.yaml").write_text(head + "steps:\n  - {send: Reset, as: subject, states: s}\n" + "  - {send: Resett, as: subject}\n" * number)
    found = run_bench("check", tmp_path, expected=USAGE).stderr.splitlines()
    assert [line.split(" ")[0] for line in found[:number]] == [f"{tmp_path}/own/a.yaml:{6 + index}:12:" for index in range(number)]


def test_a_name_that_is_never_used_is_a_warning(tmp_path):
    (tmp_path / "own").mkdir()
    case = tmp_path / "own" / "a.yaml"
    case.write_text("title: T\npurpose: P.\nreference: REQ-12\nsteps:\n  - {send: Reset, as: subject, saveAs: x, states: It is reset.}\n")
    checked = run_bench("check", tmp_path)
    assert checked.stderr == f"{case}:5:5: warning: 'x' is saved and never used\n" and "no mistakes" in checked.stdout
    assert run_bench("check", case).stderr == checked.stderr == run_bench("check", "--strict", tmp_path, expected=USAGE).stderr
    assert "PASS    own/a" in run_bench("run", "own/a", "--cases", tmp_path).stdout


def test_a_cut_line_ends_in_a_sign_of_the_locale(tmp_path):
    capture = tmp_path / "a.pcapng"
    run_bench("run", "phy/read", "--capture", capture)
    for locale, sign in [("C", "~"), ("C.UTF-8", "\u2026")]:
        shown = subprocess.run(
            [bluebench(), "show", str(capture), "--width", "20"], env=os.environ | {"LC_ALL": locale}, capture_output=True, timeout=TIMEOUT)
        assert shown.stdout.decode().splitlines()[0].endswith(sign)


def test_the_schema_of_cases_is_small_enough_for_an_editor():
    schema = run_bench("schema").stdout
    assert len(schema) < 1_000_000 and "lenght" not in schema
    parsed = json.loads(schema)
    assert parsed["definitions"]["condition"]["propertyNames"]["enum"].count("length") == 1
