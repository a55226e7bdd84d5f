"""Foreign hosts in virtual time: the exchange of two Bumble hosts is identical in each run, and waiting is instantaneous."""

import asyncio
import contextlib
import functools
import hashlib
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest
from bumble import hci
from bumble.device import Device
from bumble.pairing import PairingDelegate

import test_bumble_hosts as hosts
import test_credit_channels as channels
import test_pairing as pairing
from support import HERE, Inbox, Process, PythonPeer, Starvation, dongles, host, in_virtual_time, run_beside, virtualtime
from bluebench.virtualtime.client import FOR_EVER, HELLO, IDLE, Client, Connection, message  # support makes it importable

SOAK = "SOAK" in os.environ
RUNS = 10 if SOAK else 3


async def supervision_loss(ports):
    """A host that is lost without notice: its controller leaves the air, and the link ends with its supervision timeout."""
    async with host(ports[0], "central", hosts.CENTRAL) as central:
        async with host(ports[1], "peripheral", hosts.PERIPHERAL) as peripheral:
            await peripheral.start_advertising(advertising_data=hosts.NAME, advertising_interval_min=20, advertising_interval_max=20)
            link = await central.connect(hosts.PERIPHERAL)
            gone = Inbox(link, "disconnection")
            assert (await link.get_remote_le_features()) is not None
        loop = asyncio.get_running_loop()
        left, timeout = loop.time(), link.parameters.supervision_timeout / 1000
        assert await gone.next() == hci.HCI_CONNECTION_TIMEOUT_ERROR
        # The controller is removed one supervision timeout after the last packet that it sent.
        assert timeout - 1 <= loop.time() - left <= timeout + 1


async def traffic(ports):
    """Values in both directions, each with its answer."""
    store = hosts.Store()
    async with hosts.connected(ports, [store.service]) as (link, other):
        _, value, stream = await hosts.discovered(link)
        received = Inbox()
        await stream.subscribe(received.put)
        for number in range(30):
            await value.write_value(bytes([number] * 20), with_response=True)
            await other.device.notify_subscriber(other, store.stream, bytes([number] * 20))
            assert (await received.next())[0] == number


async def timers(ports):
    """Interleaved timers of both hosts' program, with packets between them."""
    rng, loop, order = random.Random(3), asyncio.get_running_loop(), []
    async with hosts.connected(ports) as (link, other):
        async def ask(side, name):
            for _ in range(20):
                await virtualtime.sleep(rng.uniform(0, 0.1))
                order.append((name, await side.get_rssi(), round(loop.time(), 6)))
        await asyncio.gather(ask(link, "near"), ask(other, "far"))
        assert [time for _, _, time in order] == sorted(time for _, _, time in order)


def pair(responder, secure):
    return functools.partial(pairing.test_every_association_model, responder=responder, sc=secure)


def of(function, **arguments):
    return functools.partial(function, **arguments)


SCENARIOS = {
    "scan, passive": of(hosts.test_scan_finds_a_legacy_advertiser, active=False, legacy_commands=True),
    "scan, active": of(hosts.test_scan_finds_a_legacy_advertiser, active=True, legacy_commands=False),
    "duplicates": hosts.test_duplicates_are_filtered,
    "extended advertising": of(hosts.test_extended_advertising_data_arrives_whole, length=251, secondary=hci.Phy.LE_2M),
    "connection on the secondary channel": hosts.test_extended_connection_on_the_2m_secondary,
    "disconnection by the central": hosts.test_connect_and_disconnect,
    "disconnection by the peripheral": hosts.test_the_peripheral_disconnects,
    "connection again": hosts.test_connect_again_after_a_disconnection,
    "features and RSSI": hosts.test_remote_features_and_rssi,
    "data length": hosts.test_data_length,
    "PHY": of(hosts.test_phy, tx=hci.Phy.LE_2M, rx=hci.Phy.LE_CODED),
    "parameters": of(hosts.test_the_central_updates_the_parameters, interval_ms=30),
    "MTU and long values": of(hosts.test_mtu_and_long_values, mtu=247),
    "read and write": hosts.test_discovery_read_and_write,
    "notifications": of(hosts.test_notifications_and_indications, indicate=False),
    "indications": of(hosts.test_notifications_and_indications, indicate=True),
    "traffic while the link changes": hosts.test_traffic_both_ways_keeps_order_while_the_link_changes,
    "Just Works": pair(3, False),
    "passkey": pair(2, False),
    "Secure Connections": pair(4, True),
    "bond": of(pairing.test_a_bond_outlives_a_power_cycle, sc=True, by_request=True),
    "credit-based channel": channels.test_two_bumble_hosts,
    "supervision timeout": supervision_loss,
    "packet loss": traffic,
    "timers": timers,
}
OPTIONS = {"packet loss": ["--packet-error-rate", 0.1]}


