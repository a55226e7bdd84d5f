"""Credit-based channels: our host with Bumble's on the other virtual dongle, each as initiator, and Bumble's with itself."""


import pytest
from bumble import l2cap

from support import Inbox, Process, PythonPeer, bluebench, dongles, host, run_bench
from test_bumble_hosts import connected

SPSM = 0x80
LENGTHS = [0, 1, 21, 22, 23, 245, 246, 247, 500]


def sdu(length):
    return bytes(number * 7 % 256 for number in range(length))


def echo(channel):
    """Returns each SDU on arrival."""
    channel.sink = channel.write


@pytest.mark.parametrize("mtu,mps,credits", [(23, 23, 1), (512, 23, 3), (1024, 247, 10), (65535, 65533, 100)])
def test_our_host_opens_a_channel_to_bumble(mtu, mps, credits):
    with dongles() as (near, far):
        with PythonPeer("credit_echo.py", far, mtu, mps, credits) as peer:
            peer.wait_for("advertising")
            lengths = [length for length in LENGTHS if 0 < length <= mtu]
            sending = [option for length in lengths for option in ("--send", sdu(length).hex())]
            result = run_bench("l2cap", f"tcp:127.0.0.1:{near}", "--peer", "C0:B1:BE:00:00:01/random", "--mtu", 600, "--mps", 50, "--credits", 2, *sending)
            lines = result.stdout.splitlines()
            assert lines[0] == f"channel 0x0040: open, {mtu} octets, {credits} credits"
            assert [line.split(": ")[1].lower() for line in lines[1:]] == [sdu(length).hex() for length in lengths]


def test_bumble_refuses_an_unknown_service():
    with dongles() as (near, far):
        with PythonPeer("credit_echo.py", far, 100, 50, 5) as peer:
            peer.wait_for("advertising")
            result = run_bench("l2cap", f"tcp:127.0.0.1:{near}", "--peer", "C0:B1:BE:00:00:01/random", "--spsm", "0x81", "--send", "00", expected=1)
            assert "refused" in result.stdout + result.stderr


async def answers(channel, lengths):
    inbox = Inbox()
    channel.sink = inbox.put
    for length in lengths:
        channel.write(sdu(length))
        assert await inbox.next() == sdu(length)


async def test_bumble_opens_channels_to_our_host(ports):
    with Process(bluebench(), "l2cap", f"tcp:127.0.0.1:{ports[1]}", "--mtu", 300, "--mps", 40, "--credits", 3, "--seconds", 60) as ours:
        address = ours.wait_for(r"advertising as ([0-9A-F:]+) ?\(?(\w*)")[0].group(1)
        async with host(ports[0], "central", "F0:F1:F2:F3:F4:F5") as central:
            link = await central.connect(address)
            channel = await link.create_l2cap_channel(l2cap.LeCreditBasedChannelSpec(psm=SPSM, max_credits=2, mtu=300, mps=60))
            await answers(channel, [1, 38, 39, 40, 299, 300])
            others = await central.l2cap_channel_manager.create_enhanced_credit_based_channels(
                link, l2cap.LeCreditBasedChannelSpec(psm=SPSM, max_credits=2, mtu=300, mps=64), 3)
            assert len(others) == 3
            for other in others:
                await answers(other, [1, 300])
            await channel.disconnect()
            with pytest.raises(l2cap.L2capError):
                await link.create_l2cap_channel(l2cap.LeCreditBasedChannelSpec(psm=0x90, max_credits=2, mtu=300, mps=60))


@pytest.mark.virtual_time
async def test_two_bumble_hosts(ports):
    async with connected(ports) as (near, far):
        far.device.create_l2cap_server(l2cap.LeCreditBasedChannelSpec(psm=SPSM, max_credits=5, mtu=512, mps=100), handler=echo)
        channel = await near.create_l2cap_channel(l2cap.LeCreditBasedChannelSpec(psm=SPSM, max_credits=5, mtu=512, mps=100))
        await answers(channel, [1, 98, 99, 100, 512])
