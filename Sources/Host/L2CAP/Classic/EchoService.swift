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
    /// Proposes the frame check sequence by its option, although it is the default.
    public var namesFrameCheckSequence = false

    public init(psm: UInt16) { self.psm = psm }

    fileprivate var settings: ClassicChannelSettings {
        var settings = ClassicChannelSettings()
        settings.mode = ChannelMode(rawValue: mode) ?? .basic
        settings.isModeMandatory = isModeMandatory
        (settings.mtu, settings.mps) = (mtu, mps)
        (settings.receiveWindow, settings.maxTransmit) = (window, maxTransmit)
        settings.usesFrameCheckSequence = usesFrameCheckSequence
        settings.namesFrameCheckSequence = namesFrameCheckSequence
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

    /// Disconnects the channels to or of a service, without waiting for the peer.
    public func closeChannels(of psm: UInt16) {
        for channel in channels.open(of: psm) { channel.disconnect() }
        for channel in creditBased.open(of: psm) { channel.disconnect() }
    }

    /// Sets or clears the busy condition of the channels to or of a service in enhanced retransmission mode. Core Vol 3, Part A, 8.6.4.
    public func setBusy(_ isBusy: Bool, channelsOf psm: UInt16) {
        for channel in channels.open(of: psm) { channel.setBusy(isBusy) }
    }

    /// Changes the MTU and MPS of the enhanced credit-based channels to or of a service. Core Vol 3, Part A, 4.27.
    public func reconfigureChannels(of spsm: UInt16, mtu: UInt16, mps: UInt16) async throws {
        try await creditBased.reconfigure(creditBased.open(of: spsm), mtu: mtu, mps: mps)
    }

    /// Requests the peer's extended features; nil if the peer does not report them. Core Vol 3, Part A, 4.12.
    public func extendedFeatures() async throws -> UInt32? { try await channels.extendedFeatures()?.rawValue }

    /// Requests the peer's fixed channels, one bit each; 0 if the peer does not report them. Core Vol 3, Part A, 4.13.
    public func fixedChannels() async throws -> UInt64 { try await channels.fixedChannels() }

    /// Sends an echo request; returns true if the peer answers. Core Vol 3, Part A, 4.8.
    public func ping() async throws -> Bool { try await channels.ping([]) }
}

extension ClassicDataChannel {
    /// Returns received SDUs until the channel ends.
    fileprivate func echo() {
        _ = loop.start { [self] in
            while let sdu = try? await receive() { try? await send(Array(sdu.prefix(Int(terms.sendMTU)))) }
        }
    }
}
