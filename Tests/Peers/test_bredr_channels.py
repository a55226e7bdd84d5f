"""Two Bumble hosts over BR/EDR: channels in basic and Enhanced Retransmission mode, service discovery, and serial ports."""

import pytest
from bumble import l2cap, rfcomm, sdp
from bumble.core import BT_L2CAP_PROTOCOL_ID, UUID, ConnectionError

from bredr import Bench, User, config
from support import Inbox
from test_bredr_pairing import COMPARE

pytestmark = pytest.mark.virtual_time

PSM = 0x1001
SERVICE = UUID("E6D55659-C8B4-4B85-96BB-B1143AF6D3AE")
LENGTHS = [1, 26, 27, 47, 48, 671, 672]


def octets(length):
    return bytes(number * 11 % 256 for number in range(length))


async def answers(channel, lengths):
    inbox = Inbox()
    channel.sink = inbox.put
    for length in lengths:
        channel.write(octets(length))
        assert await inbox.next() == octets(length)


def echo(channel):
    channel.sink = channel.write


async def secured(bench, link, other):
    bench.configure(*(config(User().delegate(COMPARE)) for _ in range(2)))
    await bench.authenticated(link, other)
    await link.encrypt()


@pytest.mark.parametrize("encrypted", [False, True], ids=["in clear", "encrypted"])
@pytest.mark.parametrize("mode,mps,window,fcs", [
    (l2cap.TransmissionMode.BASIC, 1010, 63, False),
    (l2cap.TransmissionMode.ENHANCED_RETRANSMISSION, 48, 1, False),
    (l2cap.TransmissionMode.ENHANCED_RETRANSMISSION, 200, 8, True),
    (l2cap.TransmissionMode.ENHANCED_RETRANSMISSION, 1010, 63, False),
])
async def test_a_channel_echoes(dual_ports, mode, mps, window, fcs, encrypted):
    bench, spec = Bench(dual_ports), l2cap.ClassicChannelSpec(psm=PSM, mtu=672, mps=mps, tx_window_size=window, mode=mode, fcs_enabled=fcs)
    async with bench.powered():
        bench.far.create_l2cap_server(spec, handler=lambda channel: channel.on(channel.EVENT_OPEN, lambda: echo(channel)))
        async with bench.link() as (link, other):
            if encrypted:
                await secured(bench, link, other)
            channel = await link.create_l2cap_channel(spec)
            await answers(channel, LENGTHS)
            again = await link.create_l2cap_channel(spec)
            await answers(again, LENGTHS[:3])
            await channel.disconnect()
            await answers(again, LENGTHS[-1:])
            with pytest.raises(l2cap.L2capError):
                await link.create_l2cap_channel(l2cap.ClassicChannelSpec(psm=PSM + 2))


async def test_many_octets_keep_their_order(dual_ports):
    bench, spec = Bench(dual_ports), l2cap.ClassicChannelSpec(psm=PSM, mtu=4096)
    count, sdu = 40, octets(4096)
    async with bench.powered():
        arrived = Inbox()

        def opened(channel):
            channel.sink = arrived.put

        bench.far.create_l2cap_server(spec, handler=opened)
        async with bench.link() as (link, _):
            channel = await link.create_l2cap_channel(spec)
            for number in range(count):
                channel.write(bytes([number]) + sdu[1:])
            for number in range(count):
                assert await arrived.next() == bytes([number]) + sdu[1:]


def record(handle, count):
    """A record that needs several responses."""
    return [
        sdp.ServiceAttribute(sdp.SDP_SERVICE_RECORD_HANDLE_ATTRIBUTE_ID, sdp.DataElement.unsigned_integer_32(handle)),
        sdp.ServiceAttribute(sdp.SDP_SERVICE_CLASS_ID_LIST_ATTRIBUTE_ID, sdp.DataElement.sequence([sdp.DataElement.uuid(SERVICE)])),
        sdp.ServiceAttribute(
            sdp.SDP_PROTOCOL_DESCRIPTOR_LIST_ATTRIBUTE_ID,
            sdp.DataElement.sequence([sdp.DataElement.sequence([sdp.DataElement.uuid(BT_L2CAP_PROTOCOL_ID)])])),
        *(sdp.ServiceAttribute(0x8000 + number, sdp.DataElement.text_string(octets(200))) for number in range(count)),
    ]


async def test_services_are_searched_for_and_described(dual_ports):
    bench = Bench(dual_ports)
    async with bench.powered():
        bench.far.sdp_service_records = {0x10001 + number: record(0x10001 + number, number * 5) for number in range(3)}
        async with bench.link() as (link, _), sdp.Client(link) as client:
            assert await client.search_services([SERVICE]) == [0x10001, 0x10002, 0x10003]
            assert await client.search_services([UUID(0x1234, "nobody")]) == []
            lists = await client.search_attributes([SERVICE], [sdp.SDP_ALL_ATTRIBUTES_RANGE])
            assert [len(attributes) for attributes in lists] == [3, 8, 13]
            attributes = await client.get_attributes(0x10003, [(0x8001, 0x8003)])
            assert [(attribute.id, attribute.value.value) for attribute in attributes] == [(0x8001 + number, octets(200)) for number in range(3)]


@pytest.mark.parametrize("frame,credits", [(23, 1), (127, 7), (990, 7)])
async def test_a_serial_port_is_found_and_echoes(dual_ports, frame, credits):
    bench = Bench(dual_ports)
    async with bench.powered():
        server = rfcomm.Server(bench.far)
        channel = server.listen(echo, max_frame_size=frame, initial_credits=credits)
        bench.far.sdp_service_records = {0x10001: rfcomm.make_service_sdp_records(0x10001, channel, SERVICE)}
        async with bench.link() as (link, other):
            await secured(bench, link, other)
            assert await rfcomm.find_rfcomm_channel_with_uuid(link, SERVICE) == channel
            client = rfcomm.Client(link)
            multiplexer = await client.start()
            port = await multiplexer.open_dlc(channel, max_frame_size=frame, initial_credits=credits)
            back = Inbox()
            port.sink = back.put
            received, sent = b"", octets(5000)
            port.write(sent)
            while len(received) < len(sent):
                received += await back.next()
            assert received == sent
            with pytest.raises(ConnectionError):
                await multiplexer.open_dlc(channel + 1)
            await client.shutdown()