def air(folder, number, scenario, *options):
    """The digest of the air log of one run."""
    path = folder / f"{number}.pcapng"
    with dongles(2, "--seed", "5", "--air", path, *map(str, options), virtual_time=True) as ports:
        in_virtual_time(scenario(ports))
    assert path.stat().st_size > 400, "something was on the air"
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextlib.contextmanager
def busy(cores=os.cpu_count() or 1):
    """Load on every core."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_air_is_the_same_to_the_octet(tmp_path, name):
    scenario, options = SCENARIOS[name], OPTIONS.get(name, [])
    digests = {air(tmp_path, number, scenario, *options) for number in range(RUNS - 1)}
    with busy():
        digests.add(air(tmp_path, RUNS, scenario, *options))
    assert len(digests) == 1


def test_another_seed_is_another_air(tmp_path):
    assert air(tmp_path, 1, traffic) != air(tmp_path, 2, traffic, "--seed", "6")


def test_a_minute_of_two_connected_hosts_takes_no_minute(ports_of_a_world):
    async def minute():
        async with hosts.connected(ports_of_a_world):
            began, loop, starvation = time.monotonic(), asyncio.get_running_loop(), Starvation()
            then = loop.time()
            await virtualtime.sleep(60)
            assert loop.time() - then == pytest.approx(60, abs=1e-6)
            return time.monotonic() - began, starvation.seconds()

    took, starved = in_virtual_time(minute())
    print(f"60 s of virtual time took {took:.2f} s")
    # Slept in real time it would take a minute, whatever the load.
    assert took < 60 + 3 * starved


@pytest.fixture
def ports_of_a_world():
    with dongles(2, virtual_time=True) as found:
        yield found


def test_threads_and_other_sockets_take_no_time(ports_of_a_world):
    async def scenario():
        async with hosts.connected(ports_of_a_world):
            loop = asyncio.get_running_loop()
            then = loop.time()
            assert await asyncio.to_thread(sum, range(100)) == 4950
            assert loop.time() == then, "time stands still while a thread works"
            server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            assert await reader.read() == b""
            writer.close()
            server.close()

    in_virtual_time(scenario())


def test_a_loop_without_a_world_has_time_of_its_own():
    async def scenario():
        loop = asyncio.get_running_loop()
        then = loop.time()
        await virtualtime.sleep(1000)
        assert loop.time() - then == pytest.approx(1000)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(loop.create_future(), 3600)

    virtualtime.run(scenario())


def test_random_numbers_repeat_themselves():
    import secrets
    from bumble import crypto
    draw = lambda: (secrets.token_bytes(16), os.urandom(4), random.random(), secrets.randbelow(10**6), crypto.EccKey.generate().x, crypto.r())  # noqa: E731
    with virtualtime.seeded(1):
        one = draw()
    with virtualtime.seeded(1):
        assert draw() == one
    with virtualtime.seeded(2):
        assert not set(draw()) & set(one)
    assert not set(draw()) & set(one)


def test_two_programs_share_a_world(tmp_path):
    """Each is a separate client; the air does not depend on their speed."""
    program = HERE / "virtual_pair.py"
    digests = set()
    for number in range(RUNS):
        path = tmp_path / f"{number}.pcapng"
        with dongles(2, "--air", path, virtual_time=True) as ports:
            order = list(zip(("peripheral", "central"), ports, strict=True))
            if number % 2:
                order.reverse()
            with contextlib.ExitStack() as stack:
                programs = [stack.enter_context(PythonPeer(program, role, port)) for role, port in order]
                for running in programs:
                    assert running.wait() == 0, running.text
                    assert "done at" in running.text
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(digests) == 1


@pytest.mark.virtual_time
async def test_our_program_shares_the_world(ports):
    """Time does not advance between its runs, because the loop expects it."""
    store = hosts.Store()
    async with host(ports[1], "peripheral", hosts.PERIPHERAL) as peripheral:
        peripheral.add_service(store.service)
        await peripheral.start_advertising(advertising_data=hosts.NAME, advertising_interval_min=20, advertising_interval_max=20)
        for value in (b"one", b"other"):
            result = await run_beside(
                "gatt", ports[0], "--peer", hosts.PERIPHERAL + "/random", "--write", f"{hosts.VALUE}={value.hex()}", "--bonds", "none")
            assert f"wrote {len(value)} octets" in result.stdout and store.value == value, result
            await peripheral.start_advertising(advertising_data=hosts.NAME, advertising_interval_min=20, advertising_interval_max=20)


def test_our_programs_share_a_world_over_unix_sockets(tmp_path):
    """An accessory without --seconds has no timer, and ends with its air."""
    from support import bluebench, run_bench
    place = tmp_path / "hci"
    with Process(bluebench(), "dongle", "--unix", place, "--count", 2, "--virtual-time") as server:
        server.wait_for(r"^unix:", 2)
        with Process(bluebench(), "advertise", f"unix:{place},virtual-time=2", "--as", "heart-rate") as accessory:
            [found] = accessory.wait_for(r"advertising .* at (\S+)")
            told = run_bench("gatt", f"unix:{place}.1,virtual-time", "--peer", found[1], "--bonds", "none").stdout
            assert "Heart Rate" in told and accessory.running()
            server.stop()
            assert accessory.wait() == 3 and accessory.text.count("\n") == 1, accessory.text


def test_a_client_that_is_awake_finds_all_packets_in_the_captures(tmp_path):
    from support import run_bench
    air, packets = tmp_path / "air.pcapng", tmp_path / "hci.pcapng"
    with world("--air", air, "--capture", packets) as (_, ports):
        client = Client("reader")
        wire = client.connect(f"127.0.0.1:{ports[0]}")
        for command in ("01030c00", "010a200101"):  # Reset, LE_Set_Advertising_Enable
            wire.send(bytes.fromhex(command))
            client.idle()
            [(_, answer)] = client.receive()
            assert answer[1] == 0x0E and answer[-1] == 0
            assert run_bench("show", packets).stdout.count("Command_Complete") == (2 if command == "010a200101" else 1)
        for seconds in (10, 20):
            client.idle(int(seconds * 1e9))
            assert client.receive() == [] and client.now == int(seconds * 1e9)
            # Three channels every 1.28 s, and up to 10 ms more.
            assert run_bench("show", air).stdout.count("ADV_IND") >= 3 * int((seconds - 1) / 1.29)
        client.disconnect(wire)


# Clients that violate the protocol: the run ends with one sentence and exit code 3.

def wire(port, name=b"x", clients=1):
    """A connection after its welcome message."""
    return Connection(f"127.0.0.1:{port}", name.decode(), clients)


def until(seconds):
    return message(IDLE, FOR_EVER.to_bytes(8, "little") if seconds is None else int(seconds * 1e9).to_bytes(8, "little"))


RESET = bytes.fromhex("01030c00")
HOSTILE = {
    "dies": (lambda wire: wire.socket.close(), "closed the connection without BYE"),
    "dies idle": (lambda wire: (wire.flush(until(5)), wire.receive(), wire.socket.close()), "closed the connection without BYE"),
    "packet when idle": (lambda wire: wire.flush(until(None) + RESET), "sent an HCI packet after it had said that it was idle"),
    "idle twice": (lambda wire: wire.flush(until(1) + until(2)), "said twice that it is idle"),
    "time goes back": (lambda wire: (wire.flush(until(2)), wire.receive(), wire.flush(until(1))), "time does not go back"),
    "waits for two days": (lambda wire: wire.flush(until(2 * 86400)), "more than 86400 s away"),
    "never idle": (lambda wire: wire.flush(RESET), "has been silent for 1.0 s and is not idle"),
    "floods": (lambda wire: wire.flush(RESET * 20_000), "floods: more than 16384"),
    "floods messages": (lambda wire: wire.flush(message(0x03) * 20_000), "floods: more than 16384"),
    "is idle for ever": (lambda wire: wire.flush(until(None)), "nothing is left that could happen"),
    "hello twice": (lambda wire: wire.flush(message(HELLO, b"\1\1x")), "said hello twice"),
    "plays the server": (lambda wire: wire.flush(message(0x82, bytes(8))), "only a server sends"),
    "unknown message": (lambda wire: wire.flush(message(0x44)), "message 0x44 is unknown"),
    "malformed message": (lambda wire: wire.flush(message(IDLE, b"\0")), "cannot have this payload of 1 octets"),
    "no HCI": (lambda wire: wire.flush(b"\x99"), "indicator 0x99"),
}


@contextlib.contextmanager
def world(*options):
    from support import bluebench
    with Process(bluebench(), "dongle", "--tcp", 0, "--count", 2, "--virtual-time", "--client-timeout", 1, *options) as server:
        yield server, [int(match.group(1)) for match in server.wait_for(r"\btcp\D*127\.0\.0\.1:(\d+)", 2)]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_client_that_breaks_the_rules_ends_the_run(name):
    act, text = HOSTILE[name]
    with world() as (server, ports):
        client = wire(ports[0])
        with contextlib.suppress(virtualtime.VirtualTimeError):
            act(client)
        assert server.wait() == 3, server.text
        [line] = [line for line in server.lines if "the client" in line or "all clients" in line]
        assert text in line
        client.socket.close()


def test_a_world_whose_second_client_never_comes_ends():
    with world() as (server, ports):
        client = wire(ports[0], clients=2)
        client.flush(until(None))
        with pytest.raises(virtualtime.VirtualTimeError, match="1 of 2 clients are there"):
            client.receive()
        assert server.wait() == 3


def test_the_others_are_told_why():
    with world() as (server, ports):
        one, other = wire(ports[0], b"one", 2), wire(ports[1], b"other", 2)
        one.flush(until(None))
        other.flush(until(None) + RESET)
        with pytest.raises(virtualtime.VirtualTimeError, match="'other' at .* sent an HCI packet"):
            one.receive()
        assert server.wait() == 3


def test_strangers_are_turned_away_and_the_world_goes_on():
    import socket
    with world() as (server, ports):
        client = wire(ports[0])
        with socket.create_connection(("127.0.0.1", ports[1])) as stranger:
            stranger.sendall(RESET)
            stranger.settimeout(60)
            assert b"does not say hello" in stranger.recv(1000)
        server.wait_for("a client that does not say hello was turned away")
        with pytest.raises(virtualtime.VirtualTimeError, match="a second client was turned away"):
            wire(ports[0])
        client.flush(until(3))
        assert client.receive()[1] == int(3e9).to_bytes(8, "little")
        client.close()
        assert server.running()


class Interruption(BaseException):
    """An exception of a signal handler."""


def interrupt(count):
    """Raises an exception at one of the lines of the client and the loop that are executed from now on."""
    def line(frame, event, _):
        nonlocal count
        # What falls in a plain callback ends with it: asyncio logs it and goes on.
        count -= event == "line" and frame.f_code.co_name != "_deliver"
        if count < 0:
            sys.settrace(None)
            raise Interruption
        return line
    sys.settrace(lambda frame, *_: line if pathlib.Path(frame.f_code.co_filename).parent.name == "virtualtime" else None)


async def resets(ports, count):
    """A client with two controllers that sends and waits until it is interrupted."""
    interrupt(count)
    loop = asyncio.get_running_loop()
    answers = asyncio.Queue()
    wires = [loop.open_connection_to(f"127.0.0.1:{port}", answers.put_nowait) for port in ports]
    while True:
        for connection in wires:
            connection.send(RESET)
            await answers.get()
        await asyncio.wait([loop.create_future()], timeout=0.01)


def test_a_client_that_is_interrupted_anywhere_leaves():
    """As by SIGTERM or a time limit of pytest. The next client then has the world for itself."""
    with world() as (server, ports):
        for count in range(0, 600, 4 if SOAK else 11):
            with pytest.raises(Interruption):
                virtualtime.run(resets(ports, count))
            assert server.running(), f"interrupted after {count} lines: {server.text}"
        wire(ports[0]).close()
        assert server.running() and "turned away" not in server.text


@pytest.mark.parametrize("hello, words", [
    (b"\x54\x01\x02\x00\x09\x01", b"speaks version 9"), (b"\x54\x01\x02\x00\x01\x00", b"world has 0 clients"),
])
def test_a_stranger_that_cannot_belong_to_the_world_does_not_end_it(hello, words):
    import socket
    with world() as (server, ports):
        client = wire(ports[0])
        with socket.create_connection(("127.0.0.1", ports[1])) as stranger:
            stranger.sendall(hello)
            stranger.settimeout(60)
            assert words in stranger.recv(1000)
        client.flush(until(3))
        assert client.receive()[1] == int(3e9).to_bytes(8, "little")
        client.close()
        assert server.running()


def test_a_server_that_never_sends_the_time_is_left_in_bounded_memory():
    import socket
    import threading
    from support import run_bench
    welcome, event = b"\x54\x81\x09\x00\x01" + bytes(8), b"\x04\xff\xff" + bytes(255)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(welcome)
                while True:
                    connection.sendall(event * 1000)

        threading.Thread(target=serve, daemon=True).start()
        result = run_bench("scan", "tcp:127.0.0.1:%d,virtual-time" % listener.getsockname()[1], "--seconds", 2, expected=3)
    assert "16 MiB without the time" in result.stderr


@pytest.mark.parametrize("options", [["--usbip", "0"], ["--tcp", "0", "--boot", "rtl8761b"], ["--tcp", "0", "--host", "0.0.0.0"]])
def test_virtual_time_is_refused_where_it_cannot_be(options):
    from support import run_bench
    result = run_bench("dongle", "--virtual-time", *options, expected=None)
    assert result.returncode in (2, 3) and "irtual" in result.stderr


