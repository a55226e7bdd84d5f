"""`bluebench l2cap` as a pipe and as a bridge to TCP, between two virtual dongles in real time, and with Bumble at the other end."""

import contextlib
import http.server
import random
import re
import select
import signal
import subprocess
import threading
import urllib.request

import pytest

from support import TIMEOUT, PythonPeer, bluebench, dongles

pytestmark = pytest.mark.wall_time

OCTETS = random.Random(28).randbytes(60_000)


class Pipe:
    """`bluebench l2cap` with pipes at its streams; its messages are on the standard error stream."""

    def __init__(self, port, *arguments, input=subprocess.PIPE, output=subprocess.PIPE):
        self.text = ""
        command = [bluebench(), "l2cap", f"tcp:127.0.0.1:{port}", *map(str, arguments)]
        self.process = subprocess.Popen(command, stdin=input, stdout=output, stderr=subprocess.PIPE)
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            with self._more:
                self.text += line.decode()
                self._more.notify_all()

    def wait_for(self, pattern):
        with self._more:
            assert self._more.wait_for(lambda: re.search(pattern, self.text), TIMEOUT), f"no {pattern} in:\n{self.text}"
            return re.search(pattern, self.text)

    def wait(self, expected=0):
        code = self.process.wait(TIMEOUT)
        self._reader.join(TIMEOUT)
        assert code == expected, f"exit {code}\n{self.text}"
        return self.text

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def listening(port, *arguments, **streams):
    """A listening pipe and the option that names it."""
    with Pipe(port, "--listen", *arguments, **streams) as pipe:
        yield pipe, ("--peer", pipe.wait_for(r"(?:advertising|connectable over BR/EDR) as ([0-9A-F:]+)").group(1))


def exchange(caller, listener):
    for one, other in ((caller, listener), (listener, caller)):
        one.process.stdin.write(b"hello\n")
        one.process.stdin.flush()
        ready, _, _ = select.select([other.process.stdout], [], [], TIMEOUT)
        assert ready, f"nothing came\nfrom: {one.text}\nto: {other.text}"
        assert other.process.stdout.readline() == b"hello\n"


@pytest.mark.parametrize("options", [(), ("--channels", 3), ("--enhanced", 2), ("--mtu", 100, "--mps", 40, "--credits", 2)], ids=str)
def test_a_file_goes_through(tmp_path, options):
    copy = tmp_path / "copy"
    with dongles() as (near, far), copy.open("wb") as output:
        with listening(far, *options, input=subprocess.DEVNULL, output=output) as (listener, peer):
            with Pipe(near, *peer, *options) as sender:
                sender.process.stdin.write(OCTETS)
                sender.process.stdin.close()
                text = sender.wait()
            other = listener.wait()
    assert copy.read_bytes() == OCTETS
    assert f"sent {len(OCTETS)} octets, received 0" in text and "ended by this side" in text and "kbit/s" in text
    assert f"sent 0 octets, received {len(OCTETS)}" in other and "ended by the peer" in other


def test_both_directions_and_the_published_spsm():
    with dongles() as (near, far), listening(far, "--published", "--spsm", 0x91) as (listener, peer):
        with Pipe(near, *peer, "--published", "--keep-open", "--progress") as caller:
            exchange(caller, listener)
            assert "SPSM 0x91" in listener.text.replace("0x0091", "0x91")
            caller.wait_for(r"kbit/s")
            # The end of the listener's input closes the channel; the caller, who keeps it open, learns it.
            listener.process.stdin.close()
            assert "ended by the peer" in caller.wait()
        listener.wait()


def test_a_reader_that_stops_holds_up_the_writer():
    with dongles() as (near, far), listening(far, input=subprocess.DEVNULL) as (listener, peer):
        with Pipe(near, *peer) as sender:
            writing = threading.Thread(target=lambda: (sender.process.stdin.write(bytes(400_000)), sender.process.stdin.close()), daemon=True)
            writing.start()
            writing.join(10)
            # Pipes, queues and credits hold less than that; nothing is read.
            assert writing.is_alive()
            assert len(listener.process.stdout.read()) == 400_000
            sender.wait()
        listener.wait()


