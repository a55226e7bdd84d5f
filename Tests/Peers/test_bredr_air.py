"""What two Bumble hosts make our controllers send over BR/EDR keeps the rules that `Tests/Reference` knows, encrypted or not."""

import asyncio
import sys

from bumble import l2cap

from bredr import Bench
from support import ROOT, dongles
from test_bredr_channels import PSM, answers, echo, secured

sys.path.insert(0, str(ROOT / "Tests" / "Reference"))
import piconet_check  # noqa: E402
from link_secrets import LinkSecrets  # noqa: E402


async def conversation(ports, secure):
    bench, spec = Bench(ports), l2cap.ClassicChannelSpec(psm=PSM, mtu=2000)
    async with bench.powered(classic_sc_enabled=secure):
        bench.far.create_l2cap_server(spec, handler=lambda channel: channel.on(channel.EVENT_OPEN, lambda: echo(channel)))
        for _ in range(2):
            async with bench.link() as (link, other):
                if not (await bench.keys())[0]:
                    await secured(bench, link, other)
                else:
                    await link.authenticate()
                    await link.encrypt()
                await answers(await link.create_l2cap_channel(spec), [1, 100, 2000])
        return (await bench.keys())[0].link_key.value, bytes(bench.near.public_address), bytes(bench.far.public_address)


def test_e0_and_its_authentication(tmp_path):
    """With the link key each SRES comes out, and each packet opens: CRC, lengths and sequence are those of the data in clear."""
    path, made = tmp_path / "air.pcapng", []
    with dongles(2, "--profile", "dual", "--air", path) as ports:
        key, central, peripheral = asyncio.run(conversation(ports, secure=False))

    def secrets(lap):
        made.append(LinkSecrets(key, {"central": central, "peripheral": peripheral}))
        return made[-1]

    check = piconet_check.load(path, secrets)
    assert check.violations == [] and len(made) == check.pages >= 2
    assert all(each.proofs >= 1 and each.opened > 10 for each in made[-1:]) and sum(each.proofs for each in made) >= 3


def test_aes_ccm(tmp_path):
    path = tmp_path / "air.pcapng"
    with dongles(2, "--profile", "dual", "--air", path) as ports:
        asyncio.run(conversation(ports, secure=True))
    check = piconet_check.load(path)
    assert check.violations == [] and check.pages >= 2
