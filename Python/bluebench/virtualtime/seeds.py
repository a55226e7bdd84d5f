"""Random numbers of this process from a seed: keys, nonces, addresses and passkeys are predictable. For tests only."""

from __future__ import annotations

import contextlib
import os
import random
import secrets
from collections.abc import Iterator
from typing import Any
from unittest import mock


def _key_pairs(generator: random.Random) -> Iterator[Any]:
    """Key pairs that a library would generate itself are generated here."""
    with contextlib.suppress(ImportError):
        from bumble import crypto
        key = crypto.EccKey  # type: ignore[attr-defined]

        def generate() -> Any:
            # Between 1 and the order of P-256.
            return key.from_private_key_bytes(generator.randrange(1, 1 << 255).to_bytes(32, "big"))
        yield mock.patch.object(key, "generate", staticmethod(generate))


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[random.Random]:
    """Inside it, `secrets`, `os.urandom` and `random` of this process are reproducible, and so are Bumble's key pairs."""
    generator = random.Random(seed)

    def octets(count: int | None = None) -> bytes:
        return generator.randbytes(32 if count is None else count)

    def hexadecimal(count: int | None = None) -> str:
        return octets(count).hex()

    state = random.getstate()
    random.seed(seed)
    with contextlib.ExitStack() as patches:
        for target, name, value in (
                (secrets, "token_bytes", octets), (secrets, "token_hex", hexadecimal),
                (secrets, "randbelow", generator.randrange), (secrets, "randbits", generator.getrandbits),
                (secrets, "choice", generator.choice), (os, "urandom", octets)):
            patches.enter_context(mock.patch.object(target, name, value))
        for patch in _key_pairs(generator):
            patches.enter_context(patch)
        try:
            yield generator
        finally:
            random.setstate(state)
