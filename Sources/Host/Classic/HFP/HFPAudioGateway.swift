import BBPackets

/// The audio gateway: responds to commands of a hands-free unit. HFP 1.8, 4.2.
public struct HFPAudioGateway: Sendable {
    public static let responseTimeOut = Microseconds.seconds(10)

    public struct Indicator: Sendable, Hashable {
        public var name: String
        public var range: ClosedRange<Int>
        public var value: Int

        public init(_ name: String, _ range: ClosedRange<Int>, _ value: Int = 0) {
            (self.name, self.range, self.value) = (name, range, value)
        }

        /// Mandatory indicators of a gateway. HFP 1.8, 4.35.2.
        public static let standard = [
            Indicator("service", 0...1, 1), Indicator("call", 0...1), Indicator("callsetup", 0...3), Indicator("callheld", 0...2),
            Indicator("signal", 0...5, 5), Indicator("roam", 0...1), Indicator("battchg", 0...5, 5),
        ]
    }

    public let features: HFPAudioGatewayFeatures
    public private(set) var indicators: [Indicator]
    public let codecs: [HFPCodec]
    /// Supported HF indicators.
    public let handsFreeIndicators: [Int]
    public private(set) var handsFreeFeatures: HFPHandsFreeFeatures?
    public private(set) var handsFreeCodecs: [HFPCodec] = [.cvsd]
    public private(set) var isConnected = false
    public private(set) var codec = HFPCodec.cvsd
    private var isReporting = false
    private var knowsCallHold = false
    private var knowsIndicators = false
    /// Codec of the pending +BCS.
    private var offered: HFPCodec?
    private var reader = ATLineReader()
    /// Time at which to call `expire`.
    public private(set) var deadline: Microseconds?

    public init(
        features: HFPAudioGatewayFeatures, indicators: [Indicator] = Indicator.standard, codecs: [HFPCodec] = [.cvsd, .mSBC],
        handsFreeIndicators: [Int] = [1, 2]
    ) {
        (self.features, self.indicators, self.codecs) = (features, indicators, codecs)
        self.handsFreeIndicators = handsFreeIndicators
    }

    // MARK: Calls of the user

    /// The RFCOMM connection is open; the hands-free unit must establish the service level connection before the timeout. HFP 1.8, 4.2.1.
    public mutating func start(at now: Microseconds) { deadline = now + Self.responseTimeOut }

    /// Sets an indicator and notifies the hands-free unit if it has enabled that. HFP 1.8, 4.35.4.
    public mutating func set(_ name: String, to value: Int) -> [HFPAction] {
        guard let index = indicators.firstIndex(where: { $0.name == name }), indicators[index].range.contains(value),
            indicators[index].value != value
        else { return [] }
        indicators[index].value = value
        return isReporting ? [result("+CIEV: \(index + 1),\(value)")] : []
    }

    /// Selects the best codec that both devices support, before a synchronous link. HFP 1.8, 4.11.3.
    public mutating func selectCodec(at now: Microseconds) -> [HFPAction] {
        guard isConnected else { return [] }
        let isNegotiated = features.contains(.codecNegotiation) && handsFreeFeatures?.contains(.codecNegotiation) == true
        guard isNegotiated else { return [.codec(.cvsd)] }
        let best = codecs.filter(handsFreeCodecs.contains).max { $0.rawValue < $1.rawValue } ?? .cvsd
        offered = best
        deadline = now + Self.responseTimeOut
        return [result("+BCS: \(best.rawValue)")]
    }

    /// Sends any result, for instance `RING`.
    public func send(_ text: String) -> [HFPAction] { [result(text)] }

    public mutating func expire(at now: Microseconds) -> [HFPAction] {
        guard let due = deadline, due <= now else { return [] }
        deadline = nil
        offered = nil
        return [.failed(.timedOut(isConnected ? "+BCS" : "the service level connection"))]
    }

    private func result(_ text: String) -> HFPAction { .send([UInt8]("\r\n\(text)\r\n".utf8)) }

    // MARK: Commands of the hands-free unit

    public mutating func receive(_ octets: [UInt8], at now: Microseconds) -> [HFPAction] {
        reader.receive(octets).flatMap { line -> [HFPAction] in
            guard case .text(let text) = line, let command = ATCommand(text) else { return [result("ERROR")] }
            return received(command, at: now)
        }
    }

