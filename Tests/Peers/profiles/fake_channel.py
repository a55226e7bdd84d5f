"""An L2CAP channel of Bumble's without a link: what Bumble writes goes to our core, and what that sends comes back."""

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
        # What went over the channel: whether it was ours, and the octets.
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
        """Asks our core; what it sends reaches Bumble in the loop's next round, as it would over a link."""
        answer = self.codec.ask("profile", *words)
        self.reports += answer["reports"]
        for octets in answer["sent"]:
            self.trace.append((True, bytes.fromhex(octets)))
            asyncio.get_running_loop().call_soon(lambda data=bytes.fromhex(octets): self.sink(data))
        return answer

    async def until(self, text):
        """A report that contains the text."""
        await eventually(lambda: any(text in report for report in self.reports), lambda: f"no {text} in {self.reports}")


async def eventually(condition, complaint, rounds=5_000):
    """Lets the event loop go on until a condition holds; nothing takes more than rounds here."""
    for _ in range(rounds):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError(complaint())
