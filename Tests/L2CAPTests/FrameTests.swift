import BBL2CAP
import BBPackets
import Testing

/// Control fields and check sequences of I-frames and S-frames. Core Vol 3, Part A, 3.3.
@Suite struct FrameTests {
    private static func octets(_ text: String) -> [UInt8] { Hex.parse(text) ?? [] }

    /// Verified with Bumble's control fields.
    static let controls: [(FrameControl, String)] = [
        (.information(.unsegmented, txSeq: 5, reqSeq: 33), "0a21"), (.information(.start, txSeq: 5, reqSeq: 33), "0a61"),
        (.information(.end, txSeq: 5, reqSeq: 33), "0aa1"), (.information(.continuation, txSeq: 5, reqSeq: 33), "0ae1"),
        (.information(.unsegmented, txSeq: 63, reqSeq: 63, isFinal: true), "fe3f"),
        (.supervisory(.receiverReady, reqSeq: 33), "0121"), (.supervisory(.receiverReady, reqSeq: 33, isPoll: true), "1121"),
        (.supervisory(.reject, reqSeq: 7, isFinal: true), "8507"), (.supervisory(.receiverNotReady, reqSeq: 7, isFinal: true), "8907"),
        (.supervisory(.selectiveReject, reqSeq: 33, isPoll: true), "1d21"),
    ]

    @Test(arguments: controls) func control(field: FrameControl, hex: String) {
        let bits = Self.octets(hex)
        #expect(field.standard == UInt16(bits[0]) | UInt16(bits[1]) << 8)
        #expect(FrameControl(standard: field.standard) == field && FrameControl(extended: field.extended) == field)
    }

    @Test func extendedControlHoldsFourteenBits() {
        let field = FrameControl.information(.end, txSeq: 0x3FFF, reqSeq: 0x2001, isFinal: true)
        #expect(field.extended == 0xFFFE_8006 && FrameControl(extended: field.extended) == field)
        #expect(FrameControl.supervisory(.selectiveReject, reqSeq: 1, isPoll: true).extended == 0x0007_0005)
    }

    /// Each fault changes its field alone: a continuation with TxSeq 5 and ReqSeq 33, and RR with ReqSeq 33.
    @Test(
        arguments: [
            (\FrameFaults.repeatsSequence, "00e1 6162", "0121"), (\.skipsSequence, "0ce1 6162", "0121"),
            (\.acknowledgesLess, "0ae0 6162", "0120"), (\.endsEarly, "0aa1 6162", "0121"), (\.setsReservedBits, "0ae1 6162", "61e1"),
            (\.ignoresCheck, "0ae1 6162", "0121"),
        ] as [(WritableKeyPath<FrameFaults, Bool> & Sendable, String, String)])
    func aFaultChangesOneField(_ fault: WritableKeyPath<FrameFaults, Bool> & Sendable, information: String, supervisory: String) {
        var framing = RetransmissionFraming(localCID: 0x41, remoteCID: 0x40, hasCheckSequence: false)
        framing.faults[keyPath: fault] = true
        let segment = SDUSegment(octets: Array("ab".utf8)[...])
        #expect(framing.encode(.information(.continuation, txSeq: 5, reqSeq: 33), segment) == Self.octets(information))
        #expect(framing.encode(.supervisory(.receiverReady, reqSeq: 33)) == Self.octets(supervisory))
    }

    @Test func reservedBitsOfTheExtendedFieldAreThirteen() {
        var framing = RetransmissionFraming(localCID: 0x41, remoteCID: 0x40, hasCheckSequence: false, isExtended: true)
        framing.faults.setsReservedBits = true
        #expect(framing.encode(.supervisory(.receiverReady, reqSeq: 1)) == Self.octets("0500f8ff"))
    }

    /// A sequence computed independently in Python, and frames as encoded by Bumble.
    @Test func checkSequence() {
        var check = L2CAPFrameCheckSequence()
        check.add("123456789".utf8)
        #expect(check.value == 0xBB3D)
        let framing = RetransmissionFraming(localCID: 0x41, remoteCID: 0x40, hasCheckSequence: true)
        let segment = SDUSegment(octets: Array("abc".utf8)[...])
        #expect(framing.encode(.information(.unsegmented, txSeq: 5, reqSeq: 33), segment) == Self.octets("0a21 616263 cd5e"))
        let other = RetransmissionFraming(localCID: 0x40, remoteCID: 0x41, hasCheckSequence: true)
        #expect(other.encode(.supervisory(.receiverReady, reqSeq: 33)) == Self.octets("0121 d430"))
        #expect(framing.decode(Self.octets("0121 d430"))?.control == .supervisory(.receiverReady, reqSeq: 33))
        #expect(framing.decode(Self.octets("0121 d431")) == nil && framing.decode([0x21]) == nil && framing.decode([]) == nil)
    }
}
