import BBHost
import BBPackets
import BBTiming

/// The task of a session over channels.
package struct L2CAPPlan: Sendable {
    package var transport = SessionTransport.le
    package var spsm: UInt16 = 128
    /// Uses the SPSM that the peer publishes.
    package var published = false
    /// Number of channels that the octets of a pipe are dealt to.
    package var channels = 1
    /// Number of channels to open in one enhanced request.
    package var enhanced: Int?
    /// TCP port of this machine, each connection to which gets a channel.
    package var tcpListen: UInt16?
    /// TCP port of this machine to which each channel is connected.
    package var tcp: UInt16?
    package var settings = CreditBasedChannelSettings()
    /// Connection interval in ms.
    package var interval = 15.0
    package var phys: PHYs?
    package var keepsOpen = false
    package var showsProgress = false
    /// Seconds until a peer must have opened a channel, or answered an SDU.
    package var seconds: Double?
    package var protection = ChannelProtection()

    package init() {}
}

/// A session that uses channels as a pipe, as a bridge to TCP, or for single SDUs.
package struct L2CAPSession {
    private let plan: L2CAPPlan
    private let screen: any Screen

    package init(_ plan: L2CAPPlan, on screen: any Screen) { (self.plan, self.screen) = (plan, screen) }

    /// Connects with the parameters of the command, and secures the link.
    private func connected(_ host: Host, to address: DeviceAddress, _ phys: PHYs? = nil) async throws -> PeerLink {
        guard plan.transport == .le else {
            let link = PeerLink.classic(try await host.connectClassic(to: address.bdADDR))
            try await plan.protection.apply(to: link, on: screen)
            return link
        }
        var connecting = ConnectSettings()
        connecting.parameters = ConnectionParameterRequest(interval: UInt16(clamping: Int(saturating: plan.interval / 1.25)))
        let link = try await host.connectAnswered(to: address, connecting)
        try await plan.protection.apply(to: .le(link), on: screen)
        if let phys { _ = try await link.updatePHY(tx: phys, rx: phys) }
        if host.controller.leFeatures.contains(.leDataPacketLengthExtension) { _ = try await link.updateDataLength(txOctets: 251) }
        return .le(link)
    }

    /// The SPSM of the command, or the published one.
    private func target(_ link: PeerLink) async throws -> UInt16 {
        guard plan.published, case .le(let link) = link else { return plan.spsm }
        guard let found = try await link.gatt.publishedSPSMs().first else {
            throw CommandFailure(.fail, "the peer publishes no SPSM (characteristic \(BluetoothUUID.publishedSPSM))")
        }
        return found
    }

    private func open(_ target: UInt16, on link: PeerLink) async throws -> [CreditBasedChannel] {
        try await ChannelProtection.opening {
            var opened: [CreditBasedChannel] = []
            switch link {
            case .le(let link):
                if let enhanced = plan.enhanced { return try await link.openChannels(target, count: enhanced, plan.settings) }
                for _ in 0..<plan.channels { opened.append(try await link.openChannel(target, plan.settings)) }
            case .classic(let link):
                if let enhanced = plan.enhanced { return try await link.openChannels(target, count: enhanced, plan.settings) }
                for _ in 0..<plan.channels { opened += try await link.openChannels(target, plan.settings) }
            }
            return opened
        }
    }

    // MARK: Pipes

    package func connect(_ host: Host, to address: DeviceAddress) async throws {
        let link = try await connected(host, to: address, plan.phys)
        let target = try await target(link)
        let pipes = pipes(host)
        if let tcpListen = plan.tcpListen {
            let listener = try LoopbackListener(port: tcpListen, on: host.loop)
            screen.complain("listening on 127.0.0.1:\(listener.port), SPSM \(Hex.number(target))")
            try await pipes.run(until: link.acl) { pipes.serve(listener) { try await open(target, on: link)[0] } }
        } else {
            let opened = try await open(target, on: link)
            try await pipes.run(until: link.acl) { pipes.add(opened, local: .standard(on: host.loop), isLast: true) }
        }
        // After Ctrl-C the link ends as the host leaves.
        guard !Task.isCancelled else { return }
        await pipes.drain(link.acl)
        try await link.disconnect()
        try pipes.check()
    }

    package func accept(_ host: Host) async throws {
        let pipes = pipes(host)
        let wanted = plan.enhanced ?? plan.channels
        let first = Promise<Void>(on: host.loop)
        let arrivals = Arrivals(wanted)
        let (bridge, allowed) = (plan.tcp, plan.protection.allowed)
        let admits = { [screen] (link: PeerLink, count: Int) -> ChannelAdmission in
            if let allowed, !allowed.contains(link.peer.address) {
                screen.complain("a channel of \(link.peer.address.argument) was refused: --allow does not name it")
                return .notAuthorized
            }
            let room = bridge == nil ? arrivals.room : count
            if room < count { screen.complain("a further channel was refused: the pipe takes \(Plural.count(wanted, "channel"))") }
            return .accept(first: min(room, count))
        }
        host.listen(plan.spsm, plan.protection.applied(to: plan.settings), over: plan.transport == .le ? .le : .brEDR, admits: admits) {
            channel, link in
            arrivals.add(channel, on: link.acl)
            if let bridge {
                first.fulfil(())
                pipes.add([channel], connectingTo: bridge)
            } else if arrivals.room == 0 {
                first.fulfil(())
                pipes.add(arrivals.channels, local: .standard(on: host.loop), isLast: true)
            }
        }
        let again = try await offer(host)
        defer { again?.cancel() }
        do {
            if let seconds = plan.seconds {
                try await first.value(until: host.loop.now + .seconds(seconds))
            } else {
                try await first.value()
            }
        } catch is TimeOut {
            throw CommandFailure(.fail, "no peer opened \(wanted > 1 ? "\(wanted) channels" : "a channel") within \(plan.seconds ?? 0) s")
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
        guard plan.transport == .le else {
            try await host.describeClassic(ClassicDescription(name: "bluebench"))
            try await host.setScan(isDiscoverable: true, isConnectable: true)
            screen.complain("connectable over BR/EDR as \(host.controller.address), SPSM \(Hex.number(plan.spsm))")
            return nil
        }
        let data = AdvertisingData([.flags(.generalDiscoverable)])
        var set = try await host.advertise(AdvertisingSettings(data: data))
        screen.complain("advertising as \(host.address), SPSM \(Hex.number(plan.spsm))")
        return host.loop.start {
            while true {
                let link = try await set.connected(within: .seconds(86_400 * 365))
                _ = try await link.ended(within: .seconds(86_400 * 365))
                set = try await host.advertise(AdvertisingSettings(data: data))
            }
        }
    }

    private func pipes(_ host: Host) -> LocalPipes {
        LocalPipes(host, on: screen, keepsOpen: plan.keepsOpen, showsProgress: plan.showsProgress)
    }

    // MARK: Single SDUs

    package func exchange(_ sdus: [[UInt8]], with address: DeviceAddress, _ host: Host) async throws {
        let link = try await connected(host, to: address)
        for channel in try await open(try await target(link), on: link) {
            screen.line(Self.title(channel) + ": open, \(channel.peerMTU) octets, \(channel.credits) credits")
            for sdu in sdus {
                try await channel.send(sdu)
                let answer = try await channel.receive(within: .seconds(plan.seconds ?? 10))
                screen.line(Self.title(channel) + ": \(Hex.octets(answer))")
            }
            channel.disconnect()
        }
        try await link.disconnect()
    }

    package func echo(_ host: Host) async throws {
        let loop = host.loop
        host.listen(plan.spsm, plan.settings) { channel in
            screen.line(Self.title(channel) + ": open, \(channel.peerMTU) octets, \(channel.credits) credits")
            var waiting: [Activity<Void>] = []
            channel.onReceive = { [unowned channel] sdu in
                screen.line(Self.title(channel) + ": \(Hex.octets(sdu))")
                waiting.append(loop.start { [channel] in try await channel.send(sdu) })
                waiting.removeAll(where: \.isOver)
            }
        }
        _ = try await host.advertise(AdvertisingSettings(data: AdvertisingData([.flags(.generalDiscoverable)])))
        screen.line("advertising as \(host.address), SPSM \(Hex.number(plan.spsm))")
        try await loop.sleep(for: .seconds(plan.seconds ?? 10))
    }

    static func title(_ channel: CreditBasedChannel) -> String { "channel \(Hex.number(channel.localCID))" }
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
