import BBHost
import BBPackets
import BBTiming

extension L2CAPCommand {
    /// Connects with the parameters of the command, and secures the link.
    func connected(_ host: Host, to address: DeviceAddress, _ phys: PHYs? = nil) async throws -> PeerLink {
        guard transport == .le else {
            let link = PeerLink.classic(try await host.connectClassic(to: address.bdADDR))
            try await protection.apply(to: link)
            return link
        }
        var connecting = ConnectSettings()
        connecting.parameters = ConnectionParameterRequest(interval: UInt16(clamping: Int(saturating: interval / 1.25)))
        let link = try await host.connectAnswered(to: address, connecting)
        try await protection.apply(to: .le(link))
        if let phys { _ = try await link.updatePHY(tx: phys, rx: phys) }
        if host.controller.leFeatures.contains(.leDataPacketLengthExtension) { _ = try await link.updateDataLength(txOctets: 251) }
        return .le(link)
    }

    /// The SPSM of the command, or the published one.
    func target(_ link: PeerLink) async throws -> UInt16 {
        guard published, case .le(let link) = link else { return spsm }
        guard let found = try await link.gatt.publishedSPSMs().first else {
            throw CommandFailure(.fail, "the peer publishes no SPSM (characteristic \(BluetoothUUID.publishedSPSM))")
        }
        return found
    }

    func open(_ target: UInt16, on link: PeerLink) async throws -> [CreditBasedChannel] {
        try await ChannelSecurity.opening {
            var opened: [CreditBasedChannel] = []
            switch link {
            case .le(let link):
                if let enhanced { return try await link.openChannels(target, count: enhanced, settings) }
                for _ in 0..<channels { opened.append(try await link.openChannel(target, settings)) }
            case .classic(let link):
                if let enhanced { return try await link.openChannels(target, count: enhanced, settings) }
                for _ in 0..<channels { opened += try await link.openChannels(target, settings) }
            }
            return opened
        }
    }

    // MARK: Pipes

    func connect(_ host: Host, to address: DeviceAddress, _ phys: PHYs?) async throws {
        let link = try await connected(host, to: address, phys)
        let target = try await target(link)
        let pipes = DeskPipes(host, keepsOpen: keepOpen, showsProgress: progress)
        if let tcpListen {
            let listener = try LoopbackListener(port: tcpListen, on: host.loop)
            Console.complain("listening on 127.0.0.1:\(listener.port), SPSM \(Hex.number(target))")
            let command = self
            try await pipes.run(until: link.acl) { pipes.serve(listener) { try await command.open(target, on: link)[0] } }
        } else {
            let opened = try await open(target, on: link)
            try await pipes.run(until: link.acl) { pipes.add(opened, desk: .standard(on: host.loop), isLast: true) }
        }
        // After Ctrl-C the link ends as the host leaves.
        guard !Task.isCancelled else { return }
        await pipes.drain(link.acl)
        try await link.disconnect()
        try pipes.check()
    }

    func accept(_ host: Host, _ allowed: Set<DeviceAddress>?) async throws {
        let pipes = DeskPipes(host, keepsOpen: keepOpen, showsProgress: progress)
        let wanted = enhanced ?? channels
        let first = Promise<Void>(on: host.loop)
        let arrivals = Arrivals(wanted)
        let bridge = tcp
        let admits = { (link: PeerLink, count: Int) -> ChannelAdmission in
            if let allowed, !allowed.contains(link.peer.address) {
                Console.complain("a channel of \(link.peer.address.argument) was refused: --allow does not name it")
                return .notAuthorized
            }
            let room = bridge == nil ? arrivals.room : count
            if room < count { Console.complain("a further channel was refused: the pipe takes \(Console.count(wanted, "channel"))") }
            return .accept(first: min(room, count))
        }
        host.listen(spsm, protection.applied(to: settings), over: transport == .le ? .le : .brEDR, admits: admits) { channel, link in
            arrivals.add(channel, on: link.acl)
            if let bridge {
                first.fulfil(())
                pipes.add([channel], connectingTo: bridge)
            } else if arrivals.room == 0 {
                first.fulfil(())
                pipes.add(arrivals.channels, desk: .standard(on: host.loop), isLast: true)
            }
        }
        let again = try await offer(host)
        defer { again?.cancel() }
        do {
            if let seconds { try await first.value(until: host.loop.now + .seconds(seconds)) } else { try await first.value() }
        } catch is TimeOut {
            throw CommandFailure(.fail, "no peer opened \(wanted > 1 ? "\(wanted) channels" : "a channel") within \(seconds ?? 0) s")
        } catch is CancellationError {
            return
        }
        try await pipes.run(until: nil) {}
        for link in arrivals.links { await pipes.drain(link) }
        try pipes.check()
    }

    /// Makes this device connectable, again after each connection over LE: a peer may connect only to look; a bridge serves one after the
    /// other.
    private func offer(_ host: Host) async throws -> Activity<Void>? {
        guard transport == .le else {
            try await host.describeClassic(ClassicDescription(name: "bluebench"))
            try await host.setScan(isDiscoverable: true, isConnectable: true)
            Console.complain("connectable over BR/EDR as \(host.controller.address), SPSM \(Hex.number(spsm))")
            return nil
        }
        let data = AdvertisingData([.flags(.generalDiscoverable)])
        var set = try await host.advertise(AdvertisingSettings(data: data))
        Console.complain("advertising as \(host.address), SPSM \(Hex.number(spsm))")
        return host.loop.start {
            while true {
                let link = try await set.connected(within: .seconds(86_400 * 365))
                _ = try await link.ended(within: .seconds(86_400 * 365))
                set = try await host.advertise(AdvertisingSettings(data: data))
            }
        }
    }
}

/// The channels of a pipe that peers have opened, and the links on which peers have opened any.
private final class Arrivals {
    private let wanted: Int
    private(set) var channels: [CreditBasedChannel] = []
    private(set) var links: [ACLLink] = []
    private var isComplete = false

    init(_ wanted: Int) { self.wanted = wanted }

    /// The number of channels that the pipe still needs; a channel that ends before the pipe begins is replaced.
    var room: Int {
        if !isComplete { channels.removeAll { !$0.isOpen } }
        return wanted - channels.count
    }

    func add(_ channel: CreditBasedChannel, on link: ACLLink) {
        links.removeAll { !$0.isConnected || $0 === link }
        links.append(link)
        guard !isComplete else { return }
        channels.append(channel)
        isComplete = room == 0
    }
}
