import BBL2CAP
import BBPackets
import BBTiming

/// The settings that this side proposes for a connection-oriented channel. Core Vol 3, Part A, 5.
struct ClassicChannelSettings: Equatable {
    /// The longest SDU that this side accepts; 48...65535.
    var mtu: UInt16 = ChannelTerms.defaultMTU
    var flushTimeout: UInt16?
    var qualityOfService: QualityOfService?
    var mode = ChannelMode.basic
    /// False if another mode is acceptable.
    var isModeMandatory = false
    /// The number of I-frames that this side accepts without acknowledgement; more than 63 need the extended window.
    var receiveWindow: UInt16 = 63
    /// The number of times that the peer may send an I-frame; 0 is unlimited.
    var maxTransmit: UInt8 = 20
    /// The longest payload of an I-frame that this side accepts.
    var mps: UInt16 = 1010
    /// False if this side proposes to omit the FCS; it is omitted only if the peer agrees.
    var usesFrameCheckSequence = true
    /// Proposes the FCS by its option, although it is the default.
    var namesFrameCheckSequence = false
    var extendedFlowSpecification: ExtendedFlowSpecification?
}

/// The agreed terms of a channel.
struct ChannelTerms: Equatable {
    /// The MTU of a side that does not propose one. Core Vol 3, Part A, 5.1.
    static let defaultMTU: UInt16 = 672
    /// The minimum MTU on BR/EDR. Core Vol 3, Part A, 5.1.
    static let minimumMTU: UInt16 = 48
    static let retransmissionTimeOut = Microseconds.seconds(2)
    static let monitorTimeOut = Microseconds.seconds(12)
    /// The largest transmit window of the retransmission option and of the extended window. Core Vol 3, Part A, 5.4 and 5.7.
    static let maximumWindow: UInt16 = 63
    static let maximumExtendedWindow: UInt16 = 0x3FFF

    var localCID: UInt16
    var remoteCID: UInt16
    var psm: UInt16
    var mode = ChannelMode.basic
    var receiveMTU = defaultMTU
    var sendMTU = defaultMTU
    var receiveMPS: UInt16 = 0
    var sendMPS: UInt16 = 0
    var receiveWindow: UInt16 = 0
    var sendWindow: UInt16 = 0
    /// The number of times that this side sends an I-frame; 0 is unlimited. The peer's request sets it, as it sets the transmit window.
    /// Core Vol 3, Part A, 5.4.
    var maxTransmit: UInt8 = 0
    /// The time-outs of this side's timers, from the peer's response; they are 0 in this side's request. Core Vol 3, Part A, 5.4.
    var retransmissionTimeOut = Self.retransmissionTimeOut
    var monitorTimeOut = Self.monitorTimeOut
    var usesFrameCheckSequence = true
    var usesExtendedControl = false
    /// The deliberate faults of the channel.
    var quirks = ChannelQuirks()
}

extension RetransmissionFraming {
    init(_ terms: ChannelTerms) {
        self.init(
            localCID: terms.localCID, remoteCID: terms.remoteCID, hasCheckSequence: terms.usesFrameCheckSequence,
            isExtended: terms.usesExtendedControl)
        faults = terms.quirks.frames
    }
}

/// The reason why a channel ended or was not created.
public enum ChannelEnd: Error, Sendable, Equatable {
    case byPeer
    case byThisSide
    case refused(ConnectionResult)
    /// The refusal of a credit-based channel.
    case creditBasedRefused(CreditBasedConnectionResult)
    /// The peer has answered a request with L2CAP_COMMAND_REJECT_RSP.
    case rejected(L2CAPRejectReason)
    case timedOut
    /// The two sides could not agree on a configuration.
    case notConfigured(ConfigurationResult)
    /// The peer has violated the rules of the channel's mode.
    case violated
    /// The peer has violated this rule of credit-based channels.
    case creditBasedViolated(ChannelFault)
}
