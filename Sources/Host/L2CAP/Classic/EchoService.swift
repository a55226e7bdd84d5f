import BBL2CAP
import BBTiming

/// A service on a BR/EDR channel that returns each received SDU, for channel tests.
public struct EchoService: Sendable {
    public var psm: UInt16
    /// 0 basic, 3 enhanced retransmission, 4 streaming. Core Vol 3, Part A, 5.4.
    public var mode: UInt8 = 0
    /// Refuses the channel if the mode is not agreed.
    public var isModeMandatory = false
    /// The longest SDU that the service accepts.
    public var mtu: UInt16 = 672
    /// The number of I-frames that the service accepts without acknowledgement, how often the peer may send one, and the longest payload.
    public var window: UInt16 = 63
    public var maxTransmit: UInt8 = 20
    public var mps: UInt16 = 1_010
    public var usesFrameCheckSequence = true

    public init(psm: UInt16) { self.psm = psm }

    fileprivate var settings: ClassicChannelSettings {
        var settings = ClassicChannelSettings()
        settings.mode = ChannelMode(rawValue: mode) ?? .basic
        settings.isModeMandatory = isModeMandatory
        (settings.mtu, settings.mps) = (mtu, mps)
        (settings.receiveWindow, settings.maxTransmit) = (window, maxTransmit)
        settings.usesFrameCheckSequence = usesFrameCheckSequence
        return settings
    }
}

extension Host {
    /// Accepts channels to the service.
    public func offer(_ service: EchoService) {
        listen(psm: service.psm, service.settings, level: .open) { channel, _ in channel.echo() }
    }
}

extension ClassicConnection {
    /// Opens a channel to a service of the peer and returns each received SDU.
    public func open(_ service: EchoService) async throws {
        try await openChannel(service.psm, service.settings, level: .open).echo()
    }
}

extension ClassicDataChannel {
    /// Returns received SDUs until the channel ends.
    fileprivate func echo() {
        _ = loop.start { [self] in
            while let sdu = try? await receive() { try? await send(Array(sdu.prefix(Int(terms.sendMTU)))) }
        }
    }
}
