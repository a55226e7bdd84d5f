import BBHost
import BBPackets
import BBTiming
import BBTraffic

/// A link with the parameters of a row, as far as both devices accept them.
struct LinkSetup {
    let request: ThroughputRow.Request
    /// The tester's end; the tester is the central.
    let tester: Connection
    /// The subject's end, if the subject runs in this process.
    let subject: Connection?
    let client: ThroughputClient
    /// The tester's ends of the L2CAP channels, and the receiver of their SDUs.
    let channels: [CreditBasedChannel]
    let channelReceiver: FlowReceiver
    /// The client's ends of the Enhanced ATT bearers of the flow.
    let bearers: [EnhancedBearer]
    let parameters: LinkParameters
    /// Link parameters of the flow in the opposite direction, if there is one.
    private let turnedParameters: LinkParameters?

    init(_ bench: ThroughputBench, _ request: ThroughputRow.Request) async throws {
        self.request = request
        guard bench.subject != nil || Self.isServedBySubject(request) else {
            throw MeasurementFailure("\(request.over.rawValue) \(request.direction.rawValue) needs a subject that acts as client")
        }
        (tester, subject) = try await Self.connect(bench, request)
        do {
            if request.isEncrypted { try await Self.encrypt(tester, subject) }
            try await Self.choosePHY(tester, subject, request)
            for way in request.isBothWays ? [request, request.turned] : [request] {
                try await Self.chooseDataLength(Self.isFromSubject(way) ? subject : tester, way)
            }
            let clientLink = try Self.clientLink(tester, subject, request)
            if request.mtu > 23, request.channel == nil { try await clientLink.gatt.exchangeMTU(request.mtu) }
            if let product = bench.product {
                client = try await ThroughputClient(product, request.over, on: clientLink)
            } else {
                client = try await ThroughputClient(discoveringOn: clientLink)
            }
            (channels, channelReceiver) = try await Self.openChannels(bench, tester, request)
            bearers = try await Self.openBearers(bench, clientLink, request)
            let parameters = { [tester, subject, channels, bearers] (way: ThroughputRow.Request) in
                let load = Self.load(bench, way, channels.first, bearers.first)
                return Self.parameters(tester, subject, way, load, mtu: bearers.first?.mtu ?? tester.mtu)
            }
            self.parameters = parameters(request)
            turnedParameters = request.isBothWays ? parameters(request.turned) : nil
        } catch {
            await bench.loop.cleanUp(within: Host.procedureTimeOut) { [tester] in try await tester.disconnect() }
            throw error
        }
    }

    /// Link layer payloads sent in the opposite direction instead of empty packets.
    var replies: [Int] { turnedParameters.map { $0.fragments(valueOctets: $0.valueOctets) } ?? responses }

    /// The same link for the flow in the opposite direction; nil if there is none.
    var turned: LinkSetup? {
        guard let turnedParameters else { return nil }
        return LinkSetup(self, request.turned, turnedParameters)
    }

    private init(_ setup: LinkSetup, _ request: ThroughputRow.Request, _ parameters: LinkParameters) {
        (tester, subject, client) = (setup.tester, setup.subject, setup.client)
        (channels, channelReceiver, bearers) = (setup.channels, setup.channelReceiver, setup.bearers)
        (self.request, self.parameters, turnedParameters) = (request, parameters, setup.parameters)
    }

    /// The end that sends the data; nil if it is a foreign device.
    var sender: Connection? { Self.isFromSubject(request) ? subject : tester }

    func end() async {
        await tester.host.loop.cleanUp(within: Host.procedureTimeOut) { [self] in
            try await tester.disconnect()
            _ = try await subject?.ended(within: .seconds(10))
        }
    }

    static func isFromSubject(_ request: ThroughputRow.Request) -> Bool { request.direction == .fromSubject }
    /// True if the subject is the server, which sends notifications, receives writes, and accepts channels.
    static func isServedBySubject(_ request: ThroughputRow.Request) -> Bool {
        request.over.isSymmetric || request.over.comesFromServer == isFromSubject(request)
    }

    private static func clientLink(_ tester: Connection, _ subject: Connection?, _ request: ThroughputRow.Request) throws -> Connection {
        if isServedBySubject(request) { return tester }
        guard let subject else { throw MeasurementFailure("the subject cannot act as client") }
        return subject
    }

    // MARK: Steps

