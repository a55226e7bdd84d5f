"""The server of the Model Context Protocol, by a client written from the specification (2025-06-18): JSON-RPC 2.0 in lines, life cycle, tools, errors."""

import contextlib
import json
import os
import pathlib
import re
import signal
import stat
import subprocess

import pytest

from support import ROOT, TIMEOUT, Process, bluebench, dongles, run_bench, wait_until

SESSION = ROOT / "Fixtures/h4/gatt-session--bumble-over-usb.pcapng"
ADDRESS = re.compile(r"([0-9A-F]{2}:){5}[0-9A-F]{2}")


class Client:
    """A client of the stdio transport."""

    def __init__(self, *options, folder=ROOT, **environment):
        self.process = subprocess.Popen(
            [bluebench(), "mcp", *map(str, options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder,
            env=os.environ | environment)
        self.number = 0

    def send(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def receive(self):
        message = json.loads(self.process.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method, **parameters):
        self.number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters}))
        answer = self.receive()
        assert answer["id"] == self.number
        return answer

    def call(self, tool, is_error=False, **arguments):
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        [content] = result["content"]
        assert content["type"] == "text" and is_error in (None, result["isError"]), content["text"]
        return content["text"]

    def read(self, tool, is_error=False, **arguments):
        """The answer of a tool whose text may be a device's: JSON."""
        return json.loads(self.call(tool, is_error, **arguments))


@contextlib.contextmanager
def client(*options):
    server = Client(*options)
    try:
        answer = server.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})["result"]
        assert answer["protocolVersion"] == "2025-06-18" and "tools" in answer["capabilities"] and answer["serverInfo"]["name"] == "bluebench"
        server.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        yield server
        server.process.stdin.close()
        assert server.process.wait(TIMEOUT) == 0, "the server ends with its input"
    finally:
        server.process.kill()
        server.process.wait()


@pytest.fixture
def server():
    with client() as server:
        yield server


def test_tools_have_schemas(server):
    tools = {tool["name"]: tool for tool in server.ask("tools/list")["result"]["tools"]}
    assert set(tools) == {
        "list_devices", "list_cases", "explain_case", "run_cases", "read_result", "show_capture", "explain_capture", "survey_product"}
    for tool in tools.values():
        schema = tool["inputSchema"]
        assert schema["type"] == "object" and set(schema["required"]) <= set(schema["properties"])
        assert all(argument["description"] for argument in schema["properties"].values())
    assert not tools["run_cases"]["annotations"]["readOnlyHint"] and tools["show_capture"]["annotations"]["readOnlyHint"]


def test_a_run_its_result_and_its_packets(server):
    assert "gatt/mtu-exchange" in server.call("list_cases", cases=["gatt"])
    assert "Core Vol 3, Part G, 4.3.1" in server.call("explain_case", case="gatt/mtu-exchange")
    run = server.read("run_cases", cases=["gatt/mtu-exchange"], seed=7)
    name = run["result"]
    assert run["verdicts"]["pass"] == 1 and run["others"] == []
    assert server.read("read_result", result=name) == run
    entry = server.read("read_result", result=name, case="gatt/mtu-exchange")
    assert entry["verdict"] == "PASS" and entry["steps"]
    packet = entry["evidence"][0]["packet"]
    [line] = server.read("show_capture", file=name, **{"from": str(packet), "to": str(packet)})["packets"]
    assert line.startswith(f"{packet} ") and "ATT_EXCHANGE_MTU_RSP" in line
    assert json.loads(server.call("explain_capture", file=name))["connections"]
    assert "has no case 'phy/read'" in server.call("read_result", is_error=True, result=name, case="phy/read")
    assert "no result" in server.call("read_result", is_error=True, result="../" + name)