def test_ctrl_c_closes_the_channel():
    with dongles() as (near, far), listening(far) as (listener, peer):
        with Pipe(near, *peer) as sender:
            sender.wait_for(": open, ")
            listener.wait_for(": open, ")
            sender.process.send_signal(signal.SIGINT)
            assert "ended by this side" in sender.wait()
        assert "ended by the peer" in listener.wait()


def test_a_refused_channel_is_told():
    with dongles() as (near, far), listening(far) as (_, peer), Pipe(near, *peer, "--spsm", 0x99) as sender:
        text = sender.wait(expected=1)
        assert "refused" in text and "--published" in text


PASSKEY = ("--pair", "--passkey", "012345")


@pytest.mark.parametrize(("demand", "given", "level"), [
    (("--security", "encrypted", "--pair"), ("--pair",), "encrypted"),
    (("--security", "authenticated", *PASSKEY), ("--security", "authenticated", *PASSKEY), "secure_connections"),
    (("--security", "secure-connections", "--min-key-size", "16", *PASSKEY), PASSKEY, "secure_connections"),
], ids=str)
def test_a_channel_that_demands_security(tmp_path, demand, given, level):
    """Without a bond the channel is refused with a word about it; after the pairing it opens, and later the bond is enough."""
    bonds = [("--bonds", tmp_path / name) for name in ("near", "far")]
    with dongles() as (near, far), listening(far, *demand, *bonds[1], "--keep-open") as (listener, peer):
        with Pipe(near, *peer, "--bonds", "none") as stranger:
            text = stranger.wait(expected=1)
            assert "Refused_Insufficient_Authentication" in text and "--pair" in text
        with Pipe(near, *peer, *given, *bonds[0], "--keep-open") as caller:
            caller.wait_for(f"encrypted: level {level}, a key of 16 octets")
            exchange(caller, listener)
            caller.process.send_signal(signal.SIGINT)
            caller.wait()
        listener.wait()
        with listening(far, *demand, *bonds[1]) as (again, peer), Pipe(near, *peer, *bonds[0]) as caller:
            caller.wait_for(f"encrypted: level {level}")
            exchange(caller, again)


def test_a_bond_of_a_lower_level_is_not_enough(tmp_path):
    bonds = [("--bonds", tmp_path / name) for name in ("near", "far")]
    with dongles() as (near, far):
        with listening(far, "--pair", *bonds[1]) as (_, peer), Pipe(near, *peer, "--pair", *bonds[0]) as caller:
            caller.wait_for(": open, ")
        with listening(far, "--security", "authenticated", *bonds[1]) as (_, peer):
            with Pipe(near, *peer, *bonds[0]) as caller:
                text = caller.wait(expected=1)
                assert "Refused_Insufficient_Authentication" in text and "--security authenticated" in text
            with Pipe(near, *peer, "--security", "authenticated", *bonds[0]) as caller:
                assert "has a lower level: --pair" in caller.wait(expected=1)
            with Pipe(near, *peer, "--security", "encrypted", "--bonds", "none") as caller:
                assert "there is no bond with" in caller.wait(expected=1)


def test_only_allowed_devices_and_no_more_channels_than_the_pipe_takes():
    with dongles() as (near, far):
        with listening(far, "--allow", "C0:B1:BE:00:00:99/random") as (listener, peer), Pipe(near, *peer) as caller:
            text = caller.wait(expected=1)
            assert "Refused_Insufficient_Authorization" in text and "--allow" in text
            listener.wait_for("was refused: --allow does not name it")
        with listening(far, "--channels", 2) as (listener, peer), Pipe(near, *peer, "--channels", 3) as caller:
            text = caller.wait(expected=1)
            assert "Refused_No_Resources" in text and "as many channels as it takes" in text
            listener.wait_for("a further channel was refused: the pipe takes 2 channels")