    private static func connect(_ bench: ThroughputBench, _ request: ThroughputRow.Request) async throws -> (Connection, Connection?) {
        var settings = ConnectSettings()
        let units = UInt16(clamping: request.interval.rawValue / 1_250)
        // At least 2 s, and many events even with the longest interval.
        let supervision = UInt16(clamping: min(3_200, max(200, request.interval.rawValue * 20 / 10_000)))
        settings.parameters = ConnectionParameterRequest(interval: units, supervisionTimeout: supervision)
        guard let subject = bench.subject else {
            settings.limit = bench.timeout
            return (try await bench.tester.host.connect(to: try await bench.foreignSubject(), settings), nil)
        }
        for _ in 0..<attempts {
            if let pair = try await attempt(bench.tester.host, subject.host, settings) { return pair }
        }
        throw MeasurementFailure("no connection in \(attempts) attempts")
    }

    /// Number of connection attempts; with packet loss, the request itself may be lost.
    private static let attempts = 8

    /// Returns nil if only the tester considers itself connected.
    private static func attempt(_ tester: Host, _ subject: Host, _ settings: ConnectSettings) async throws -> (Connection, Connection?)? {
        var advertising = AdvertisingSettings()
        (advertising.intervalMin, advertising.intervalMax) = (0x20, 0x20)
        let set = try await subject.advertise(advertising)
        do {
            let link = try await tester.connect(to: subject.address, settings)
            let timeout = Microseconds.milliseconds(100) + link.parameters.intervalTime * 8
            do {
                let incoming = try await set.connected(within: timeout)
                if link.isConnected, incoming.isConnected { return (link, incoming) }
            } catch HostError.environment(.timedOut) {
                try await set.stop()
            }
            await subject.loop.cleanUp(within: Host.procedureTimeOut) { try await link.disconnect() }
            return nil
        } catch {
            await subject.loop.cleanUp(within: Host.commandTimeOut) { try await set.stop() }
            throw error
        }
    }

    /// Pairs in the first row; later rows use the bond.
    private static func encrypt(_ tester: Connection, _ subject: Connection?) async throws {
        for link in [tester, subject] {
            guard let link, link.host.pairingSettings == nil else { continue }
            link.host.pairingSettings = PairingSettings()
        }
        try await tester.secure(to: .encrypted)
    }

    private static func choosePHY(_ tester: Connection, _ subject: Connection?, _ request: ThroughputRow.Request) async throws {
        guard request.phy != .le1M else { return }
        let coding: CodingPreference =
            switch request.phy {
            case .codedS2: .s2
            case .codedS8: .s8
            case .le1M, .le2M: .none
            }
        let phy = request.phy.phy
        for link in [tester, subject] {
            guard let link, link === tester || coding != .none else { continue }
            _ = try await link.updatePHY(tx: phy.flag, rx: phy.flag, coding: coding)
        }
    }

    /// Sets the data length of the sender only.
    private static func chooseDataLength(_ sender: Connection?, _ request: ThroughputRow.Request) async throws {
        guard request.dataLength > 27, let sender else { return }
        _ = try await sender.updateDataLength(
            txOctets: UInt16(clamping: request.dataLength), txTime: UInt16(clamping: request.phy.longestTime.rawValue))
    }

    private static func parameters(
        _ tester: Connection, _ subject: Connection?, _ request: ThroughputRow.Request, _ load: ChannelLoad?, mtu: Int
    ) -> LinkParameters {
        let isFromSubject = isFromSubject(request)
        let sender = isFromSubject ? subject : tester
        let length = tester.dataLength
        func coded(_ phy: PHY) -> LinkPHY {
            switch phy {
            case .le1M: .le1M
            case .le2M: .le2M
            case .leCoded: request.phy.isCoded ? request.phy : .codedS8
            }
        }
        var link = LinkParameters(
            phy: coded(isFromSubject ? tester.phys.rx : tester.phys.tx), returnPHY: coded(isFromSubject ? tester.phys.tx : tester.phys.rx),
            interval: tester.parameters.intervalTime,
            octets: Int(sender?.dataLength.txOctets ?? length.rxOctets),
            time: Microseconds(Int(sender?.dataLength.txTime ?? length.rxTime)),
            mtu: mtu)
        link.returnOctets = Int(sender?.dataLength.rxOctets ?? length.txOctets)
        link.isFromCentral = !isFromSubject
        link.isEncrypted = tester.security != .none
        if let sender { link.aclLength = sender.host.controller.leDataLength }
        link.channels = load
        return link
    }
}

// MARK: Channels

