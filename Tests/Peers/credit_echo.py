"""A Bumble peripheral that echoes on credit-based channels: `credit_echo.py PORT MTU MPS CREDITS`."""

import asyncio
import sys

from bumble import l2cap
from bumble.core import AdvertisingData
from bumble.hci import OwnAddressType

from support import host


async def main(port, mtu, mps, credits):
    async with host(port, "echo", "C0:B1:BE:00:00:01") as device:
        def opened(channel):
            channel.sink = channel.write

        device.create_l2cap_server(l2cap.LeCreditBasedChannelSpec(psm=0x80, max_credits=credits, mtu=mtu, mps=mps), handler=opened)
        data = bytes(AdvertisingData([(AdvertisingData.FLAGS, b"\x06")]))
        await device.start_advertising(
            advertising_data=data, advertising_interval_min=20, advertising_interval_max=20, own_address_type=OwnAddressType.RANDOM, auto_restart=True)
        print("advertising", flush=True)
        await asyncio.Event().wait()


asyncio.run(main(*map(int, sys.argv[1:])))
