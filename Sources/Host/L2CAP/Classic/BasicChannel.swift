import BBL2CAP

/// A connection-oriented channel over BR/EDR in basic mode, as an application uses it. Core Vol 3, Part A, 4.2.
public struct BasicChannel {
    private let channel: ClassicDataChannel

    fileprivate init(_ channel: ClassicDataChannel) { self.channel = channel }

    public var psm: UInt16 { channel.terms.psm }
    /// The longest SDU that the peer accepts.
    public var sendMTU: UInt16 { channel.terms.sendMTU }
    /// The longest SDU that this side accepts.
    public var receiveMTU: UInt16 { channel.terms.receiveMTU }

    /// Sends an SDU after waiting for room on the link.
    public func send(_ sdu: [UInt8]) async throws { try await channel.send(sdu) }

    /// Disconnects the channel without waiting for the peer.
    public func disconnect() { channel.disconnect() }

    /// Sets what receives each SDU, and what is called once when the channel ends.
    public func start(received: @escaping ([UInt8]) -> Void, ended: @escaping (HostError) -> Void) {
        channel.onReceive = received
        channel.onEnd = ended
    }
}

extension Host {
    /// Accepts channels to a service over BR/EDR.
    ///
    /// - Parameters:
    ///   - level: required security level of the link.
    ///   - opened: receives each channel before its first data.
    public func listenOverClassic(
        _ psm: UInt16, mtu: UInt16, level: SecurityMode4Level, opened: @escaping (BasicChannel, ClassicConnection) -> Void
    ) {
        listen(psm: psm, ClassicChannelSettings(mtu: mtu), level: level) { opened(BasicChannel($0), $1) }
    }
}

extension ClassicConnection {
    /// Opens a channel to a service of the peer, after raising the link to a security level. Core Vol 3, Part A, 4.2; Part C, 5.2.2.
    ///
    /// - Throws: `HostError.peer(.channel)` with the refusal, or the error of the security procedure or connection.
    public func openBasicChannel(_ psm: UInt16, mtu: UInt16, level: SecurityMode4Level = .unauthenticated) async throws -> BasicChannel {
        BasicChannel(try await openChannel(psm, ClassicChannelSettings(mtu: mtu), level: level))
    }
}
