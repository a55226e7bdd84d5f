"""AVDTP: our session with Bumble's, as source and as sink."""


import pytest
from bumble import a2dp, avdtp
from fake_channel import Channel

INFORMATION = a2dp.SbcMediaCodecInformation


def capabilities(information):
    return avdtp.MediaCodecCapabilities(
        media_type=avdtp.AVDTP_AUDIO_MEDIA_TYPE, media_codec_type=a2dp.CodecType.SBC, media_codec_information=information)


def everything():
    return INFORMATION.from_bytes(bytes([0xFF, 0xFF, 2, 53]))


def setting():
    return INFORMATION.from_bytes(bytes([0x21, 0x15, 2, 53]))


def start(codec, role):
    codec.ask("profile", "avdtp", "new", role)
    channel = Channel(codec, "avdtp", "receive")
    return channel, avdtp.Protocol(channel)


async def test_we_stream_to_bumble(codec):
    channel, protocol = start(codec, "source")
    sink = protocol.add_sink(capabilities(everything()))
    seen = []
    for name in ("configuration", "open", "start", "suspend", "close", "abort"):
        sink.on(name, lambda name=name: seen.append(name))

    async def do(*words, wanted="accepted"):
        channel.reports.clear()
        channel.tell("avdtp", *words)
        await channel.until("answered")
        assert wanted in channel.reports[0], channel.reports

    await do("discover", wanted="seid: 1, isInUse: false, mediaType: 0, isSink: true")
    await do("capabilities", 1, wanted="[0, 0, 255, 255, 2, 53]")
    await do("configure", 1)
    await do("open", 1)
    assert any("openMedia" in report for report in channel.reports)
    media = Channel(codec, "avdtp", "receive")
    protocol.on_l2cap_connection(media)
    media.emit(media.EVENT_OPEN)
    channel.tell("avdtp", "media", "opened")
    await do("start", 1)
    await do("suspend", 1)
    await do("start", 1)
    await do("close", 1)
    assert any("closeMedia" in report for report in channel.reports)
    assert seen == ["configuration", "open", "start", "suspend", "start", "close"]


async def test_bumble_streams_to_us(codec):
    channel, protocol = start(codec, "sink")
    source = protocol.add_source(capabilities(setting()), None)
    endpoints = list(await protocol.discover_remote_endpoints())
    assert [(one.seid, one.tsep, one.in_use) for one in endpoints] == [(1, avdtp.AVDTP_TSEP_SNK, 0)]
    codecs = [one for one in endpoints[0].capabilities if isinstance(one, avdtp.MediaCodecCapabilities)]
    assert bytes(codecs[0].media_codec_information) == bytes([0xFF, 0xFF, 2, 53])
    proxy = protocol.find_remote_sink_by_codec(avdtp.AVDTP_AUDIO_MEDIA_TYPE, a2dp.CodecType.SBC)
    stream = await protocol.create_stream(source, proxy)
    with pytest.raises(Exception):
        await proxy.set_configuration(1, source.configuration)
    await proxy.open()
    channel.tell("avdtp", "media", "opened")
    await proxy.start()
    assert "streaming" in channel.reports[-1]
    await proxy.stop()
    await proxy.start()
    await proxy.close()
    channel.tell("avdtp", "media", "closed")
    assert "idle" in channel.reports[-1]
    assert stream is not None
