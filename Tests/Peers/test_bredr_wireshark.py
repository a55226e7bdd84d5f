"""A capture of two Bumble hosts over BR/EDR, decoded by tshark and by us: the same PDUs in the same packets, with the same numbers."""

import re

from bumble import avdtp, l2cap, rfcomm, sdp

from bredr import Bench
from support import Inbox, dongles, in_virtual_time, run_bench
from test_bredr_air import piconet_check
from test_bredr_channels import PSM, SERVICE, answers, echo, record, secured
from test_wireshark import tshark

FIELDS = [
    "frame.number", "btl2cap.cmd_code", "btl2cap.scid", "btl2cap.dcid", "btsdp.pdu", "btrfcomm.frame_type", "btrfcomm.dlci", "btrfcomm.mcc.cmd",
    "btrfcomm.mcc.cr", "btavdtp.signal_id", "btavdtp.message_type",
]
SIGNALLING = {
    0x02: "L2CAP_CONNECTION_REQ", 0x03: "L2CAP_CONNECTION_RSP", 0x04: "L2CAP_CONFIGURATION_REQ", 0x05: "L2CAP_CONFIGURATION_RSP",
    0x06: "L2CAP_DISCONNECTION_REQ", 0x07: "L2CAP_DISCONNECTION_RSP", 0x0A: "L2CAP_INFORMATION_REQ", 0x0B: "L2CAP_INFORMATION_RSP",
}
DISCOVERY = {0x06: "SDP_SERVICE_SEARCH_ATTRIBUTE_REQ", 0x07: "SDP_SERVICE_SEARCH_ATTRIBUTE_RSP"}
# The frame type without the P/F bit.
FRAMES = {0x2F: "SABM", 0x63: "UA", 0x0F: "DM", 0x43: "DISC", 0xEF: "UIH"}
MULTIPLEXER = {0x20: "PN", 0x38: "MSC"}
STREAMS = {0x01: "AVDTP_DISCOVER", 0x0C: "AVDTP_GET_ALL_CAPABILITIES", 0x02: "AVDTP_GET_CAPABILITIES"}
ERTM_START = "btl2cap.control_sar == 1"
"""tshark 4.0 reads the total length from an SDU's first segment, and reports it as malformed. Vol 3, Part A, 3.3.2 and 3.3.5."""


async def conversation(ports):
    """The PDUs of two hosts over each protocol that both decoders know."""
    bench = Bench(ports)
    reliable = l2cap.ClassicChannelSpec(
        psm=PSM, mtu=672, mps=200, tx_window_size=8, mode=l2cap.TransmissionMode.ENHANCED_RETRANSMISSION, fcs_enabled=True)
    async with bench.powered():
        channel = rfcomm.Server(bench.far).listen(echo)
        bench.far.sdp_service_records = {
            0x10001: rfcomm.make_service_sdp_records(0x10001, channel, SERVICE), 0x10002: record(0x10002, 5)}
        bench.far.create_l2cap_server(reliable, handler=lambda channel: channel.on(channel.EVENT_OPEN, lambda: echo(channel)))
        avdtp.Listener.for_device(bench.far)
        async with bench.link() as (link, other):
            await secured(bench, link, other)
            async with sdp.Client(link) as client:
                await client.search_attributes([SERVICE], [sdp.SDP_ALL_ATTRIBUTES_RANGE])
            client = rfcomm.Client(link)
            port = await (await client.start()).open_dlc(channel)
            back = Inbox()
            port.sink = back.put
            port.write(b"hello")
            await back.next()
            await client.shutdown()
            await answers(await link.create_l2cap_channel(reliable), [1, 600])
            protocol = await avdtp.Protocol.connect(link)
            assert list(await protocol.discover_remote_endpoints()) == []


def number(text):
    """The first value of a field that may occur several times in a packet."""
    return int(text.split(",")[0], 0) if text else None


def expected(row):
    """The required parts of our line for the packet, from tshark's fields."""
    _, code, source, destination, discovery, frame, dlci, multiplexer, command, signal, message = row
    if discovery:
        return [DISCOVERY[number(discovery)]]
    if frame:
        kind = FRAMES[number(frame) & ~0x10]
        if multiplexer:
            return [f"RFCOMM_{MULTIPLEXER[number(multiplexer)]}_{'CMD' if number(command) else 'RSP'}"]
        return [f"RFCOMM {kind} DLCI {number(dlci)} "]
    if signal:
        return [f"{STREAMS[number(signal)]}_{'CMD' if number(message) == 0 else 'RSP'}"]
    if code:
        words = [SIGNALLING[number(code)]]
        words += [f"Source_CID=0x{number(source):04X}"] if source and "CONFIGURATION_REQ" not in words[0] else []
        return words + ([f"Destination_CID=0x{number(destination):04X}"] if destination else [])
    return []


