import BBL2CAP
import BBPackets

/// A BR/EDR channel in basic mode for programs above the host; SDUs are sent and received unchanged. Core Vol 3, Part A, 3.1.
public struct ClassicPipe {
    private let channel: ClassicDataChannel

    init(_ channel: ClassicDataChannel, _ receive: @escaping ([UInt8]) -> Void) {
        self.channel = channel
        channel.onReceive = receive
    }

    /// Sends an SDU after waiting for space on the link.
    ///
    /// - Throws: `HostError`.
    public func send(_ sdu: [UInt8]) async throws { try await channel.send(sdu) }
}

extension ClassicConnection {
    /// True if the link is encrypted with AES-CCM, which adds a MIC to each packet; E0 adds nothing. Core Vol 2, Part H, 9.
    public var usesAESCCM: Bool { security.machine.encryption?.isAESCCM ?? false }

    /// Opens a channel to a service, with SDUs of up to `mtu` octets in both directions.
    ///
    /// - Throws: `HostError`.
    public func openPipe(_ psm: UInt16, mtu: UInt16, receive: @escaping ([UInt8]) -> Void) async throws -> ClassicPipe {
        var settings = ClassicChannelSettings()
        settings.mtu = mtu
        return ClassicPipe(try await openChannel(psm, settings, level: .open), receive)
    }
}

extension Host {
    /// Accepts channels with SDUs of up to `mtu` octets, with or without security.
    public func acceptPipes(
        _ psm: UInt16, mtu: UInt16, receive: @escaping ([UInt8]) -> Void, opened: @escaping (ClassicPipe) -> Void
    ) {
        var settings = ClassicChannelSettings()
        settings.mtu = mtu
        listen(psm: psm, settings, level: .open) { channel, _ in opened(ClassicPipe(channel, receive)) }
    }
}
