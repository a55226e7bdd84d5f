import Packets
import Timing

/// What this side wants of a connection-oriented channel. Core Vol 3, Part A, 5.
struct ClassicChannelSettings: Equatable {
    /// The longest SDU that this side takes; 48...65535.
    var mtu: UInt16 = ChannelTerms.defaultMTU
    var flushTimeout: UInt16?
    var qualityOfService: QualityOfService?
    var mode = ChannelMode.basic
    /// Without it another mode of the peer's is better than no channel.
    var isModeMandatory = false
    /// I-frames that this side takes without acknowledging one; more than 63 need the extended window.
    var receiveWindow: UInt16 = 63
    /// How often the peer may send an I-frame; 0 for any number.
    var maxTransmit: UInt8 = 20
    /// The longest payload of an I-frame that this side takes.
    var mps: UInt16 = 1010
    /// Whether frames need a check sequence; left out only if the peer agrees.
    var usesFrameCheckSequence = true
    var extendedFlowSpecification: ExtendedFlowSpecification?
}

/// What two sides have agreed on for a channel.
struct ChannelTerms: Equatable {
    /// Of a side that does not name one. Core Vol 3, Part A, 5.1.
    static let defaultMTU: UInt16 = 672
    /// The least that every side takes on BR/EDR. Core Vol 3, Part A, 5.1.
    static let minimumMTU: UInt16 = 48
    static let retransmissionTimeOut = Microseconds.seconds(2)
    static let monitorTimeOut = Microseconds.seconds(12)
    /// The largest transmit window of the retransmission option, and with the extended window. Core Vol 3, Part A, 5.4 and 5.7.
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
    /// How often this side sends an I-frame; 0 for any number. The peer's request says so, as it does for the window: they are about what the peer is sent.
    /// Core Vol 3, Part A, 5.4.
    var maxTransmit: UInt8 = 0
    /// The time-outs of this side's timers, by the peer's response to this side's request, in which they are 0. Core Vol 3, Part A, 5.4.
    var retransmissionTimeOut = Self.retransmissionTimeOut
    var monitorTimeOut = Self.monitorTimeOut
    var usesFrameCheckSequence = true
    var usesExtendedControl = false
    /// What goes wrong on the channel on purpose.
    var quirks = ChannelQuirks()
}

/// Why a channel is no more, or never was.
public enum ChannelEnd: Error, Sendable, Equatable {
    case byPeer
    case byThisSide
    case refused(ConnectionResult)
    /// The same of a credit-based channel.
    case creditBasedRefused(CreditBasedConnectionResult)
    /// The peer has answered a request with L2CAP_COMMAND_REJECT_RSP.
    case rejected(L2CAPRejectReason)
    case timedOut
    /// The two sides do not agree on how the channel works.
    case notConfigured(ConfigurationResult)
    /// What the peer has sent breaks the rules of the channel's mode.
    case violated
}
