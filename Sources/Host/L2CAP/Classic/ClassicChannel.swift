import BBL2CAP
import BBPackets
import BBTiming

/// A connection-oriented channel of a BR/EDR link. Core Vol 3, Part A, 6.1.
struct ClassicChannel {
    enum State: Equatable {
        /// WAIT_CONNECT_RSP: this side has requested the channel.
        case awaitConnectionResponse
        /// WAIT_CONNECT: the peer has requested the channel with this identifier, and the request is undecided.
        case awaitDecision(identifier: UInt8)
        case configuration
        case open
        case awaitDisconnectionResponse
    }

    let localCID: UInt16
    /// 0 while it is unknown.
    var remoteCID: UInt16
    let psm: UInt16
    var state: State
    var configuration: ChannelConfiguration
    /// The identifier of the outstanding request.
    var request: UInt8?
    /// The deadline of RTX or ERTX for that request. Core Vol 3, Part A, 6.2.
    var responseDeadline: Microseconds?
    /// The time at which an incomplete configuration is abandoned.
    var configurationDeadline: Microseconds?
    /// True if the channel has been open before.
    var hasOpened = false

    var deadline: Microseconds? {
        switch (responseDeadline, configurationDeadline) {
        case (let one?, let other?): min(one, other)
        case (let one, let other): one ?? other
        }
    }

    var terms: ChannelTerms { configuration.terms(localCID: localCID, remoteCID: remoteCID, psm: psm) }

    /// Clears the outstanding request and its timer.
    mutating func settle() {
        request = nil
        responseDeadline = nil
    }
}
