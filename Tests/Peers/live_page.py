"""The page of `capture --web` as a program, and traffic for it."""

import contextlib
import json
import re
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from support import TIMEOUT, Process, bluebench, dongles

RESET, READ_BD_ADDR, UNKNOWN = 0x0C03, 0x1009, 0x3FFF
"""Commands: two that succeed, and one of no vendor."""


class Page:
    """The program's side of a page, over plain HTTP."""

    def __init__(self, url):
        self.url = url
        self.base, self.token = re.fullmatch(r"(http://[^/]+)/\?token=(\S+)", url).groups()
        self.port = int(self.base.rsplit(":", 1)[1])

    def get(self, path, token=None, **query):
        """An answer's octets."""
        words = {"token": self.token if token is None else token} | query
        with urllib.request.urlopen(f"{self.base}/api/{path}?{urllib.parse.urlencode(words)}", timeout=TIMEOUT) as answer:
            return answer.read()

    def ask(self, path, **query):
        return json.loads(self.get(path, **query))

    def packets(self, **query):
        return self.ask("packets", **query)

    def settled(self, **query):
        """The answer after every packet was judged."""
        end, pause = time.monotonic() + TIMEOUT, threading.Event()
        while (answer := self.packets(**query))["progress"] < 1:
            assert time.monotonic() < end
            pause.wait(0.01)
        return answer

    def refusal(self, path, **query):
        try:
            self.get(path, **query)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        raise AssertionError("it was answered")

    def note(self, number, **note):
        body = json.dumps({"number": number} | note).encode()
        headers = {"Content-Type": "application/json", "Authorization": "Bearer " + self.token}
        with urllib.request.urlopen(urllib.request.Request(self.base + "/api/note", body, headers), timeout=TIMEOUT) as answer:
            return json.load(answer)

    def raw(self, octets, wait=True):
        """What the server answers to octets until it closes, or a socket that stays open."""
        client = socket.create_connection(("127.0.0.1", self.port), TIMEOUT)
        client.sendall(octets)
        if not wait:
            return client
        with client:
            text = b""
            while piece := client.recv(1 << 16):
                text += piece
            return text


class Host:
    """A host with a plain socket: sends commands and counts packets in both directions."""

    def __init__(self, address):
        name, port = address.removeprefix("tcp:").rsplit(":", 1)
        self.socket = socket.create_connection((name, int(port)), TIMEOUT)
        self.packets = 0
        self.buffer = b""

    def command(self, opcode, parameters=b""):
        self.send(bytes([1, opcode & 0xFF, opcode >> 8, len(parameters)]) + parameters)

    def commands(self, opcodes):
        """Sends commands without waiting for each answer, which the virtual controller allows."""
        self.send(b"".join(bytes([1, opcode & 0xFF, opcode >> 8, 0]) for opcode in opcodes), len(opcodes))

    def send(self, octets, answers=1):
        self.socket.sendall(octets)
        self.packets += answers
        while answers:
            kind, code, length = self._read(3)
            self._read(length)
            assert kind == 4
            self.packets += 1
            answers -= code in (0x0E, 0x0F)

    def _read(self, count):
        while len(self.buffer) < count:
            piece = self.socket.recv(1 << 16)
            assert piece, "the controller hung up"
            self.buffer += piece
        octets, self.buffer = self.buffer[:count], self.buffer[count:]
        return octets

    def close(self):
        self.socket.close()


@contextlib.contextmanager
def captured(*options, count=1):
    """A capture of virtual dongles with its page; yields the process, the page, and the sockets for programs."""
    with dongles(count) as ports:
        devices = [f"tcp:127.0.0.1:{port}" for port in ports]
        between = [word for _ in devices for word in ("--between", "tcp-listen:0")]
        with Process(bluebench(), "capture", *devices, *between, "--web", 0, *map(str, options)) as process:
            sockets = [match.group(1) for match in process.wait_for(r"(tcp:127\.0\.0\.1:\d+) leads to", count)]
            page = Page(process.wait_for(r"the page is (\S+)")[0].group(1))
            yield process, page, sockets
