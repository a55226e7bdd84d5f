import Packets

/// A channel over BR/EDR in basic mode for programs above the host: SDUs go in and come out as they are. Core Vol 3, Part A, 3.1.
public struct ClassicPipe {
    private let channel: ClassicDataChannel

    init(_ channel: ClassicDataChannel, _ receive: @escaping ([UInt8]) -> Void) {
        self.channel = channel
        channel.onReceive = receive
    }

    /// Sends an SDU, waiting for room on the link.
    ///
    /// - Throws: `HostError`.
    public func send(_ sdu: [UInt8]) async throws { try await channel.send(sdu) }
}

extension ClassicConnection {
    /// Whether the link is encrypted with AES-CCM, which adds a check to each packet; E0 adds nothing. Core Vol 2, Part H, 9.
    public var usesAESCCM: Bool { security.machine.encryption?.isAESCCM ?? false }

    /// Opens a channel to a service that takes SDUs of up to `mtu` octets, and takes as many.
    ///
    /// - Throws: `HostError`.
    public func openPipe(_ psm: UInt16, mtu: UInt16, receive: @escaping ([UInt8]) -> Void) async throws -> ClassicPipe {
        var settings = ClassicChannelSettings()
        settings.mtu = mtu
        return ClassicPipe(try await openChannel(psm, settings, level: .open), receive)
    }
}

extension Host {
    /// Lets peers open channels that take SDUs of up to `mtu` octets, secured or not.
    public func acceptPipes(
        _ psm: UInt16, mtu: UInt16, receive: @escaping ([UInt8]) -> Void, opened: @escaping (ClassicPipe) -> Void
    ) {
        var settings = ClassicChannelSettings()
        settings.mtu = mtu
        listen(psm: psm, settings, level: .open) { channel, _ in opened(ClassicPipe(channel, receive)) }
    }
}
