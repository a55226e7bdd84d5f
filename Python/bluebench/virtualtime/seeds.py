"""Random numbers of this process from a seed: keys, nonces, addresses and passkeys are predictable. For tests only."""

import contextlib
import os
import random
import secrets
from unittest import mock


def _key_pairs(generator):
    """Key pairs that a library would generate itself are generated here."""
    with contextlib.suppress(ImportError):
        from bumble import crypto

        def generate():
            # Between 1 and the order of P-256.
            return crypto.EccKey.from_private_key_bytes(generator.randrange(1, 1 << 255).to_bytes(32, "big"))
        yield mock.patch.object(crypto.EccKey, "generate", staticmethod(generate))


@contextlib.contextmanager
def seeded(seed):
    """Inside it, `secrets`, `os.urandom` and `random` of this process are reproducible, and so are Bumble's key pairs."""
    generator = random.Random(seed)
    octets = lambda count=None: generator.randbytes(32 if count is None else count)  # noqa: E731
    state = random.getstate()
    random.seed(seed)
    with contextlib.ExitStack() as patches:
        for target, name, value in (
                (secrets, "token_bytes", octets), (secrets, "token_hex", lambda count=None: octets(count).hex()),
                (secrets, "randbelow", generator.randrange), (secrets, "randbits", generator.getrandbits),
                (secrets, "choice", generator.choice), (os, "urandom", octets)):
            patches.enter_context(mock.patch.object(target, name, value))
        for patch in _key_pairs(generator):
            patches.enter_context(patch)
        try:
            yield generator
        finally:
            random.setstate(state)