@pytest.mark.parametrize("options", [(), ("--enhanced", 3)], ids=str)
def test_a_pipe_over_bredr(tmp_path, options):
    copy = tmp_path / "copy"
    bonds = [("--transport", "bredr", "--bonds", tmp_path / name) for name in ("near", "far")]
    with dongles(2, "--profile", "dual") as (near, far), copy.open("wb") as output:
        with listening(far, "--pair", *options, *bonds[1], input=subprocess.DEVNULL, output=output) as (listener, peer):
            with Pipe(near, *peer, "--transport", "bredr", "--bonds", "none") as stranger:
                assert "there is no bond with" in stranger.wait(expected=1)
            with Pipe(near, *peer, "--pair", *options, *bonds[0]) as sender:
                sender.process.stdin.write(OCTETS)
                sender.process.stdin.close()
                text = sender.wait()
                assert "encrypted: level encrypted, a key of 16 octets" in text
            listener.wait()
    assert copy.read_bytes() == OCTETS


@pytest.mark.parametrize(("arguments", "words"), [
    (["--listen", "--peer", "x"], "--listen and --peer exclude each other"), (["--tcp-listen", "0"], "needs --peer"), (["--tcp", "127.0.0.1:80"], "needs --listen"),
    (["--listen", "--tcp", "192.0.2.1:80"], "a port of this machine"), (["--send", "00"], "needs --peer"),
    (["--peer", "x", "--tcp-listen", "0", "--channels", "2"], "each TCP connection has one channel"),
    (["--peer", "x", "--allow", "C0:B1:BE:00:00:01"], "--allow needs --listen"),
    (["--peer", "x", "--min-key-size", "16"], "--min-key-size needs --listen"), (["--listen", "--passkey", "1"], "--passkey needs --pair"),
    (["--security", "encrypted"], "--security needs --peer or --listen"), (["--transport", "bredr"], "needs --peer or --listen"),
    (["--listen", "--transport", "bredr", "--published"], "--published needs --transport le"),
    (["--listen", "--transport", "bredr", "--pair", "--passkey", "1"], "each pairing has a new passkey"),
])
def test_wrong_options_are_refused(arguments, words):
    result = subprocess.run([bluebench(), "l2cap", "tcp:127.0.0.1:1", *arguments], capture_output=True, text=True, timeout=TIMEOUT)
    assert result.returncode == 2 and words in result.stderr, result.stderr


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = OCTETS[: int(self.path.rsplit("/", 1)[1])]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_http_goes_through_a_bridge():
    """A web server at one side and its clients at the other, two of them at once, each with a channel."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with dongles() as (near, far), listening(far, "--tcp", f"127.0.0.1:{server.server_address[1]}") as (listener, peer):
            with Pipe(near, *peer, "--tcp-listen", 0, input=subprocess.DEVNULL) as bridge:
                port = bridge.wait_for(r"listening on 127\.0\.0\.1:(\d+)").group(1)
                answers = {}

                def get(length):
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{length}", timeout=TIMEOUT) as response:
                        answers[length] = response.read()

                readers = [threading.Thread(target=get, args=(length,)) for length in (10, 20_000)]
                for reader in readers:
                    reader.start()
                for reader in readers:
                    reader.join(TIMEOUT)
                get(3)
                assert answers == {length: OCTETS[:length] for length in (10, 20_000, 3)}
                assert bridge.text.count(": open, ") == 3
                # The server is gone: the client's connection ends, the bridge stays.
                server.shutdown()
                server.server_close()
                with pytest.raises(OSError):
                    get(5)
                bridge.process.send_signal(signal.SIGINT)
                bridge.wait()
            listener.process.send_signal(signal.SIGINT)
            listener.wait()
    finally:
        server.server_close()


def test_bumble_echoes_a_stream():
    """Bumble returns every SDU; what is read is what was written."""
    with dongles() as (near, far):
        with PythonPeer("credit_echo.py", far, 500, 100, 4) as peer:
            peer.wait_for("advertising")
            with Pipe(near, "--peer", "C0:B1:BE:00:00:01/random", "--keep-open") as pipe:
                writing = threading.Thread(target=lambda: (pipe.process.stdin.write(OCTETS[:20_000]), pipe.process.stdin.flush()), daemon=True)
                writing.start()
                assert pipe.process.stdout.read(20_000) == OCTETS[:20_000]
                pipe.process.send_signal(signal.SIGTERM)
                assert "sent 20000 octets, received 20000" in pipe.wait()
