import BBL2CAP
import BBPackets
import BBTiming

/// A serial port that peers may open.
struct SerialService {
    var opened: (SerialPort, ClassicConnection) -> Void
}

extension Host {
    /// L2CAP settings of RFCOMM: a frame fills at most one 3-DH5 packet.
    static let serialChannel: ClassicChannelSettings = {
        var settings = ClassicChannelSettings()
        settings.mtu = 1_017
        settings.isModeMandatory = true
        return settings
    }()

    /// Accepts connections to a serial port. A service record announces its server channel: `SDPRecord.serialPort`.
    ///
    /// - Parameters:
    ///   - channel: the server channel, 1...30; nil for the first free one.
    ///   - opened: called with each port before any data is received.
    /// - Returns: the server channel.
    /// - Throws: `HostError.misuse(.noServerChannel)`.
    @discardableResult
    public func listen(rfcomm channel: UInt8? = nil, opened: @escaping (SerialPort, ClassicConnection) -> Void) throws -> UInt8 {
        guard let channel = channel ?? (1...30).first(where: { context.serialServices[$0] == nil }), (1...30).contains(channel) else {
            throw HostError.misuse(.noServerChannel(channel ?? 0))
        }
        context.serialServices[channel] = SerialService(opened: opened)
        listen(psm: PSM.rfcomm, Self.serialChannel) { link, connection in _ = connection.layers.addMultiplexer(.acceptor, link) }
        serveSerialPorts()
        return channel
    }

    /// Stops accepting connections to a server channel; open ones stay open.
    public func stopListening(rfcomm channel: UInt8) {
        context.serialServices[channel] = nil
        serveSerialPorts()
    }

    private func serveSerialPorts() {
        let channels = Set(context.serialServices.keys)
        for multiplexer in classicConnections.flatMap(\.layers.multiplexers) { multiplexer.serve(channels) }
    }
}

extension ClassicConnection {
    /// Opens a serial port of the peer, on the existing or a new RFCOMM session. RFCOMM 1.2, 5.2.
    ///
    /// - Throws: `HostError.peer(.serialPort)` with the reason, `.peer(.channel)`, `.misuse(.noServerChannel)`, or the error of the
    ///   connection.
    public func openSerialPort(channel: UInt8) async throws -> SerialPort {
        guard (1...30).contains(channel) else { throw HostError.misuse(.noServerChannel(channel)) }
        return try await multiplexer().open(channel)
    }

    /// The RFCOMM session; there is only one between two devices. RFCOMM 1.2, 5.2.
    private func multiplexer() async throws -> SerialMultiplexer {
        if let running = layers.multiplexers.first(where: \.isRunning) { return running }
        if let opening = layers.openingMultiplexer { return try await opening.value() }
        if let idle = layers.multiplexers.first(where: \.isUsable) { return idle }
        let opening = Promise<SerialMultiplexer>(on: host.loop)
        layers.openingMultiplexer = opening
        defer { layers.openingMultiplexer = nil }
        do { opening.fulfil(try await openMultiplexer()) } catch { opening.fail(error) }
        return try await opening.value()
    }

    /// Opens a session. If both devices open one at the same time, the session of the device with the greater address is used; the peer's
    /// is accepted if it opens it nevertheless.
    private func openMultiplexer() async throws -> SerialMultiplexer {
        let link: ClassicDataChannel
        do {
            link = try await openChannel(PSM.rfcomm, Host.serialChannel)
        } catch HostError.peer(.channel(let end)) {
            guard let theirs = try await arrivingMultiplexer() else { throw HostError.peer(.channel(end)) }
            return theirs
        }
        var theirs = layers.multiplexers.first(where: \.isRunning)
        if theirs == nil, host.controller.address.bdADDR.rawValue < address.rawValue { theirs = try await arrivingMultiplexer() }
        if let theirs {
            link.disconnect()
            return theirs
        }
        let ours = layers.addMultiplexer(.initiator, link)
        ours.start()
        return ours
    }

    /// The session on a channel that the peer has opened or is about to open; nil if there is none.
    private func arrivingMultiplexer() async throws -> SerialMultiplexer? {
        try await awaitArrival(psm: PSM.rfcomm) { layers.multiplexers.contains(where: \.isUsable) }
        return layers.multiplexers.first(where: \.isUsable)
    }
}
