"""Every command that opens a device knows the dongle: a clone, which shares its public address with all of its kind, goes by a random one."""

import contextlib
import json

import pytest

from support import Process, bluebench, dongles, run_bench

pytestmark = pytest.mark.wall_time

BENCH = 3
ON_AIR_PDUS = ("Scan_Parameters", "Create_Connection", "Advertising_Parameters")

# Arguments of each command for our device, beside another one that plays a heart rate sensor, with the exit code. `pair`, `btp` and `scan` draw an address
# of their own on any device.
ON_AIR = {
    "advertise": (["{mine}", "--seconds", "1"], 0),
    "capture": (["{mine}", "--seconds", "2", "--quiet", "--write", "{folder}/own.btsnoop"], 0),
    "gatt": (["{mine}", "--peer", "180D", "--only-value", "--read", "2A38"], 0),
    "l2cap": (["{mine}", "--peer", "180D", "--send", "00", "--seconds", "5"], None),
    "pair": (["{mine}", "--peer", "180D", "--accept", "--bonds", "{folder}/bonds"], None),
    "run": (["accessory-robust/survives[pdu=att-empty]", "--tester", "{mine}", "--peer", "180D"], None),
    "scan": (["{mine}", "--seconds", "1"], 0),
    "share": ([], 0),
    "start": (["{mine}"], 0),
    "survey": (["{mine}", "--peer", "180D"], 0),
    "throughput": (["--tester", "{mine}", "--subject", "{other}", "--over", "notify", "--phy", "1m", "--data-length", "27",
                    "--mtu", "23", "--seconds", "1"], 0),
}
# Commands that use no address of ours: they refuse it, or ask the controller only.
OFF_AIR = {
    "bridge": (["{mine}", "--advertise", "Us"], BENCH, "it goes by a static random address"),
    "devices": (["{mine}", "--probe", "--listen", "1"], 0, "csr-clone"),
    "loopback": (["{mine}", "--packets", "10"], 0, "10 of 10"),
}
# Commands that run another one of these, or serve a tester that decides what is on the air.
OTHERS = {"extcap", "mcp", "btp"}


def shared_scan(mine):
    with Process(bluebench(), "share", mine, "--tcp", "0") as server:
        [line] = server.wait_for(r"^(\S+) shares ")
        return run_bench("scan", line.group(1), "--seconds", 1)


def sent(path):
    """The layers of the commands to our controller."""
    packets = [json.loads(line) for line in run_bench("show", path, "--json", "--layer", "hci").stdout.splitlines()]
    return [layer for packet in packets if packet["interface"] == "controller 0" and packet["direction"] == "host-to-controller"
            for layer in packet["layers"]]


def play(command, arguments, code, folder, *options):
    """Runs a command on the first of two dongles; returns its output and the commands to the controller."""
    path = folder / "all.pcapng"
    with dongles(2, *options, "--capture", path) as ports:
        names = dict(zip(("mine", "other"), (f"tcp:127.0.0.1:{port}" for port in ports)), folder=folder)
        with contextlib.ExitStack() as stack:
            if not any("{other}" in word for word in arguments):
                sensor = stack.enter_context(Process(bluebench(), "advertise", names["other"], "--as", "heart-rate"))
                sensor.wait_for("advertising")
            done = shared_scan(names["mine"]) if command == "share" else run_bench(
                command, *(word.format(**names) for word in arguments), expected=code)
    return done.stdout + done.stderr, sent(path)


@pytest.mark.parametrize("command", ON_AIR)
def test_a_clone_goes_by_a_random_address(command, tmp_path):
    output, layers = play(command, *ON_AIR[command], tmp_path, "--chip", "csr-clone")
    own = [layer["fields"]["Own_Address_Type"] for layer in layers if layer["name"].endswith(ON_AIR_PDUS)]
    assert own and set(own) == {"Random_Device"}, output
    assert "LE_Set_Random_Address" in {layer["name"] for layer in layers}, output


@pytest.mark.parametrize("command", OFF_AIR)
def test_a_clone_is_known_where_no_address_is_used(command, tmp_path):
    arguments, code, text = OFF_AIR[command]
    output, _ = play(command, arguments, code, tmp_path, "--chip", "csr-clone")
    assert text in output


def opens_a_device(command):
    return any("usb:" in argument.get("abstract", "") or "tester" in [name["name"] for name in argument.get("names", [])]
               for argument in command.get("arguments", []))


def test_every_command_that_opens_a_device_is_here():
    dump = json.loads(run_bench("--experimental-dump-help").stdout)
    assert {command["commandName"] for command in dump["command"]["subcommands"] if opens_a_device(command)} - OTHERS == ON_AIR.keys() | OFF_AIR.keys()