    private mutating func received(_ command: ATCommand, at now: Microseconds) -> [HFPAction] {
        switch (command.name, command.form) {
        case ("+BRSF", .set): return supportedFeatures(command)
        case ("+BAC", .set): return availableCodecs(command, at: now)
        case ("+CIND", .test):
            let list = indicators.map { "(\"\($0.name)\",(\(Self.text(of: $0.range))))" }.joined(separator: ",")
            return answer("+CIND: " + list)
        case ("+CIND", .read): return answer("+CIND: " + indicators.map { "\($0.value)" }.joined(separator: ","))
        case ("+CMER", .set): return reporting(command)
        case ("+CHLD", .test):
            guard features.contains(.threeWayCalling) else { return [result("ERROR")] }
            knowsCallHold = true
            return answer("+CHLD: (0,1,2,3)") + connectedIfComplete()
        case ("+BIND", _): return bind(command)
        case ("+BCS", .set): return codecConfirmed(command)
        case ("+BCC", .execute):
            guard features.contains(.codecNegotiation), isConnected else { return [result("ERROR")] }
            return [result("OK")] + selectCodec(at: now)
        default: return Self.others.contains(command.name) ? [result("OK"), .command(command)] : [result("ERROR")]
        }
    }

    /// `0,1` for two values, `0-5` for more.
    private static func text(of range: ClosedRange<Int>) -> String {
        range.count == 2 ? "\(range.lowerBound),\(range.upperBound)" : "\(range.lowerBound)-\(range.upperBound)"
    }

    /// Commands passed to the user. HFP 1.8, 4.34.
    private static let others: Set<String> = [
        "A", "D", "+CHUP", "+CHLD", "+CLCC", "+CLIP", "+CCWA", "+CMEE", "+CNUM", "+COPS", "+NREC", "+VGS", "+VGM", "+VTS", "+BIA", "+BIEV",
        "+BLDN", "+BVRA", "+BTRH", "+BINP",
    ]

    private func answer(_ text: String) -> [HFPAction] { [result(text), result("OK")] }

    private mutating func supportedFeatures(_ command: ATCommand) -> [HFPAction] {
        guard let number = command.numbers?.first, command.numbers?.count == 1, let bits = UInt32(exactly: number) else {
            return [result("ERROR")]
        }
        handsFreeFeatures = HFPHandsFreeFeatures(rawValue: bits)
        return answer("+BRSF: \(features.rawValue)")
    }

    /// Available codecs of the unit; CVSD is mandatory. HFP 1.8, 4.34.2.
    private mutating func availableCodecs(_ command: ATCommand, at now: Microseconds) -> [HFPAction] {
        guard features.contains(.codecNegotiation), let numbers = command.numbers, !numbers.isEmpty else { return [result("ERROR")] }
        handsFreeCodecs = numbers.compactMap { UInt8(exactly: $0).map { HFPCodec($0) } }
        // A unit that lacks the offered codec responds with its list, and the codec is selected again.
        guard let offer = offered, !handsFreeCodecs.contains(offer) else { return [result("OK")] }
        return [result("OK")] + selectCodec(at: now)
    }

    /// Event reporting; omitted parameters have default values. HFP 1.8, 4.2.1.3; ITU-T V.250, 5.4.2.
    private mutating func reporting(_ command: ATCommand) -> [HFPAction] {
        guard case .set(let parameters) = command.form, parameters.count >= 4, parameters[0] == "3", ["0", "1"].contains(parameters[3])
        else { return [result("ERROR")] }
        isReporting = parameters[3] == "1"
        return [result("OK")] + connectedIfComplete()
    }

    private mutating func bind(_ command: ATCommand) -> [HFPAction] {
        guard features.contains(.indicators) else { return [result("ERROR")] }
        switch command.form {
        case .set: return [result(command.numbers == nil ? "ERROR" : "OK")]
        case .test: return answer("+BIND: (" + handsFreeIndicators.map { "\($0)" }.joined(separator: ",") + ")")
        case .read:
            knowsIndicators = true
            return handsFreeIndicators.map { result("+BIND: \($0),1") } + [result("OK")] + connectedIfComplete()
        case .execute: return [result("ERROR")]
        }
    }

    private mutating func codecConfirmed(_ command: ATCommand) -> [HFPAction] {
        guard let offer = offered, command.numbers == [Int(offer.rawValue)] else { return [result("ERROR")] }
        offered = nil
        deadline = nil
        codec = offer
        return [result("OK"), .codec(offer)]
    }

    /// The last step of the procedure depends on both devices' features. HFP 1.8, 4.2.1.6.
    private mutating func connectedIfComplete() -> [HFPAction] {
        guard !isConnected, isReporting, let other = handsFreeFeatures else { return [] }
        let needsCallHold = features.contains(.threeWayCalling) && other.contains(.threeWayCalling)
        let needsIndicators = features.contains(.indicators) && other.contains(.indicators)
        guard !needsCallHold || knowsCallHold, !needsIndicators || knowsIndicators else { return [] }
        isConnected = true
        deadline = nil
        return [.connected]
    }
}
