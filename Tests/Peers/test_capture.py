"""Live captures: between a program and its controller, of several devices, in a ring of files, and for Wireshark over its extcap interface."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

from support import ROOT, TIMEOUT, Process, bluebench, dongles, run_bench, wait_until
from test_wireshark import tshark

pytestmark = pytest.mark.wall_time

BENCH, USAGE = 3, 2


@contextlib.contextmanager
def capturing(*options, sockets=1):
    """A running capture with its sockets; the block's end is that of the capture."""
    with Process(bluebench(), "capture", *map(str, options)) as process:
        process.sockets = [match.group(1) for match in process.wait_for(r"(tcp:127\.0\.0\.1:\d+) leads to", sockets)] if sockets else []
        yield process


def stop(process):
    os.kill(process.pid, signal.SIGINT)
    assert process.wait() == 0, process.text


def texts(path, *options):
    return [json.loads(line) for line in run_bench("show", path, "--json", *options).stdout.splitlines()]


@pytest.mark.parametrize("ending", ["pcapng", "btsnoop", "pklg"])
def test_packets_between_a_program_and_its_controller(tmp_path, ending):
    path = tmp_path / f"live.{ending}"
    with dongles(2) as ports, capturing(f"tcp:127.0.0.1:{ports[0]}", "--between", "tcp-listen:0", "--write", path, "--json") as capture:
        with Process(bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]}", "--as", "heart-rate"):
            run_bench("gatt", capture.sockets[0], "--peer", "180D", expected=None)
        stop(capture)
        lines = [json.loads(line) for line in capture.text.splitlines() if line.startswith("{")]
    stored = texts(path)
    assert [packet["text"] for packet in stored] == [line["text"] for line in lines]
    assert [packet["direction"] for packet in stored] == [line["direction"] for line in lines]
    names = {layer["name"] for packet in stored for layer in packet["layers"]}
    assert {"Reset", "LE_Connection_Complete", "ATT_READ_BY_GROUP_TYPE_RSP"} & names >= {"Reset", "ATT_READ_BY_GROUP_TYPE_RSP"}
    assert path.stat().st_mode & 0o777 == 0o600
    frames = tshark(path, "-T", "fields", "-e", "frame.number", "-e", "_ws.malformed")
    assert len(frames) == len(stored) and all(len(frame.split()) == 1 for frame in frames)


def test_devices_side_by_side_have_their_names(tmp_path):
    path = tmp_path / "live.pcapng"
    with dongles(2) as ports:
        devices = [f"tcp:127.0.0.1:{port}" for port in ports]
        with capturing(*devices, "--between", "tcp-listen:0", "--between", "tcp-listen:0", "--write", path, "--quiet", sockets=2) as capture:
            for device in capture.sockets:
                run_bench("scan", device, "--seconds", 1, expected=None)
            stop(capture)
    assert {packet["interface"] for packet in texts(path)} == set(devices)


def test_a_device_without_a_program_listens_to_advertisers():
    with dongles(2) as ports, Process(bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]}", "--as", "heart-rate") as accessory:
        accessory.wait_for("advertis")
        options = ["--where", "LE_Advertising_Report or LE_Extended_Advertising_Report", "--width", 70]
        text = run_bench("capture", f"tcp:127.0.0.1:{ports[0]}", "--seconds", 2, *options).stdout
    lines = text.splitlines()
    assert len(lines) > 3 and all("Advertising_Report" in line and len(line) <= 70 for line in lines)


