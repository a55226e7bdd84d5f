"""What the Bumble peripherals share."""

import asyncio


async def advertise_again(transport, ended, advertise):
    """Advertises after each connection that has `ended`, until the transport is gone."""
    lost = asyncio.ensure_future(transport.source.terminated)
    while not lost.done():
        waiting = asyncio.ensure_future(ended.get())
        await asyncio.wait([lost, waiting], return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            await advertise()
        else:
            waiting.cancel()