extension LinkSetup {
    /// The SDUs on a row's channels or Enhanced ATT bearers. The receiver of the data sets the limits.
    fileprivate static func load(
        _ bench: ThroughputBench, _ request: ThroughputRow.Request, _ channel: CreditBasedChannel?, _ bearer: EnhancedBearer?
    ) -> ChannelLoad? {
        guard let wanted = request.channel else { return nil }
        let isFromSubject = isFromSubject(request)
        if let bearer {
            var load = ChannelLoad(
                count: wanted.count, sdu: bearer.mtu, mps: isFromSubject ? wanted.mps : bearer.peerMPS, header: LinkParameters.attHeader)
            load.isInStep = false
            return load
        }
        guard let channel else { return nil }
        var load = ChannelLoad(
            count: wanted.count, sdu: isFromSubject ? request.mtu : min(request.mtu, channel.peerMTU),
            mps: isFromSubject ? wanted.mps : channel.peerMPS)
        load.isInStep = bench.subject != nil && wanted.credits == ChannelRequest.mostCredits
        return load
    }

    /// Link layer payloads of the responses on Enhanced ATT bearers, each in the exchange of a request's first packet.
    private var responses: [Int] {
        guard request.over == .request, let channels = parameters.channels else { return [] }
        let packets = parameters.fragments(valueOctets: parameters.valueOctets).count / channels.count
        return [LinkParameters.l2capHeader + ChannelLoad.lengthOctets + 1] + [Int](repeating: 0, count: packets - 1)
    }

    /// Opens the Enhanced ATT bearers of a row to the server, which has the row's settings if it runs in this process.
    fileprivate static func openBearers(
        _ bench: ThroughputBench, _ client: Connection, _ request: ThroughputRow.Request
    ) async throws -> [EnhancedBearer] {
        guard let count = request.bearers, let wanted = request.channel else { return [] }
        var settings = EnhancedBearerSettings()
        settings.channel = CreditBasedChannelSettings(
            mtu: UInt16(clamping: request.mtu), mps: UInt16(clamping: wanted.mps), initialCredits: UInt16(clamping: wanted.credits))
        (isServedBySubject(request) ? bench.subjectServer : bench.testerServer)?.offer(settings)
        let bearers = try await client.enableEnhancedBearers(count, settings)
        guard bearers.count == count else {
            throw MeasurementFailure(
                bearers.isEmpty
                    ? "the server has no Enhanced ATT bearers (Server Supported Features)"
                    : "the server accepts \(bearers.count) of \(count) Enhanced ATT bearers")
        }
        return bearers
    }

    /// Opens the channels of a row to the subject, whose service has the row's settings if it runs in this process.
    fileprivate static func openChannels(
        _ bench: ThroughputBench, _ tester: Connection, _ request: ThroughputRow.Request
    ) async throws -> ([CreditBasedChannel], FlowReceiver) {
        let (receiver, loop) = (FlowReceiver(), bench.loop)
        guard request.over == .channel, let wanted = request.channel else { return ([], receiver) }
        let settings = CreditBasedChannelSettings(
            mtu: UInt16(clamping: max(ChannelRequest.leastMPS, request.mtu)), mps: UInt16(clamping: wanted.mps),
            initialCredits: UInt16(clamping: wanted.credits))
        bench.subjectServer?.offer(settings)
        let spsm = try await spsm(bench, tester)
        var channels: [CreditBasedChannel] = []
        for flow in 0..<wanted.count {
            let channel = try await tester.openChannel(spsm, settings) {
                $0.onSDU = { receiver.receive($0, at: loop.now, flow: flow) }
            }
            channels.append(channel)
        }
        return (channels, receiver)
    }

    private static func spsm(_ bench: ThroughputBench, _ tester: Connection) async throws -> UInt16 {
        if case .channel(let spsm?) = bench.product?.measured { return spsm }
        guard let spsm = try await tester.gatt.publishedSPSMs().first else {
            throw MeasurementFailure("the subject publishes no SPSM (characteristic \(BluetoothUUID.publishedSPSM))")
        }
        return spsm
    }
}

extension ThroughputBench {
    /// Address of the first device that advertises the throughput service.
    func foreignSubject() async throws -> DeviceAddress {
        if let foreignAddress { return foreignAddress }
        if let product {
            let address = try await product.find(tester.host)
            foreignAddress = address
            return address
        }
        let found = Promise<DeviceAddress>(on: loop)
        let scan = try await tester.host.scan { report in
            guard let address = report.address, report.data.serviceUUIDs.contains(ThroughputService.service) else { return }
            found.fulfil(address)
        }
        do {
            let address = try await found.value(until: loop.now + timeout)
            try await scan.stop()
            foreignAddress = address
            return address
        } catch {
            await loop.cleanUp(within: Host.commandTimeOut) { try await scan.stop() }
            if error is CancellationError { throw error }
            throw MeasurementFailure("no device advertises the throughput service (docs/guide/throughput-service.md)", isEnvironment: true)
        }
    }
}
