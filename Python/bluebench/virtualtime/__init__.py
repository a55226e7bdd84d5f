"""Foreign hosts in the virtual time of `bluebench dongle --virtual-time`: docs/design/virtual-time.md.

    from bluebench import virtualtime
    virtualtime.run(main())                                        in place of asyncio.run(main())
    async with await virtualtime.open_transport("127.0.0.1:7001") as transport:
        device = Device.with_hci(name, address, transport.source, transport.sink)

A timer of 30 s then takes 30 s of the simulation's time and next to none of the machine's. All connections of a loop are one client.
Nothing here is Bluebench's own but the protocol; `bumble_transport` alone imports Bumble.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .client import VirtualTimeError
from .loop import VirtualTimeLoop, run, sleep
from .seeds import seeded

if TYPE_CHECKING:
    from bumble.transport.common import Transport

__all__ = ["VirtualTimeError", "VirtualTimeLoop", "open_transport", "run", "seeded", "sleep"]


async def open_transport(where: str) -> Transport:
    """A Bumble transport to a controller, HOST:PORT or the path of a Unix socket."""
    from .bumble_transport import open_transport as open_it
    return await open_it(where)
