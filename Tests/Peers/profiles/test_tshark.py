"""tshark decodes the PDUs of our cores: each PDU is known, and none is malformed."""

import pytest
import test_avdtp
import test_avrcp
import test_hfp
import test_rfcomm
import test_sdp
import tshark
from fake_channel import Channel

# PSM, protocol and conversations of the other tests: each passes its channels to `Channel.made`.
CONVERSATIONS = {
    "sdp": (0x0001, "btsdp", [lambda codec: test_sdp.test_bumbles_client_reads_our_records(codec, 60)]),
    "rfcomm": (0x0003, "btrfcomm", [lambda codec: test_rfcomm.test_bumble_opens(codec, 672), test_rfcomm.test_we_open]),
    "avdtp": (0x0019, "btavdtp", [test_avdtp.test_we_stream_to_bumble]),
    "avctp": (0x0017, "btavctp", [test_avrcp.test_bumble_controls_us]),
}


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_tshark_knows_each_pdu(codec, tmp_path, monkeypatch, name):
    psm, protocol, conversations = CONVERSATIONS[name]
    made = []
    make = Channel.__init__
    monkeypatch.setattr(Channel, "__init__", lambda self, *words, **more: (make(self, *words, **more), made.append(self))[0])
    for conversation in conversations:
        await conversation(codec)
    traces = [channel.trace for channel in made if channel.trace]
    path = tmp_path / "channels.pcap"
    tshark.capture(path, [(psm, trace) for trace in traces])
    ours = sum(sent for trace in traces for sent, _ in trace)
    assert ours > 3
    # Direction 0 is sent.
    assert len(tshark.read(path, f"{protocol} && hci_h4.direction == 0", "frame.number")) == ours
    malformed = tshark.read(path, "_ws.malformed && hci_h4.direction == 0", "frame.number", "_ws.col.Info")
    assert malformed == []
