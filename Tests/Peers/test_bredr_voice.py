"""Synchronous connections between two Bumble hosts on a link that AES-CCM encrypts."""

import dataclasses

from bumble import hfp
from bumble.hci import HCI_Enhanced_Setup_Synchronous_Connection_Command

from bredr import Bench
from support import Inbox
from test_bredr_channels import secured

HV3 = 0x03C4
"""The types that the host allows; bits 6 to 9 forbid those of the enhanced rate. Core Vol 4, Part E, 7.1.26."""


async def test_there_is_no_sco_under_aes_ccm(dual_ports):
    """AES-CCM does not protect SCO: neither side's host gets it, and the other one is not asked."""
    bench = Bench(dual_ports)
    terms = dataclasses.replace(
        hfp.ESCO_PARAMETERS[hfp.DefaultCodecParameters.SCO_CVSD_D1], packet_type=HV3, max_latency=0xFFFF, retransmission_effort=0xFF)
    async with bench.powered(classic_sc_enabled=True), bench.link() as (link, other):
        await secured(bench, link, other)
        for side, asked in ((link, other), (other, link)):
            refused, requests = Inbox(side, "sco_connection_failure"), Inbox(asked.device, "sco_request")
            await side.device.send_async_command(
                HCI_Enhanced_Setup_Synchronous_Connection_Command(connection_handle=side.handle, **terms.asdict()))
            assert await refused.next() == 0x0E
            assert not requests.items