def test_a_known_dongle_is_opened_as_by_every_command(tmp_path):
    """The clone shares its public address with all of its kind, so the table has its host use a random one."""
    def chosen(path):
        sent = [layer for packet in texts(path) if packet["direction"] == "host-to-controller" for layer in packet["layers"]]
        own = [layer["fields"]["Own_Address_Type"] for layer in sent if layer["name"].endswith("Scan_Parameters")]
        return "LE_Set_Random_Address" in {layer["name"] for layer in sent}, own

    path = tmp_path / "clone.btsnoop"
    for chip, expected in ((["--chip", "csr-clone"], (True, ["Random_Device"])), ([], (False, ["Public_Device"]))):
        with dongles(1, *chip) as [port]:
            run_bench("capture", f"tcp:127.0.0.1:{port}", "--seconds", 2, "--write", path, "--quiet")
        assert chosen(path) == expected, chip


def test_a_ring_keeps_the_newest_files(tmp_path):
    path = tmp_path / "ring.pcapng"
    with dongles(1) as ports:
        options = ["--between", "tcp-listen:0", "--write", path, "--ring-files", 2, "--ring-size", 1, "--quiet"]
        with capturing(f"tcp:127.0.0.1:{ports[0]}", *options) as capture:
            run_bench("loopback", capture.sockets[0], "--packets", 6000)
            stop(capture)
            total = int(re.search(r"(\d+) packets", capture.text)[1])
    files = sorted(tmp_path.iterdir())
    numbers = [int(re.fullmatch(r"ring-(\d{5})\.pcapng", file.name)[1]) for file in files]
    assert len(files) == 2 and numbers[1] == numbers[0] + 1 and numbers[0] > 1
    assert 900_000 < files[0].stat().st_size < 1_300_000
    packets = [packet for file in files for packet in texts(file, "--no-names")]
    assert len(packets) < total and packets == sorted(packets, key=lambda packet: packet["time"])


def test_a_capture_ends_with_its_reader():
    with dongles(2) as ports, Process(bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]}", "--as", "heart-rate"):
        capture = subprocess.Popen([bluebench(), "capture", f"tcp:127.0.0.1:{ports[0]}"], stdout=subprocess.PIPE, cwd=ROOT)
        capture.stdout.readline()
        capture.stdout.close()
        assert capture.wait(TIMEOUT) == 0


@pytest.mark.parametrize("options, reason", [
    (["virtual"], "'virtual' has no peers here"), (["tcp:127.0.0.1:1", "--ring-files", "2"], "needs --write"),
    (["tcp:127.0.0.1:1", "--quiet"], "nothing would be captured"), (["tcp:127.0.0.1:1", "--between", "tcp:5"], "--between takes tcp-listen"),
    (["tcp:127.0.0.1:1", "tcp:127.0.0.1:1"], "named twice"), (["tcp:127.0.0.1:1", "--write", "x.txt", "--ring-files", "2"], "name a capture"),
])
def test_mistakes_are_told_before_anything_is_opened(options, reason):
    assert reason in run_bench("capture", *options, expected=USAGE).stderr


# MARK: Wireshark


@pytest.fixture
def wireshark(tmp_path, monkeypatch):
    """A command prefix with which Wireshark's folder for extcap programs has ours alone. The variable for the folder is ignored for root."""
    folder = tmp_path / "extcap"
    folder.mkdir()
    shutil.copy(ROOT / "Packaging/wireshark/bluebench", folder)
    monkeypatch.setenv("BLUEBENCH", os.path.abspath(bluebench()))
    folders = subprocess.run(["tshark", "-G", "folders"], capture_output=True, text=True, check=True).stdout
    place = re.search(r"^Extcap path:\s+(\S+)", folders, re.M)[1]
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", "--mount", *user, "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', str(folder), place, "tshark"]


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def test_the_protocol_of_extcap():
    version, *interfaces = run_bench("extcap", "--extcap-interfaces", "--extcap-version=4.0").stdout.splitlines()
    assert re.fullmatch(r"extcap \{version=[\d.]+\}\{help=https://[^}]+\}\{display=Bluebench\}", version)
    names = [re.fullmatch(r"interface \{value=([a-z0-9-]+)\}\{display=[^{}]+\}", line)[1] for line in interfaces]
    assert {"bluebench-device", "bluebench-air"} <= set(names)
    for name, number in ("bluebench-air", 256), ("bluebench-device", 201):
        dlt = run_bench("extcap", "--extcap-dlts", "--extcap-interface", name).stdout
        assert re.fullmatch(rf"dlt \{{number={number}\}}\{{name=\w+\}}\{{display=[^{{}}]+\}}\n", dlt)
        for index, line in enumerate(run_bench("extcap", "--extcap-config", "--extcap-interface", name).stdout.splitlines()):
            assert line.startswith(f"arg {{number={index}}}{{call=--") and re.search(r"\{type=(string|integer)\}", line)
    assert "no interface 'eth0'" in run_bench("extcap", "--extcap-dlts", "--extcap-interface", "eth0", expected=USAGE).stderr
    assert "needs --device" in run_bench(
        "extcap", "--capture", "--extcap-interface", "bluebench-device", "--fifo", "/dev/null", expected=USAGE).stderr


