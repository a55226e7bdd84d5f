"""AVRCP: our session with Bumble's, as controller and as target."""

import asyncio

from bumble import avc, avctp, avrcp
from fake_channel import Channel


def start(codec, kind, delegate=None):
    codec.ask("profile", "avrcp", "new", kind)
    channel = Channel(codec, "avrcp", "receive")
    protocol = avrcp.Protocol(delegate)
    protocol._on_avctp_channel_open(channel)
    return channel, protocol


async def test_bumble_controls_us(codec):
    channel, protocol = start(codec, "loudspeaker")
    assert await protocol.get_supported_events() == [avrcp.EventId.VOLUME_CHANGED]
    response = await protocol.send_key_event(avc.PassThroughFrame.OperationId.VOLUME_UP, True)
    assert response.response == avc.ResponseFrame.ResponseCode.ACCEPTED
    await channel.until("key")
    volumes = protocol.monitor_volume()
    assert await anext(volumes) == 0x40
    channel.tell("avrcp", "changed", 3)
    assert await anext(volumes) == 3


async def test_we_control_bumble(codec):
    delegate = avrcp.Delegate([avrcp.EventId.VOLUME_CHANGED])
    channel, protocol = start(codec, "player", delegate)
    channel.tell("avrcp", "events")
    await channel.until("AVRCPEvent(rawValue: 13)")
    channel.tell("avrcp", "register", 13)
    await channel.until("interim(BBHost.AVRCPNotification.volume(")
    channel.tell("avrcp", "volume", 0x55)
    await channel.until("answered(BBHost.AVRCPRequest.setAbsoluteVolume(85), BBHost.AVRCPResult.volume(85))")
    channel.tell("avrcp", "press", 0x44)
    await channel.until("BBHost.AVRCPResult.accepted")
