import Packets

/// Link layer control of one link. Core Vol 6, Part B, 5.1.
final class LinkControl {
    unowned let link: Connection
    var nextInstant: Int? { nil }
    var isAwaitingPeer: Bool { false }

    init(_ link: Connection) { self.link = link }

    func linkStarted() {}
    func linkEnded() {}
    func eventBegins(_ event: Int) {}
    func received(_ payload: ArraySlice<UInt8>) {}
    func acknowledged(_ opcode: UInt8) {}
}