def test_tshark_lists_our_interfaces(wireshark):
    text = subprocess.run([*wireshark, "-D"], capture_output=True, text=True, check=True).stdout
    assert "bluebench-air (Bluebench: simulated air" in text and "bluebench-device" in text


def test_tshark_captures_the_simulated_air(wireshark):
    port = free_port()
    sniffer = subprocess.Popen(
        [*wireshark, "-n", "-l", "-i", "bluebench-air", "-o", f"extcap.bluebench_air.tcp:{port}", "-c", "20", "-T", "fields", "-e", "btle.advertising_address",
         "-e", "_ws.malformed"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(port)
        with Process(bluebench(), "advertise", f"tcp:127.0.0.1:{port}", "--as", "heart-rate"):
            out, errors = sniffer.communicate(timeout=TIMEOUT)
    finally:
        sniffer.kill()
    lines = out.splitlines()
    assert len(lines) == 20 and all(re.fullmatch(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", line.strip()) for line in lines), errors


def test_tshark_captures_between_a_program_and_its_controller(wireshark):
    port = free_port()
    with dongles(1) as ports:
        options = [f"extcap.bluebench_device.device:tcp:127.0.0.1:{ports[0]}", f"extcap.bluebench_device.between:tcp-listen:{port}"]
        sniffer = subprocess.Popen(
            [*wireshark, "-n", "-l", "-i", "bluebench-device", *(word for option in options for word in ("-o", option)), "-c", "10", "-T", "fields", "-e",
             "bthci_cmd.opcode", "-e", "_ws.malformed"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            wait_for(port)
            run_bench("scan", f"tcp:127.0.0.1:{port}", "--seconds", 1, expected=None)
            out, errors = sniffer.communicate(timeout=TIMEOUT)
        finally:
            sniffer.kill()
    assert "0x0c03" in out and len(out.splitlines()) == 10, errors


def test_the_profile_has_columns_and_filters_that_tshark_knows(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "Packaging/wireshark/Bluebench", tmp_path / "profiles/Bluebench")
    monkeypatch.setenv("WIRESHARK_CONFIG_DIR", str(tmp_path))
    session = ROOT / "Fixtures/h4/gatt-session--bumble-over-usb.pcapng"
    lines = tshark(session, "-C", "Bluebench")
    assert any(re.search(r"controller 0 Sent 0x0*1 +ATT ", line) for line in lines), "direction, connection and protocol are columns"
    filters = [line.split("@")[2] for line in (tmp_path / "profiles/Bluebench/colorfilters").read_text().splitlines() if line.startswith("@")]
    matched = [len(tshark(session, "-Y", text)) for text in filters]
    assert len(filters) == 10 and matched[0] > 0 and matched[-1] > 0


def wait_for(port):
    """Waits until something listens on a port, without connecting to it."""
    wait_until(lambda: f":{port:04X} 00000000:0000 0A" in open("/proc/net/tcp").read())