def test_tshark_and_we_read_the_same_pdus(tmp_path):
    path = tmp_path / "hosts.pcapng"
    with dongles(2, "--profile", "dual", "--capture", path, virtual_time=True) as ports:
        in_virtual_time(conversation(ports))
    assert tshark(path, "-Y", f"_ws.malformed && !({ERTM_START})") == []
    ours = {int(found[1]): line for line in run_bench("show", path).stdout.splitlines() if (found := re.match(r" *(\d+) ", line))}
    wanted = "btsdp || btrfcomm || btavdtp || btl2cap.cmd_code"
    rows = [line.split("\t") for line in tshark(path, "-Y", wanted, "-T", "fields", *(word for field in FIELDS for word in ("-e", field)))]
    differences = [(words, ours.get(int(row[0]))) for row in rows if (words := expected(row)) and not all(word in ours.get(int(row[0]), "") for word in words)]
    assert differences == []
    seen = " ".join(word for row in rows for word in expected(row))
    for name in [*SIGNALLING.values()][:6] + [*DISCOVERY.values()] + ["RFCOMM SABM", "RFCOMM UA", "RFCOMM_PN_CMD", "RFCOMM_MSC_RSP", "AVDTP_DISCOVER_RSP"]:
        assert name in seen, name


HEADER = [
    "rf_channel", "lower_address_part", "reference_upper_addres_part", "packet_header.lt_addr", "packet_header.flow_control", "packet_header.arqn",
    "packet_header.seqn", "packet_header.hec",
]


# Opcode 127: the next octet contains the opcode.
ESCAPED = 127


def test_tshark_reads_each_packet_on_the_air(tmp_path):
    """Channel, access code and header of every packet agree with those recalculated from its octets; LMP messages are decoded."""
    path = tmp_path / "air.pcapng"
    with dongles(2, "--profile", "dual", "--air", path, virtual_time=True) as ports:
        in_virtual_time(conversation(ports))
    ours = [
        (packet.channel, packet.lap, packet.uap, packet.lt_addr, packet.flow, packet.arqn, packet.seqn, piconet_check.number(packet.header[10:]))
        for packet in piconet_check.read(path)
    ]
    rows = tshark(path, "-Y", "btbredr_rf", "-T", "fields", *(word for field in HEADER for word in ("-e", f"btbredr_rf.{field}")))
    assert len(ours) > 100 and [tuple(int({"True": "1", "False": "0"}.get(text, text), 0) for text in row.split("\t")) for row in rows] == ours
    assert tshark(path, "-Y", "_ws.malformed") == []
    messages = {}
    for packet in piconet_check.read(path):
        if packet.is_decrypted and packet.logical_link == piconet_check.LINK_MANAGER:
            messages[packet.number] = packet.body[1] >> 1, packet.body[2] if packet.body[1] >> 1 == ESCAPED else None
    fields = ["frame.number", "btlmp.opcode.opcode", "btlmp.opcode.escaped"]
    rows = [row.split("\t") for row in tshark(path, "-Y", "btlmp", "-T", "fields", *(word for field in fields for word in ("-e", field)))]
    assert len(messages) > 50 and {int(frame): (number(code), number(more) and number(more) & 0xFF) for frame, code, more in rows} == messages


async def search(ports):
    """In plaintext, which SDP allows: a response of several packets."""
    bench = Bench(ports)
    async with bench.powered():
        bench.far.sdp_service_records = {handle: record(handle, 5) for handle in range(0x10001, 0x10010)}
        async with bench.link() as (link, _):
            async with sdp.Client(link) as client:
                await client.search_attributes([SERVICE], [sdp.SDP_ALL_ATTRIBUTES_RANGE])


def test_tshark_reads_l2cap_on_the_air(tmp_path):
    path = tmp_path / "air.pcapng"
    with dongles(2, "--profile", "dual", "--air", path, virtual_time=True) as ports:
        in_virtual_time(search(ports))
    whole, pieces = set(), set()
    for packet in piconet_check.read(path):
        if packet.logical_link == piconet_check.START:
            width = piconet_check.TYPES[packet.name][2]
            is_whole = len(packet.body) == width + 4 + int.from_bytes(packet.body[width : width + 2], "little")
            (whole if is_whole else pieces).add(packet.number)
    frames = [int(frame) for frame in tshark(path, "-Y", "btbredr_rf && btl2cap", "-T", "fields", "-e", "frame.number")]
    # The log does not offer fragments of a message to tshark 4.0, which crashes when it reassembles them.
    assert set(frames) == whole and whole and pieces
    seen = {name for row in tshark(path, "-Y", "btsdp || btl2cap.cmd_code", "-T", "fields", "-e", "btsdp.pdu", "-e", "btl2cap.cmd_code") for name in row.split("\t")}
    assert {"0x06", "0x02", "0x03", "0x04", "0x05"} <= seen
    assert tshark(path, "-Y", "_ws.malformed") == []
