"""The server of the Model Context Protocol, by a client written from the specification (2025-06-18): JSON-RPC 2.0 in lines, life cycle, tools, errors."""

import contextlib
import json
import re
import subprocess

import pytest

from support import ROOT, TIMEOUT, bluebench, dongles, run_bench

SESSION = ROOT / "Fixtures/h4/gatt-session--bumble-over-usb.pcapng"
ADDRESS = re.compile(r"([0-9A-F]{2}:){5}[0-9A-F]{2}")


class Client:
    """A client of the stdio transport."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [bluebench(), "mcp", *map(str, options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
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
        assert content["type"] == "text" and result["isError"] == is_error, content["text"]
        return content["text"]


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
    text = server.call("run_cases", cases=["gatt/mtu-exchange"], seed=7)
    name = re.search(r"result (\S+)", text)[1]
    assert "pass 1" in text
    entry = json.loads(server.call("read_result", result=name, case="gatt/mtu-exchange"))
    assert entry["verdict"] == "PASS" and entry["steps"]
    packet = entry["evidence"][0]["packet"]
    [line] = server.call("show_capture", file=name, **{"from": str(packet), "to": str(packet)}).splitlines()
    assert line.startswith(f"{packet} ") and "ATT_EXCHANGE_MTU_RSP" in line
    assert json.loads(server.call("explain_capture", file=name))["connections"]
    assert "has no case 'phy/read'" in server.call("read_result", is_error=True, result=name, case="phy/read")
    assert "no result" in server.call("read_result", is_error=True, result="../" + name)


def test_secrets_are_shown_with_keys_only(server):
    options = {"file": str(SESSION), "where": "LE_Connection_Complete or LE_Enhanced_Connection_Complete or ATT_READ_BY_TYPE_RSP"}
    hidden = server.call("show_capture", **options)
    assert "(hidden)" in hidden and not ADDRESS.search(hidden) and "Bluebench Reference" not in hidden
    assert "which is hidden" in server.call("show_capture", is_error=True, file=str(SESSION), where="Peer_Address != 00:11:22:33:44:55")
    with client("--keys") as other:
        assert ADDRESS.search(other.call("show_capture", **options))
        assert "Bluebench Reference" in other.call("show_capture", file=str(SESSION), layer="att", limit=500)


def test_no_value_of_a_capture_escapes_as_plain_text(server):
    """All packets of a session with pairing: no address, no key, no name."""
    shown = "".join(server.call("show_capture", file=str(SESSION), limit=200, **{"from": str(1 + 200 * part)}) + "\n" for part in range(6))
    whole = run_bench("show", SESSION).stdout
    assert len(shown.split()) > 0 and sum(line[:1].isdigit() for line in shown.splitlines()) == len(whole.splitlines()) <= 1200 and "ATT_READ_REQ" in shown
    assert not ADDRESS.search(shown) and not re.search(r"\b[0-9A-F]{12,}\b", shown)
    for name in set(re.findall(r'"([^"]{3,})"', whole)):
        assert name not in shown
    # An argument that looks like an option is a value.
    assert "cannot open" in server.call("show_capture", is_error=True, file="--help")


def test_a_product_is_surveyed_over_the_air(server):
    with dongles(2) as ports:
        accessory = subprocess.Popen(
            [bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]}", "--as", "heart-rate"], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        try:
            accessory.stdout.readline()
            text = server.call("survey_product", device=f"tcp:127.0.0.1:{ports[0]}", peer="180D")
        finally:
            accessory.kill()
            accessory.wait()
    assert "services:" in text and not ADDRESS.search(text)


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
        ({}, "needs the argument 'file'"), ({"file": "x", "files": "y"}, "has no argument 'files'"), ({"file": 5}, "is of type string"),
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
