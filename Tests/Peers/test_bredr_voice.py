"""Synchronous connections between two Bumble hosts on a link encrypted with AES-CCM."""

import asyncio
import dataclasses

from bumble import hfp, l2cap
from bumble.hci import (
    HCI_Enhanced_Accept_Synchronous_Connection_Request_Command,
    HCI_Enhanced_Setup_Synchronous_Connection_Command,
)

from bredr import Bench
from support import Inbox, dongles, in_virtual_time
from test_bredr_air import SecureLinkSecrets, Sessions, piconet_check
from test_bredr_channels import PSM, answers, echo, secured
from test_bridging import WIDE_BAND

HV1, HV3 = 0x03C1, 0x03C4
"""The types that the host allows; bits 6 to 9 exclude enhanced data rate types. Core Vol 4, Part E, 7.1.26."""


async def test_there_is_no_sco_under_aes_ccm(dual_ports):
    """AES-CCM does not protect SCO: neither host gets a connection, and the other one is not asked."""
    bench = Bench(dual_ports)
    terms = dataclasses.replace(
        hfp.ESCO_PARAMETERS[hfp.DefaultCodecParameters.SCO_CVSD_D1], packet_type=HV3, max_latency=0xFFFF, retransmission_effort=0xFF)
    async with bench.powered(classic_sc_enabled=True), bench.link() as (link, other):
        await secured(bench, link, other)
        for side, asked in ((link, other), (other, link)):
            refused, requests = Inbox(side, "sco_connection_failure"), Inbox(asked.device, "sco_request")
            await side.device.send_async_command(
                HCI_Enhanced_Setup_Synchronous_Connection_Command(connection_handle=side.handle, **terms.asdict()))
            assert await refused.next() == 0x0E
            assert not requests.items


async def test_data_gets_through_beside_hv1(dual_ports):
    """HV1 reserves every slot of the link (Core Vol 2, Part B, 6.5.2.1): data is slow, but all of it arrives during the voice connection."""
    bench = Bench(dual_ports)
    terms = dataclasses.replace(
        hfp.ESCO_PARAMETERS[hfp.DefaultCodecParameters.SCO_CVSD_D1], packet_type=HV1, max_latency=0xFFFF, retransmission_effort=0xFF)
    spec = l2cap.ClassicChannelSpec(psm=PSM, mtu=1000)
    async with bench.powered(classic_sc_enabled=False), bench.link() as (link, other):
        await secured(bench, link, other)
        bench.far.create_l2cap_server(spec, handler=lambda channel: channel.on(channel.EVENT_OPEN, lambda: echo(channel)))
        made = Inbox(link.device, "sco_connection")
        other.device.on("sco_request", lambda *_: asyncio.ensure_future(other.device.send_async_command(
            HCI_Enhanced_Accept_Synchronous_Connection_Request_Command(bd_addr=other.peer_address, **terms.asdict()))))
        await link.device.send_async_command(
            HCI_Enhanced_Setup_Synchronous_Connection_Command(connection_handle=link.handle, **terms.asdict()))
        heard = Inbox()
        (await made.next()).sink = heard.put
        await answers(await link.create_l2cap_channel(spec), [1000] * 3)
        heard.items.clear()
        for _ in range(20):
            await heard.next()


async def call(ports):
    """Silence over eSCO on a link with AES-CCM; returns the link key and both addresses."""
    bench = Bench(ports)
    async with bench.powered(classic_sc_enabled=True), bench.link() as (link, other):
        await secured(bench, link, other)
        made = Inbox(link.device, "sco_connection")
        other.device.on("sco_request", lambda *_: asyncio.ensure_future(other.device.send_async_command(
            HCI_Enhanced_Accept_Synchronous_Connection_Request_Command(bd_addr=other.peer_address, **WIDE_BAND.asdict()))))
        await link.device.send_async_command(
            HCI_Enhanced_Setup_Synchronous_Connection_Command(connection_handle=link.handle, **WIDE_BAND.asdict()))
        heard = Inbox()
        (await made.next()).sink = heard.put
        for _ in range(20):
            await heard.next()
        return (await bench.keys())[0].link_key.value, bytes(bench.near.public_address), bytes(bench.far.public_address)


def test_voice_is_encrypted_under_aes_ccm(tmp_path):
    """The hosts send nothing, so each packet contains silence, which is zeros at the host and another value on the air."""
    path = tmp_path / "air.pcapng"
    with dongles(2, "--profile", "dual", "--air", path, virtual_time=True) as ports:
        key, *addresses = in_virtual_time(call(ports))
    check = piconet_check.PiconetCheck(Sessions(SecureLinkSecrets, key, addresses))
    voice = []
    for packet in piconet_check.read(path):
        sent = packet.body
        check.feed(packet)
        if packet.name == "2-EV3":
            voice.append((sent, packet.body))
    assert check.violations == [] and len(voice) > 40
    assert all(opened == bytes(60) and sent != opened for sent, opened in voice)
    assert len({sent for sent, _ in voice}) == len(voice)
