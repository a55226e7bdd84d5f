"""SDP: our data elements and Bumble's, our server with Bumble's client, our client with Bumble's server."""

import asyncio
import random

import pytest
from bumble import core, sdp
from bumble.sdp import DataElement
from fake_channel import Channel


def element(source, depth=0):
    """A random element."""
    size = source.choice([1, 2, 4, 8])
    text = source.randbytes(source.choice([0, 1, 7, 255, 256, 300]))
    makers = [
        lambda: DataElement.nil(),
        lambda: DataElement.unsigned_integer(source.getrandbits(8 * size), size),
        lambda: DataElement.signed_integer(source.getrandbits(8 * size) - (1 << 8 * size - 1), size),
        lambda: DataElement.uuid(core.UUID.from_16_bits(source.getrandbits(16))),
        lambda: DataElement.uuid(core.UUID.from_32_bits(source.getrandbits(32))),
        lambda: DataElement.uuid(core.UUID.from_bytes(source.randbytes(16))),
        lambda: DataElement.text_string(text),
        lambda: DataElement.boolean(source.random() < 0.5),
        lambda: DataElement.url("http://" + "a" * source.choice([1, 300])),
    ]
    if depth < 4:
        makers += [lambda: (DataElement.sequence if source.random() < 0.7 else DataElement.alternative)(
            [element(source, depth + 1) for _ in range(source.randrange(5))])] * 6
    return source.choice(makers)()


def test_elements_agree(codec):
    source = random.Random("elements")
    for _ in range(400):
        wire = bytes(element(source))
        ours = codec.ask("profile", "element", wire.hex())
        assert ours["encoded"] == wire.hex().upper() and ours["trailing"] == 0, (wire.hex(), ours)
        assert bytes(DataElement.from_bytes(bytes.fromhex(ours["encoded"]))) == wire


def test_pieces_of_elements_are_refused_by_both(codec):
    source = random.Random("pieces")
    for _ in range(100):
        wire = bytes(element(source))
        if len(wire) > 1:
            assert "problem" in codec.ask("profile", "element", wire[: source.randrange(1, len(wire))].hex())


async def client(codec, mtu):
    client = sdp.Client(None)
    client.channel = Channel(codec, "sdp", mtu)
    client.channel.sink = client.on_pdu
    return client


@pytest.mark.parametrize("mtu", [48, 60, 672])
async def test_bumbles_client_reads_our_records(codec, mtu):
    asking = await client(codec, mtu)
    handles = await asking.search_services([core.UUID.from_16_bits(0x0100)])
    assert handles == list(range(0x10000, 0x10008))
    lists = await asking.search_attributes([core.UUID.from_16_bits(0x1002)], [sdp.SDP_ALL_ATTRIBUTES_RANGE])
    assert [one[0].value.value for one in lists] == handles
    for handle, one in zip(handles, lists):
        alone = await asking.get_attributes(handle, [sdp.SDP_ALL_ATTRIBUTES_RANGE])
        assert [(a.id, bytes(a.value)) for a in alone] == [(a.id, bytes(a.value)) for a in one]
    assert await asking.search_services([core.UUID.from_16_bits(0x1234)]) == []
    with pytest.raises(core.ProtocolError) as refused:
        await asking.get_attributes(5, [sdp.SDP_ALL_ATTRIBUTES_RANGE])
    # Bumble decodes the code with its least significant octet first; SDP sends the most significant one first (Vol 3, Part B, 4.4.1).
    assert int(refused.value.error_code) == int(sdp.ErrorCode.INVALID_SERVICE_RECORD_HANDLE) << 8


async def test_bumble_finds_the_profiles(codec):
    """The attributes that Bumble's profiles read: AVDTP's version, AVRCP's features, RFCOMM's channels."""
    asking = await client(codec, 672)
    lists = await asking.search_attributes([core.BT_RFCOMM_PROTOCOL_ID], [sdp.SDP_PROTOCOL_DESCRIPTOR_LIST_ATTRIBUTE_ID])
    channels = [one[0].value.value[1].value[1].value for one in lists]
    assert channels == [1, 2, 3]
    lists = await asking.search_attributes([core.BT_AVDTP_PROTOCOL_ID], [sdp.SDP_PROTOCOL_DESCRIPTOR_LIST_ATTRIBUTE_ID])
    assert [one[0].value.value[1].value[1].value for one in lists] == [0x0103, 0x0103]


async def test_our_client_reads_bumbles_records(codec):
    server = sdp.Server(None)
    records = {
        0x10001 + index: [
            sdp.ServiceAttribute(sdp.SDP_SERVICE_RECORD_HANDLE_ATTRIBUTE_ID, DataElement.unsigned_integer_32(0x10001 + index)),
            sdp.ServiceAttribute(sdp.SDP_SERVICE_CLASS_ID_LIST_ATTRIBUTE_ID, DataElement.sequence([DataElement.uuid(core.BT_AUDIO_SINK_SERVICE)])),
            sdp.ServiceAttribute(0x0100, DataElement.text_string(b"x" * 100)),
        ]
        for index in range(12)
    }
    server.service_records = records
    channel = Channel(codec, "response", mtu=200)
    server.on_connection(channel)
    for kind in ("search", "attributes", "both"):
        channel.reports.clear()
        channel.tell("query", kind, "65537" if kind == "attributes" else "110B")
        await channel.until("finished")
        assert "success" in channel.reports[0], channel.reports
        count = channel.reports[0].count("SDPRecord(") if kind != "search" else channel.reports[0].count(", 65") + 1
        assert count == (1 if kind == "attributes" else 12), channel.reports
