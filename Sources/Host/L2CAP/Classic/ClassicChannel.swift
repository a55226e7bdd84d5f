import Packets
import Timing

/// One connection-oriented channel of a BR/EDR link. Core Vol 3, Part A, 6.1.
struct ClassicChannel {
    enum State: Equatable {
        /// WAIT_CONNECT_RSP: this side has asked for the channel.
        case awaitConnectionResponse
        /// WAIT_CONNECT: the peer has, by the request with this identifier, and nobody has decided yet.
        case awaitDecision(identifier: UInt8)
        case configuration
        case open
        case awaitDisconnectionResponse
    }

    let localCID: UInt16
    /// 0 until it is known.
    var remoteCID: UInt16
    let psm: UInt16
    var state: State
    var configuration: ChannelConfiguration
    /// The request that waits for its response.
    var request: UInt8?
    /// RTX or ERTX of that request. Core Vol 3, Part A, 6.2.
    var responseDeadline: Microseconds?
    /// When there has been enough of configuring.
    var configurationDeadline: Microseconds?
    /// The channel has been open.
    var hasOpened = false

    var deadline: Microseconds? {
        switch (responseDeadline, configurationDeadline) {
        case (let one?, let other?): min(one, other)
        case (let one, let other): one ?? other
        }
    }

    var terms: ChannelTerms { configuration.terms(localCID: localCID, remoteCID: remoteCID, psm: psm) }

    /// Nothing is expected any more.
    mutating func settle() {
        request = nil
        responseDeadline = nil
    }
}
