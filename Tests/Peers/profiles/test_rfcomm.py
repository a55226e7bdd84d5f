"""RFCOMM: our session with Bumble's multiplexer, each in both roles."""

import random

import pytest
from bumble import rfcomm
from fake_channel import Channel, eventually

ROLES = rfcomm.Multiplexer.Role


def test_checks_and_frames_agree(codec):
    """Bumble decodes our frames and verifies their FCS, and we decode Bumble's."""
    source = random.Random("frames")
    for _ in range(50):
        codec.ask("profile", "rfcomm", "new", "acceptor", 672)
        text = source.randbytes(source.randrange(0, 60))
        codec.ask("profile", "rfcomm", "receive", bytes(rfcomm.RFCOMM_Frame.sabm(c_r=1, dlci=0)).hex())
        test = rfcomm.RFCOMM_Frame.make_mcc(mcc_type=0x08, c_r=1, data=text)
        answer = codec.ask("profile", "rfcomm", "receive", bytes(rfcomm.RFCOMM_Frame.uih(c_r=1, dlci=0, information=test)).hex())
        frame = rfcomm.RFCOMM_Frame.from_bytes(bytes.fromhex(answer["sent"][0]))
        assert frame.information == rfcomm.RFCOMM_Frame.make_mcc(mcc_type=0x08, c_r=0, data=text)


async def exchange(channel, dlc, dlci):
    """Data in both directions, much more than the initial credits."""
    received = []
    dlc.sink = received.append
    text = random.Random(dlci).randbytes(9_000)
    channel.tell("rfcomm", "send", dlci, text.hex())
    await eventually(lambda: sum(map(len, received)) >= len(text), lambda: f"{sum(map(len, received))} octets came")
    assert b"".join(received) == text
    dlc.write(text)

    def ours():
        return bytes.fromhex("".join(report.split()[2] for report in channel.reports if report.startswith(f"received {dlci} ")))

    await eventually(lambda: len(ours()) >= len(text), lambda: f"{len(ours())} octets came")
    assert ours() == text


@pytest.mark.parametrize("mtu", [120, 672])
async def test_bumble_opens(codec, mtu):
    codec.ask("profile", "rfcomm", "new", "acceptor", mtu)
    channel = Channel(codec, "rfcomm", "receive")
    multiplexer = rfcomm.Multiplexer(channel, ROLES.INITIATOR)
    await multiplexer.connect()
    dlc = await multiplexer.open_dlc(5)
    assert dlc.dlci == 10
    await exchange(channel, dlc, 10)
    await dlc.disconnect()
    assert any("closed(dlci: 10" in report for report in channel.reports)


async def test_we_open(codec):
    codec.ask("profile", "rfcomm", "new", "initiator", 672)
    channel = Channel(codec, "rfcomm", "receive")
    multiplexer = rfcomm.Multiplexer(channel, ROLES.RESPONDER)
    multiplexer.acceptor = lambda number: (1_000, 7) if number == 3 else None
    opened = []
    multiplexer.on("dlc", opened.append)
    channel.tell("rfcomm", "open", 3)
    await channel.until("opened(dlci: 6)")
    await exchange(channel, opened[0], 6)
    channel.tell("rfcomm", "open", 9)
    await channel.until("closed(dlci: 18, BBHost.RFCOMMEnd.refused)")
    channel.tell("rfcomm", "close", 6)
    await channel.until("closed(dlci: 6, BBHost.RFCOMMEnd.local)")
