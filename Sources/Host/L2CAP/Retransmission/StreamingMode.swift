import BBL2CAP
import BBPackets

/// The data of a channel in Streaming mode: lost frames are counted and not retransmitted. Core Vol 3, Part A, 8.7.
struct StreamingMode {
    enum Action: Equatable {
        case send([UInt8])
        case deliver([UInt8])
    }

    private let framing: RetransmissionFraming
    private let modulus: UInt16
    private let sendMPS: Int
    private let receiveMPS: Int
    private var reassembly: SDUReassembly
    private var nextTxSeq: UInt16 = 0
    private var expectedTxSeq: UInt16 = 0
    /// The number of lost frames that could be counted.
    private(set) var lostFrames = 0

    init(_ terms: ChannelTerms) {
        framing = RetransmissionFraming(terms)
        modulus = terms.usesExtendedControl ? 0x4000 : 64
        sendMPS = Int(terms.sendMPS)
        receiveMPS = Int(terms.receiveMPS)
        reassembly = SDUReassembly(mtu: Int(terms.receiveMTU))
    }

    mutating func send(_ sdu: [UInt8]) -> [Action] {
        SDUReassembly.segments(of: sdu, mps: sendMPS).map { segment in
            defer { nextTxSeq = (nextTxSeq + 1) % modulus }
            return .send(framing.encode(.information(segment.kind, txSeq: nextTxSeq, reqSeq: 0), segment))
        }
    }

    mutating func received(_ pdu: [UInt8]) -> [Action] {
        guard let frame = framing.decode(pdu), case .information(let kind, let txSeq, _, _) = frame.control,
            frame.octets.count <= receiveMPS
        else { return [] }
        if txSeq != expectedTxSeq {
            lostFrames += Int((txSeq + modulus - expectedTxSeq) % modulus)
            reassembly.discard()
        }
        expectedTxSeq = (txSeq + 1) % modulus
        guard case .sdu(let sdu) = reassembly.take(kind, frame) else { return [] }
        return [.deliver(sdu)]
    }
}
