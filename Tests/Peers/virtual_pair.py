"""One of two programs that connect in virtual time: `virtual_pair.py central|peripheral PORT`."""

import asyncio
import sys

from bumble.device import Device, Peer
from bumble.hci import Address

from support import Inbox, virtualtime

CENTRAL, PERIPHERAL = "F0:F1:F2:F3:F4:F5", "C0:C1:C2:C3:C4:C5"


async def main(role, port):
    async with await virtualtime.open_transport(f"127.0.0.1:{port}") as transport:
        device = Device.with_hci(role, Address(CENTRAL if role == "central" else PERIPHERAL), transport.source, transport.sink)
        await device.power_on()
        if role == "central":
            link = await device.connect(PERIPHERAL)
            await Peer(link).request_mtu(100)
            await virtualtime.sleep(5)
            gone = Inbox(link, "disconnection")
            await link.disconnect()
        else:
            accepted = Inbox(device, Device.EVENT_CONNECTION)
            await device.start_advertising(advertising_interval_min=20, advertising_interval_max=20)
            gone = Inbox(await accepted.next(), "disconnection")
        await gone.next()
        # Each side waits until the other has noticed the end.
        await virtualtime.sleep(1)
    print("done at", asyncio.get_running_loop().time(), flush=True)


if __name__ == "__main__":
    with virtualtime.seeded(sys.argv[1]):
        virtualtime.run(main(*sys.argv[1:]), clients=2)
