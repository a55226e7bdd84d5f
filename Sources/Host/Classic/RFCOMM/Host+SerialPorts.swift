import Packets
import Timing

/// A serial port that peers may open.
struct SerialService {
    var opened: (SerialPort, ClassicConnection) -> Void
}

extension Host {
    /// What RFCOMM is carried by: a frame fills one 3-DH5 packet at most.
    static let serialChannel: ClassicChannelSettings = {
        var settings = ClassicChannelSettings()
        settings.mtu = 1_017
        settings.isModeMandatory = true
        return settings
    }()

    /// Lets peers open a serial port. A service record tells them which server channel it is: `SDPRecord.serialPort`.
    ///
    /// - Parameters:
    ///   - channel: the server channel, 1...30; the first that is free if nil.
    ///   - opened: gets each port, before anything is received on it.
    /// - Returns: the server channel.
    /// - Throws: `HostError.misuse(.noServerChannel)`.
    @discardableResult
    public func listen(rfcomm channel: UInt8? = nil, opened: @escaping (SerialPort, ClassicConnection) -> Void) throws -> UInt8 {
        guard let channel = channel ?? (1...30).first(where: { context.serialServices[$0] == nil }), (1...30).contains(channel) else {
            throw HostError.misuse(.noServerChannel(channel ?? 0))
        }
        context.serialServices[channel] = SerialService(opened: opened)
        listen(psm: ClassicPSM.rfcomm, Self.serialChannel) { link, connection in _ = connection.layers.addMultiplexer(.acceptor, link) }
        serveSerialPorts()
        return channel
    }

    /// Refuses connections to a server channel from now on; those that are open stay.
    public func stopListening(rfcomm channel: UInt8) {
        context.serialServices[channel] = nil
        serveSerialPorts()
    }

    private func serveSerialPorts() {
        let channels = Set(context.serialServices.keys)
        for multiplexer in path.classicConnections.all.flatMap(\.layers.multiplexers) { multiplexer.serve(channels) }
    }
}

extension ClassicConnection {
    /// Opens a serial port of the peer, on the session that is there or on a new one. RFCOMM 1.2, 5.2.
    ///
    /// - Throws: `HostError.peer(.serialPort)` with the reason, `.peer(.channel)`, `.misuse(.noServerChannel)`, or why there is no connection.
    public func openSerialPort(channel: UInt8) async throws -> SerialPort {
        guard (1...30).contains(channel) else { throw HostError.misuse(.noServerChannel(channel)) }
        return try await multiplexer().open(channel)
    }

    /// The one session that there is between two devices. RFCOMM 1.2, 5.2.
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

    /// Where both sides have asked for a channel at once, the session is that of the device with the greater address. A peer that begins its own all the same is
    /// let in.
    private func openMultiplexer() async throws -> SerialMultiplexer {
        let link: ClassicDataChannel
        do {
            link = try await openChannel(ClassicPSM.rfcomm, Host.serialChannel)
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

    /// The session on the channel that the peer has opened or is about to open; nil if there is none.
    private func arrivingMultiplexer() async throws -> SerialMultiplexer? {
        let end = host.loop.now + .seconds(20)
        while !layers.multiplexers.contains(where: \.isUsable), channels.isArriving(psm: ClassicPSM.rfcomm), host.loop.now < end {
            try await host.loop.sleep(for: .milliseconds(10))
        }
        return layers.multiplexers.first(where: \.isUsable)
    }
}
