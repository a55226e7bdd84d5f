"""`bluebench gatt --transport bredr`: GATT on PSM 31 between two of our programs on two dual-mode virtual dongles."""

import json

import pytest

from support import Process, bluebench, dongles, run_bench


class Bench:
    """A client, and a server that can be paged."""

    def __init__(self, folder, ports):
        self.client, self.server = (f"tcp:127.0.0.1:{port}" for port in ports)
        self.bonds = [folder / "client.json", folder / "server.json"]

    def serve(self):
        """A server, which runs until its peer disconnects, and its address."""
        server = Process(bluebench(), "bridge", self.server, "--advertise", "speaker", "--bonds", self.bonds[1], "--json")
        return server, server.wait_for(r'"event":"advertising".*"peer":"([^"/]*)')[0][1]

    def run(self, command, peer, *options, expected=0):
        return run_bench(command, self.client, "--peer", peer, "--transport", "bredr", "--bonds", self.bonds[0], *options, expected=expected)

    def pair(self):
        server, peer = self.serve()
        with server:
            self.run("pair", peer, "--io", "none", "--no-mitm", "--accept")
            assert server.wait() == 0, server.text


@pytest.fixture
def bench(tmp_path):
    with dongles(2, "--profile", "dual") as ports:
        yield Bench(tmp_path, ports)


def test_values_are_read(bench):
    bench.pair()
    server, peer = bench.serve()
    with server:
        lines = bench.run("gatt", peer, "--read", "2A00").stdout.splitlines()
        assert server.wait() == 0, server.text
    assert lines[:3] == [f"connected to {peer} over BR/EDR", "encrypted with the key of the bond, 16 octets", "mtu 672"]
    assert f"read 0x2A00: {b'speaker'.hex().upper()}  'speaker'" in lines
    assert [line.split(" (")[0] for line in lines if line.startswith("service")] == ["service 0x1800", "service 0x1801"]
    server, peer = bench.serve()
    with server:
        report = json.loads(bench.run("gatt", peer, "--read", "2A00", "--json").stdout)
        assert server.wait() == 0, server.text
    assert (report["transport"], report["mtu"], "interval" in report) == ("bredr", 672, False)
    assert report["reads"] == [{"uuid": "0x2A00", "value": b"speaker".hex().upper()}]


def test_a_peer_without_a_key_is_to_be_paired_first(bench):
    bench.bonds[0].write_text('{"format": "bluebench bonds", "version": 2, "bonds": []}')
    bench.bonds[0].chmod(0o600)
    result = bench.run("gatt", "02:BB:00:00:00:02", expected=2)
    assert "`bluebench pair --transport bredr` makes one" in result.stderr


def test_a_peer_that_has_lost_its_key_is_told(bench):
    bench.pair()
    bench.bonds[1].unlink()
    server, peer = bench.serve()
    with server:
        assert "pair --again" in bench.run("gatt", peer, expected=1).stderr