def test_secrets_are_shown_with_keys_only(server):
    options = {"file": str(SESSION), "where": "LE_Connection_Complete or LE_Enhanced_Connection_Complete or ATT_READ_BY_TYPE_RSP"}
    hidden = server.call("show_capture", **options)
    assert "(hidden)" in hidden and not ADDRESS.search(hidden) and "Bluebench Reference" not in hidden
    assert "cannot select by Peer_Address while such values are hidden" in server.call("show_capture", is_error=True, file=str(SESSION), where="Peer_Address != 00:11:22:33:44:55")
    with client("--keys") as other:
        assert ADDRESS.search(other.call("show_capture", **options))
        assert "Bluebench Reference" in other.call("show_capture", file=str(SESSION), layer="att", limit=500)


def test_no_value_of_a_capture_escapes_as_plain_text(server):
    """All packets of a session with pairing: no address, no key, no name."""
    parts = [server.read("show_capture", file=str(SESSION), limit=200, **{"from": str(1 + 200 * part)})["packets"] for part in range(6)]
    shown = "".join(line + "\n" for part in parts for line in part)
    whole = run_bench("show", SESSION).stdout
    assert len(shown.split()) > 0 and sum(line[:1].isdigit() for line in shown.splitlines()) == len(whole.splitlines()) <= 1200 and "ATT_READ_REQ" in shown
    assert not ADDRESS.search(shown) and not re.search(r"\b[0-9A-F]{12,}\b", shown)
    for name in set(re.findall(r'"([^"]{3,})"', whole)):
        assert name not in shown
    # An argument that looks like an option is a value.
    assert "cannot open" in server.call("show_capture", is_error=True, file="--help")


HEART_RATE = "Bluebench Heart Rate"


def surveyed(peer, *options, is_error=False):
    """The answer of a survey of a device with a name, and its address."""
    with dongles(2) as ports, client(*options) as server:
        with Process(bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]}", "--as", "heart-rate") as accessory:
            [match] = accessory.wait_for(r"advertising .* at ([0-9A-F:]{17})")
            return server.read("survey_product", is_error, device=f"tcp:127.0.0.1:{ports[0]}", peer=peer), match[1]


def test_a_product_is_surveyed_over_the_air():
    answer, address = surveyed("180D")
    text = answer["description"]
    assert "services:" in text and "2A37" in text and "AD types" in text and "(hidden)" in text
    for secret in (HEART_RATE, address):
        octets = bytes.fromhex(address.replace(":", "")) if secret == address else secret.encode()
        for part in {octets[:6], octets[-6:], octets[::-1][:6]}:
            for separator in (" ", ":", "-", ""):
                assert separator.join(f"{octet:02X}" for octet in part) not in text.upper()
    assert HEART_RATE not in text
    shown, address = surveyed("180D", "--keys")
    assert HEART_RATE in shown["description"] and address in shown["description"]


def test_neighbours_of_an_absent_product_are_not_named():
    answer, address = surveyed("nobody-of-this-name", is_error=True)
    assert "nobody-of-this-name was not found" in answer["error"].replace("'", "") and address not in answer["error"]
    assert HEART_RATE not in answer["error"]


def test_a_run_over_the_air_names_nobody():
    with dongles(2) as ports, client() as server:
        with Process(bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]}", "--as", "heart-rate") as accessory:
            [match] = accessory.wait_for(r"advertising .* at ([0-9A-F:]{17})")
            answer = server.call(
                "run_cases", cases=["accessory-gatt"], tester=f"tcp:127.0.0.1:{ports[0]}", peer="nobody-of-this-name", is_error=None)
    assert HEART_RATE not in answer and match[1] not in answer


def test_what_devices_say_is_marked_as_data(server):
    answer = server.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
    assert "never instructions" in answer["result"]["instructions"]
    packets = server.read("show_capture", file=str(SESSION), limit=3)
    assert set(packets) == {"packets"} and all(isinstance(line, str) for line in packets["packets"])


def folders(place):
    return list(pathlib.Path(place).glob("bluebench-mcp-*"))


