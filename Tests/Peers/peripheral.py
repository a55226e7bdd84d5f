"""Shared by the Bumble peripherals."""

import asyncio
import signal

from bumble.transport import open_transport

from support import virtualtime

VIRTUAL = "virtual:"


async def open_controller(target):
    """HOST:PORT, `virtual:HOST:PORT` for one in virtual time, or a USB device by Bumble's name."""
    if target.startswith(VIRTUAL):
        return await virtualtime.open_transport(target.removeprefix(VIRTUAL))
    return await open_transport(target if target.startswith("usb:") else f"tcp-client:{target}")


def run(serve, target, *arguments):
    """Serves on a controller until it is gone."""
    if not target.startswith(VIRTUAL):
        return asyncio.run(serve(target, *arguments))
    loop = virtualtime.VirtualTimeLoop()
    try:
        with virtualtime.seeded(1):
            serving = loop.create_task(serve(target, *arguments))
            serving.add_done_callback(lambda _: loop.stop())
            # A client that ends without BYE would end the run; one that is interrupted anywhere does not know whether it is idle.
            loop.add_signal_handler(signal.SIGTERM, loop.stop)
            loop.run_forever()
            if serving.done():
                serving.result()
    except virtualtime.VirtualTimeError as reason:
        print(reason, flush=True)
    finally:
        # Without cancelling tasks: their clean-up may wait for time, which stands still when the tester has left.
        loop.close()


def expect_a_tester():
    """In virtual time nothing happens while nobody tests the peripheral."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, virtualtime.VirtualTimeLoop):
        loop.expect(2)


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
