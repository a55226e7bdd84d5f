import BBL2CAP
import BBPackets
import BBTiming

extension ChannelConfiguration {
    /// Returns the agreed terms.
    func terms(localCID: UInt16, remoteCID: UInt16, psm: UInt16) -> ChannelTerms {
        var terms = ChannelTerms(localCID: localCID, remoteCID: remoteCID, psm: psm, mode: mode)
        terms.receiveMTU = proposal.mtu ?? settings.mtu
        terms.sendMTU = peer.mtu ?? ChannelTerms.defaultMTU
        guard mode != .basic, let own = proposal.retransmission, let other = peer.retransmission else { return terms }
        (terms.receiveMPS, terms.sendMPS) = (own.mps, other.mps)
        terms.receiveWindow = proposal.extendedWindowSize ?? UInt16(own.transmitWindow)
        terms.sendWindow = peer.extendedWindowSize ?? UInt16(other.transmitWindow)
        terms.maxTransmit = other.maxTransmit
        terms.retransmissionTimeOut = Self.timeOut(own.retransmissionTimeOut, ChannelTerms.retransmissionTimeOut)
        terms.monitorTimeOut = Self.timeOut(own.monitorTimeOut, ChannelTerms.monitorTimeOut)
        // The FCS is omitted only if both sides request it. Core Vol 3, Part A, 5.5.
        terms.usesFrameCheckSequence = proposal.frameCheckSequence != 0 || peer.frameCheckSequence != 0
        terms.usesExtendedControl = proposal.extendedWindowSize != nil || peer.extendedWindowSize != nil
        return terms
    }

    /// Returns the peer's time-out, but at least 1 s to limit the number of polls; the default if the peer gave none.
    private static func timeOut(_ milliseconds: UInt16, _ usual: Microseconds) -> Microseconds {
        milliseconds == 0 ? usual : max(.milliseconds(Int(milliseconds)), .seconds(1))
    }
}