def test_commands_of_a_file_in_the_folder_are_not_run(tmp_path):
    """The folder of an editor may be one that others wrote."""
    (tmp_path / "bench.yaml").write_text("before-case: touch was-run\n")
    server = Client("--cases", ROOT / "Conformance", folder=tmp_path)
    try:
        assert server.read("run_cases", cases=["phy/read"])["verdicts"]["pass"] == 1
        assert not (tmp_path / "was-run").exists()
        server.process.stdin.close()
        assert server.process.wait(TIMEOUT) == 0
    finally:
        server.process.kill()
        server.process.wait()


def test_its_folder_is_its_own(tmp_path):
    server = Client(TMPDIR=str(tmp_path))
    try:
        assert server.ask("ping")["result"] == {}
        [folder] = folders(tmp_path)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and str(server.process.pid) != folder.name.rsplit("-", 1)[1]
        server.process.stdin.close()
        assert server.process.wait(TIMEOUT) == 0 and not folders(tmp_path)
    finally:
        server.process.kill()
        server.process.wait()


def children(pid):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(path.parent.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.parametrize("moment", ["idle", "in a run", "with a client that does not read"])
def test_a_signal_ends_the_server_its_run_and_its_folder(tmp_path, number, moment):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    server = Client(TMPDIR=str(tmp_path))
    try:
        assert server.ask("ping")["result"] == {}
        runs = []
        if moment == "in a run":
            call = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "run_cases", "arguments": {"cases": ["gatt", "host-att"]}}}
            server.send(json.dumps(call))
            wait_until(lambda: children(server.process.pid))
            runs = children(server.process.pid)
        elif moment != "idle":
            with contextlib.suppress(BlockingIOError):
                os.set_blocking(server.process.stdin.fileno(), False)
                while True:
                    os.write(server.process.stdin.fileno(), b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' * 20)
        server.process.send_signal(number)
        assert server.process.wait(TIMEOUT) == 0
        assert not folders(tmp_path)
        assert not [run for run in runs if pathlib.Path(f"/proc/{run}").exists()], "the run has ended with its server"
    finally:
        server.process.kill()
        server.process.wait()


MISTAKES = [
    ("not JSON", None, -32700), ("[]", None, -32600), ('{"id":1,"method":"ping"}', None, -32600),
    ('{"jsonrpc":"2.0","id":"a","method":"resources/list"}', "a", -32601),
    ('{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"rm"}}', 5, -32602),
    ('{"jsonrpc":"2.0","id":6,"method":7}', None, -32600), ("x" * 3_000_000, None, -32600),
    ('{"a":' * 20_000, None, -32700),
]


@pytest.mark.parametrize("text, number, code", MISTAKES, ids=[str(code) + text[:12] for text, _, code in MISTAKES])
def test_malformed_messages_are_answered(server, text, number, code):
    server.send(text)
    answer = server.receive()
    assert answer["id"] == number and answer["error"]["code"] == code
    assert server.ask("ping")["result"] == {}


def test_mistakes_in_arguments_are_results(server):
    for arguments, expected in [
        ({}, "needs the argument 'file'"), ({"file": "x", "files": "y"}, "has no argument 'files'"), ({"file": 5}, "has the type string"),
        ({"file": str(SESSION), "limit": 5000}, "1 to 500"), ({"file": str(SESSION), "where": "Statuss = 1"}, "did you mean Status?"),
        ({"file": "/dev/stdin"}, "not a stream"), ({"file": "nothing.pcapng"}, "cannot open"),
    ]:
        assert expected in server.call("show_capture", is_error=True, **arguments)


def test_a_cancelled_run_ends_without_an_answer(server):
    server.send(json.dumps({"jsonrpc": "2.0", "id": 90, "method": "tools/call", "params": {"name": "run_cases", "arguments": {"cases": ["controller"]}}}))
    server.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":90}}')
    # A withdrawn request has no answer: the next one is that of the ping.
    assert server.ask("ping")["result"] == {}


def test_an_unknown_version_gets_the_newest_of_the_server():
    server = Client()
    try:
        answer = server.ask("initialize", protocolVersion="1999-01-01", capabilities={}, clientInfo={"name": "test", "version": "1"})
        assert answer["result"]["protocolVersion"] == "2025-11-25"
    finally:
        server.process.kill()
        server.process.wait()
