import BBCases
import BBHost
import BBPackets
import BBTiming

/// Enables page scan and inquiry scan. Core Vol 3, Part C, 4.1 and 4.2.
enum BeConnectable: NamedAction {
    static let name = "be connectable"
    static let about = "the host answers pages and accepts connections over BR/EDR"
    static let discoverable = TypedArgument.number("discoverable", 0...1, default: 0, "1 to answer inquiries")
    static var arguments: [ActionArgument] { [discoverable.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try await context.driver().host.setScan(isDiscoverable: try context(discoverable) == 1, isConnectable: true)
        return CaseRecord()
    }
}

/// The arguments of an echo channel's settings.
enum EchoArguments {
    static let psm = TypedArgument.number("psm", 1...0xFEFF, default: 0x1001, "of the service")
    static let mode = TypedArgument.number("mode", 0...4, default: 0, "0 basic, 3 enhanced retransmission, 4 streaming")
    static let mandatory = TypedArgument.number("mandatory", 0...1, default: 0, "1 to refuse another mode")
    static let mtu = TypedArgument.number("mtu", 48...0xFFFF, default: 672, "longest accepted SDU, octets")
    static let window = TypedArgument.number("window", 1...0x3FFF, default: 63, "TxWindow; more than 63 needs the extended window")
    static let maxTransmit = TypedArgument.number("maxTransmit", 0...255, default: 20, "MaxTransmit")
    static let mps = TypedArgument.number("mps", 1...0xFFFF, default: 1_010, "longest accepted I-frame payload, octets")
    static let check = TypedArgument.number("check", 0...2, default: 1, "0 to propose no frame check sequence, 2 to name it")

    static var all: [ActionArgument] { [psm, mode, mandatory, mtu, window, maxTransmit, mps, check].map(\.declaration) }

    static func service(_ context: ActionContext) throws -> EchoService {
        var service = EchoService(psm: UInt16(clamping: try context(psm)))
        service.mode = UInt8(clamping: try context(mode))
        service.isModeMandatory = try context(mandatory) == 1
        service.mtu = UInt16(clamping: try context(mtu))
        service.window = UInt16(clamping: try context(window))
        service.maxTransmit = UInt8(clamping: try context(maxTransmit))
        service.mps = UInt16(clamping: try context(mps))
        service.usesFrameCheckSequence = try context(check) > 0
        service.namesFrameCheckSequence = try context(check) == 2
        return service
    }
}

enum OfferEcho: NamedAction {
    static let name = "offer echo"
    static let about = "the host serves a BR/EDR channel that returns each SDU"
    static var arguments: [ActionArgument] { EchoArguments.all }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try context.driver().host.offer(try EchoArguments.service(context))
        return CaseRecord()
    }
}

enum OpenEcho: NamedAction {
    static let name = "open echo"
    static let about = "the host opens a BR/EDR channel to a service and returns each SDU"
    static var arguments: [ActionArgument] { [TypedArgument.connection.declaration] + EchoArguments.all }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try await context.classicLink().open(try EchoArguments.service(context))
        return CaseRecord()
    }
}

/// The arguments of credit-based echo channels.
enum EnhancedEchoArguments {
    static let spsm = TypedArgument.number("spsm", 1...0xFF, default: 0x80, "of the service")
    static let mtu = TypedArgument.number("mtu", 64...0xFFFF, default: 200, "longest accepted SDU, octets")
    static let mps = TypedArgument.number("mps", 64...0xFFFD, default: 64, "longest accepted K-frame payload, octets")
    static let credits = TypedArgument.number("credits", 1...0xFFFF, default: 5, "K-frames that the peer may send at first")
    static var all: [ActionArgument] { [spsm, mtu, mps, credits].map(\.declaration) }

    static func settings(_ context: ActionContext) throws -> CreditBasedChannelSettings {
        CreditBasedChannelSettings(
            mtu: UInt16(clamping: try context(mtu)), mps: UInt16(clamping: try context(mps)),
            initialCredits: UInt16(clamping: try context(credits)))
    }

    /// Lets a channel return each SDU.
    static func echo(_ channel: CreditBasedChannel, on loop: RunLoop) {
        channel.onReceive = { [unowned channel] sdu in _ = loop.start { [channel] in try? await channel.send(sdu) } }
    }
}

/// Serves credit-based channels: over BR/EDR in enhanced credit-based flow control mode, over LE in both modes. Core Vol 3, Part A, 4.22
/// and 4.25.
enum OfferEnhancedEcho: NamedAction {
    static let name = "offer enhanced echo"
    static let about = "the host serves credit-based channels that return each SDU"
    static let transport = TypedArgument.named("transport", ["bredr": 0, "le": 1], default: 0, "of the channels")
    static let keySize = TypedArgument.number("keySize", 7...16, default: 7, "the shortest encryption key that the service accepts, octets")
    static var arguments: [ActionArgument] { EnhancedEchoArguments.all + [transport.declaration, keySize.declaration] }
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (host, spsm) = (try context.driver().host, UInt16(clamping: try context(EnhancedEchoArguments.spsm)))
        var settings = try EnhancedEchoArguments.settings(context)
        settings.minimumKeySize = try context(keySize)
        host.listen(spsm, settings, over: try context(transport) == 0 ? .brEDR : .le) { channel, _ in
            EnhancedEchoArguments.echo(channel, on: host.loop)
        }
        return CaseRecord()
    }
}

/// Opens credit-based channels on a connection of either transport. Core Vol 3, Part A, 4.22 and 4.25.
enum OpenEnhancedEcho: NamedAction {
    static let name = "open enhanced echo"
    static let about = "the host opens credit-based channels to a service and returns each SDU"
    static let count = TypedArgument.number("count", 1...5, default: 1, "channels in the request")
    static let enhanced = TypedArgument.flag("enhanced", default: true, "0 for LE credit-based flow control mode")
    static var arguments: [ActionArgument] {
        [TypedArgument.connection.declaration] + EnhancedEchoArguments.all + [count.declaration, enhanced.declaration]
    }
    /// The number of channels that the peer has accepted.
    static let results = ["channels"]
    static let needsHost = true

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (loop, settings) = (context.bench.loop, try EnhancedEchoArguments.settings(context))
        let (spsm, count) = (UInt16(clamping: try context(EnhancedEchoArguments.spsm)), try context(count))
        let opened = { (channel: CreditBasedChannel) in EnhancedEchoArguments.echo(channel, on: loop) }
        guard let link = try context.driver().links[try context(.connection).rawValue] else {
            let channels = try await context.classicLink().openChannels(spsm, count: count, settings, opened: opened)
            return CaseRecord([("channels", .number(channels.count))])
        }
        if try context(enhanced) {
            return CaseRecord([("channels", .number(try await link.openChannels(spsm, count: count, settings, opened: opened).count))])
        }
        _ = try await link.openChannel(spsm, settings, opened: opened)
        return CaseRecord([("channels", .number(1))])
    }
}

/// Answers requests for L2CAP features on an HCI without a host, so that the peer can use the features. Core Vol 3, Part A, 4.12.
enum TellFeatures: NamedAction {
    static let name = "tell L2CAP features"
    static let about = "answers each L2CAP_INFORMATION_REQ for extended features with this mask"
    static let features = TypedArgument.number(
        "features", 0...0xFFFF_FFFF, default: 0x38, "the mask: 8 enhanced retransmission, 16 streaming, 32 FCS option")
    static var arguments: [ActionArgument] { [features.declaration] }

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try context.end().extendedFeatures = UInt32(clamping: try context(features))
        return CaseRecord()
    }
}
