"""What two Bumble hosts make our controllers send over BR/EDR keeps the rules that `Tests/Reference` knows, encrypted or not."""

import asyncio
import sys

import pytest
from bumble import l2cap
from bumble.hci import HCI_Write_Default_Link_Policy_Settings_Command, Role

from bredr import Bench
from support import ROOT, Inbox, dongles
from test_bredr_channels import PSM, answers, echo, secured

sys.path.insert(0, str(ROOT / "Tests" / "Reference"))
import piconet_check  # noqa: E402
from link_secrets import LinkSecrets  # noqa: E402


async def conversation(ports, secure, switches=False):
    """Two links, the second with the stored key; on request with roles switched there and back while they are encrypted."""
    bench, spec = Bench(ports), l2cap.ClassicChannelSpec(psm=PSM, mtu=2000)
    async with bench.powered(classic_sc_enabled=secure):
        for device in (bench.near, bench.far):
            await device.send_sync_command(HCI_Write_Default_Link_Policy_Settings_Command(default_link_policy_settings=1))
        bench.far.create_l2cap_server(spec, handler=lambda channel: channel.on(channel.EVENT_OPEN, lambda: echo(channel)))
        for _ in range(2):
            async with bench.link() as (link, other):
                if not (await bench.keys())[0]:
                    await secured(bench, link, other)
                else:
                    await link.authenticate()
                    await link.encrypt()
                channel = await link.create_l2cap_channel(spec)
                await answers(channel, [1, 100, 2000])
                for side, role in ((other, Role.CENTRAL), (link, Role.CENTRAL)) if switches else ():
                    changed = Inbox(link, link.EVENT_ROLE_CHANGE)
                    await side.switch_role(role)
                    await changed.next()
                    await answers(channel, [1, 100, 2000])
        return (await bench.keys())[0].link_key.value, bytes(bench.near.public_address), bytes(bench.far.public_address)


@pytest.mark.parametrize("switches", [False, True], ids=["roles as they are", "roles switched"])
def test_e0_and_its_authentication(tmp_path, switches):
    """With the link key each SRES comes out, and each packet opens: CRC, lengths and sequence are those of the data in clear."""
    path, made = tmp_path / "air.pcapng", []
    with dongles(2, "--profile", "dual", "--air", path) as ports:
        key, *addresses = asyncio.run(conversation(ports, False, switches))

    def secrets(lap):
        """A page begins a link; after a role switch it goes on with the same offset under the other central."""
        central, peripheral = sorted(addresses, key=lambda address: int.from_bytes(address[:3], "little") != lap)
        if made and made[-1].addresses["central"] != central:
            made[-1].addresses = {"central": central, "peripheral": peripheral}
        else:
            made.append(LinkSecrets(key, {"central": central, "peripheral": peripheral}))
        return made[-1]

    check = piconet_check.load(path, secrets)
    assert check.violations == [] and check.pages == 2 + 4 * switches
    assert len(check.piconets) == 1 + switches
    assert all(each.opened > 10 for each in made) and sum(each.proofs for each in made) >= 3


@pytest.mark.parametrize("switches", [False, True], ids=["roles as they are", "roles switched"])
def test_aes_ccm(tmp_path, switches):
    path = tmp_path / "air.pcapng"
    with dongles(2, "--profile", "dual", "--air", path) as ports:
        asyncio.run(conversation(ports, True, switches))
    check = piconet_check.load(path)
    assert check.violations == [] and check.pages == 2 + 4 * switches
