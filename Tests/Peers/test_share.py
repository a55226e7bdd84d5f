"""A dongle offered to others: one client at a time, reset for each, with a token if other machines can connect."""

import contextlib
import json
import os
import re
import socket

import pytest

from support import Process, bluebench, dongles, fake_usb, run_bench

FAIL, USAGE, BENCH = 1, 2, 3
RESET, RESET_DONE = bytes.fromhex("01030c00"), bytes.fromhex("030c00")
TOKEN = "correct-horse-battery"


@contextlib.contextmanager
def shared(device, *options, **process):
    with Process(bluebench(), "share", device, *(options or ("--tcp", "0")), **process) as server:
        [line] = server.wait_for(r"^(\S+) shares ")
        server.selector = line.group(1)
        yield server


def connect(server):
    port = int(re.fullmatch(r"tcp:127\.0\.0\.1:(\d+)(,token)?", server.selector)[1])
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def exchange(client, packet, answer):
    """Sends a command and waits for an event that contains `answer`; returns the received octets."""
    client.sendall(packet)
    got = b""
    while answer not in got:
        piece = client.recv(4096)
        assert piece, f"hung up after {got.hex()}"
        got += piece
    return got


def verdicts(path):
    return [case["verdict"] for case in json.loads(path.read_text())["cases"]]


def test_cases_run_on_shared_dongles(tmp_path, ports):
    results, path = tmp_path / "r.json", tmp_path / "s"
    with shared(f"tcp:127.0.0.1:{ports[0]}") as one, shared(f"tcp:127.0.0.1:{ports[1]}", "--unix", path) as two:
        assert two.selector == f"unix:{path}"
        for _ in range(2):
            run_bench("run", "phy/read", "--tester", one.selector, "--subject", two.selector, "--json", results)
            assert verdicts(results) == ["PASS"]
        assert one.running() and two.running()
    assert not path.exists()


def test_over_a_usb_bus(tmp_path):
    results = tmp_path / "r.json"
    with fake_usb(2) as bus:
        one, two = (shared(f"usb:{dongle.path}", env=bus.environment) for dongle in bus.dongles)
        with one as one, two as two:
            run_bench("run", "phy/read", "--tester", one.selector, "--subject", two.selector, "--json", results)
            assert verdicts(results) == ["PASS"]
            one.wait_for("the client left")


def test_a_second_client_is_told_and_the_first_goes_on(ports):
    with shared(f"tcp:127.0.0.1:{ports[0]}") as server, connect(server) as first:
        exchange(first, RESET, RESET_DONE)
        refused = run_bench("scan", server.selector, "--seconds", "1", expected=BENCH)
        assert "another client may be using it" in refused.stderr
        server.wait_for("in use: another client was refused")
        exchange(first, RESET, RESET_DONE)


def test_the_next_client_finds_it_reset(ports):
    """The suggested data length that one client wrote is the default again for the next."""
    write, read = bytes.fromhex("01242004fb004808"), bytes.fromhex("01232000")
    written, default = bytes.fromhex("232000fb004808"), bytes.fromhex("2320001b004801")
    with shared(f"tcp:127.0.0.1:{ports[0]}") as server:
        with connect(server) as first:
            exchange(first, write, bytes.fromhex("242000"))
            exchange(first, read, written)
        with connect(server) as second:
            exchange(second, read, default)


def test_a_dongle_that_goes_away_is_told():
    with contextlib.ExitStack() as stack:
        with dongles(1) as [port]:
            server = stack.enter_context(shared(f"tcp:127.0.0.1:{port}"))
            client = stack.enter_context(connect(server))
            exchange(client, RESET, RESET_DONE)
        assert client.recv(1) == b""
        server.wait_for(rf"tcp:127.0.0.1:{port} went away")
        with connect(server) as late:
            assert late.recv(1) == b""
        server.wait_for("cannot reach")
        assert server.running()


def test_a_token_keeps_others_out(tmp_path, ports, monkeypatch):
    file, results = tmp_path / "token", tmp_path / "r.json"
    file.write_text(TOKEN + "\n")
    with shared(f"tcp:127.0.0.1:{ports[0]}", "--tcp", "0", "--token-file", file) as server:
        with connect(server) as client:
            client.sendall(RESET + b"\n")
            assert client.recv(100) == b""
        server.wait_for("without the token")
        monkeypatch.delenv("BLUEBENCH_TOKEN", raising=False)
        scan = ("scan", server.selector, "--seconds", "1")
        assert "put it into the variable BLUEBENCH_TOKEN" in run_bench(*scan, expected=BENCH).stderr
        monkeypatch.setenv("BLUEBENCH_TOKEN", TOKEN.replace("horse", "house"))
        assert "does not take the token" in run_bench(*scan, expected=BENCH).stderr
        monkeypatch.setenv("BLUEBENCH_TOKEN", TOKEN)
        run_bench("run", "phy/read", "--tester", server.selector, "--subject", f"tcp:127.0.0.1:{ports[1]}", "--json", results)
        assert verdicts(results) == ["PASS"] and TOKEN not in results.read_text()


@pytest.mark.parametrize("strangers", [30, 100])
def test_silent_strangers_keep_nobody_out(tmp_path, ports, monkeypatch, strangers):
    file, results = tmp_path / "token", tmp_path / "r.json"
    file.write_text(TOKEN)
    monkeypatch.setenv("BLUEBENCH_TOKEN", TOKEN)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(shared(f"tcp:127.0.0.1:{ports[0]}", "--tcp", "0", "--token-file", file))
        for _ in range(strangers):
            stack.enter_context(connect(server))
        run_bench("run", "phy/read", "--tester", server.selector, "--subject", f"tcp:127.0.0.1:{ports[1]}", "--json", results)
        assert verdicts(results) == ["PASS"]


def test_with_nobody_the_device_is_free_and_the_end_is_clean(ports):
    device = f"tcp:127.0.0.1:{ports[0]}"
    with shared(device) as server:
        run_bench("scan", device, "--seconds", "1")
        with connect(server) as client:
            exchange(client, RESET, RESET_DONE)
            server.stop()
            assert client.recv(1) == b""
        assert server.wait() == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("usb:1-1",), USAGE, "give --tcp PORT or --unix PATH"),
        (("usb:1-1", "--tcp", "0", "--unix", "x"), USAGE, "give --tcp PORT or --unix PATH"),
        (("usb:1-1", "--unix", "x", "--host", "0.0.0.0"), USAGE, "need --tcp"),
        (("usb:1-1", "--tcp", "0", "--host", "0.0.0.0"), USAGE, "a token of 16"),
        (("usb:1-1", "--tcp", "0", "--token-file", os.devnull), USAGE, "has no token"),
        (("virtual", "--tcp", "0"), USAGE, "bluebench dongle"),
        (("nonsense", "--tcp", "0"), USAGE, "device 'nonsense'"),
        (("tcp:127.0.0.1:1", "--tcp", "0"), BENCH, "cannot reach"),
    ],
)
def test_what_cannot_be_shared(arguments, code, words, monkeypatch):
    monkeypatch.delenv("BLUEBENCH_TOKEN", raising=False)
    result = run_bench("share", *arguments, expected=code)
    assert words in result.stderr and len(result.stderr.splitlines()) == 1


def test_virtual_time_is_not_shared():
    refused = run_bench("share", "tcp:127.0.0.1:1,virtual-time", "--tcp", "0", expected=USAGE).stderr
    assert "share works in real time only" in refused and "tester of run" not in refused
