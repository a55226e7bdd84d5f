"""An L2CAP channel of Bumble without a link: data that Bumble writes is passed to our core, and the answer is returned."""

import asyncio
from types import SimpleNamespace

from bumble import utils


class Channel(utils.EventEmitter):
    EVENT_OPEN = "open"
    EVENT_CLOSE = "close"

    def __init__(self, codec, *words, mtu=672):
        super().__init__()
        self.codec, self.words = codec, words
        self.sink = None
        self.reports = []
        # The data on the channel: true if we sent it, and the octets.
        self.trace = []
        self.peer_mtu = self.mtu = mtu
        self.connection = SimpleNamespace(peer_address="00:00:00:00:00:00", handle=1)
        self.psm = 0

    def write(self, data):
        data = bytes(data)
        self.trace.append((False, data))
        self.tell(*self.words, data.hex())

    send_pdu = write

    def tell(self, *words):
        """Passes data to our core; Bumble receives the answer in the loop's next iteration, as over a link."""
        answer = self.codec.ask("profile", *words)
        self.reports += answer["reports"]
        for octets in answer["sent"]:
            self.trace.append((True, bytes.fromhex(octets)))
            asyncio.get_running_loop().call_soon(lambda data=bytes.fromhex(octets): self.sink(data))
        return answer

    async def until(self, text):
        """Returns a report that contains the text."""
        await eventually(lambda: any(text in report for report in self.reports), lambda: f"no {text} in {self.reports}")


async def eventually(condition, complaint, rounds=5_000):
    """Runs the event loop until a condition is true; everything takes only iterations here."""
    for _ in range(rounds):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError(complaint())
