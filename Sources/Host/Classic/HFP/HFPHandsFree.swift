import BBPackets

/// The hands-free unit: establishes and maintains the service level connection. HFP 1.8, 4.2.
public struct HFPHandsFree: Sendable {
    /// Timeout of a response; the profile does not specify one.
    public static let responseTimeOut = Microseconds.seconds(10)
    static let queueLimit = 32

    /// Steps of the service level connection, named by the awaited response. HFP 1.8, 4.2.1.
    private enum Step: Hashable, CaseIterable {
        case supportedFeatures, availableCodecs, indicatorNames, indicatorValues, indicatorReporting, callHold
        case ownIndicators, indicatorsOfGateway, enabledIndicators
    }

    private enum State {
        case idle
        case connecting(Step)
        case connected
        case failed
    }

    /// The command that awaits a response.
    private enum Awaited {
        case step(Step)
        case codec(HFPCodec)
        case user(String)
    }

    public let features: HFPHandsFreeFeatures
    public let codecs: [HFPCodec]
    /// HF indicators: 1 enhanced safety, 2 battery level. Assigned Numbers, 6.13.
    public let indicators: [Int]
    public private(set) var gatewayFeatures: HFPAudioGatewayFeatures = []
    /// The gateway's indicators by number, starting with 1.
    public private(set) var gatewayIndicators: [(name: String, value: Int)] = []
    public private(set) var codec = HFPCodec.cvsd
    private var state = State.idle
    private var awaited: Awaited?
    private var waiting: [(Awaited, String)] = []
    private var reader = ATLineReader()
    /// Time at which to call `expire`.
    public private(set) var deadline: Microseconds?

    public init(features: HFPHandsFreeFeatures, codecs: [HFPCodec] = [.cvsd, .mSBC], indicators: [Int] = [1, 2]) {
        (self.features, self.codecs, self.indicators) = (features, codecs, indicators)
    }

    /// Codec of an audio connection that starts now. The gateway may open it as soon as its codec selection is confirmed. HFP 1.8, 4.11.3.
    var codecOfAudio: HFPCodec { if case .codec(let codec) = awaited { codec } else { codec } }

    public var isConnected: Bool { if case .connected = state { true } else { false } }

    // MARK: Calls of the user

    /// The RFCOMM connection is open.
    public mutating func start(at now: Microseconds) -> [HFPAction] {
        guard case .idle = state else { return [] }
        return begin(.supportedFeatures, at: now)
    }

    /// Sends a command after earlier ones have been answered.
    public mutating func send(_ command: String, at now: Microseconds) -> [HFPAction] {
        guard isConnected, waiting.count < Self.queueLimit else { return [] }
        return submit(.user(command), command, at: now)
    }

    /// Requests a synchronous link, whose codec the gateway then selects. HFP 1.8, 4.11.2.
    public mutating func requestAudio(at now: Microseconds) -> [HFPAction] { send("AT+BCC", at: now) }

    public mutating func expire(at now: Microseconds) -> [HFPAction] {
        guard let due = deadline, due <= now else { return [] }
        deadline = nil
        switch awaited {
        case .step(let step): return fail(.timedOut(text(of: step)))
        case .user(let command):
            awaited = nil
            return [.finished(command, isAccepted: false)] + next(at: now)
        case .codec, nil:
            awaited = nil
            return next(at: now)
        }
    }

    private mutating func begin(_ step: Step, at now: Microseconds) -> [HFPAction] {
        state = .connecting(step)
        return submit(.step(step), text(of: step), at: now)
    }

    /// Sends one command at a time. ITU-T V.250, 5.6.1.
    private mutating func submit(_ what: Awaited, _ command: String, at now: Microseconds) -> [HFPAction] {
        guard awaited == nil else {
            waiting.append((what, command))
            return []
        }
        awaited = what
        deadline = now + Self.responseTimeOut
        return [.send([UInt8]((command + "\r").utf8))]
    }

    private mutating func next(at now: Microseconds) -> [HFPAction] {
        guard awaited == nil, !waiting.isEmpty else { return [] }
        let (what, command) = waiting.removeFirst()
        return submit(what, command, at: now)
    }

    private func text(of step: Step) -> String {
        switch step {
        case .supportedFeatures: "AT+BRSF=\(features.rawValue)"
        case .availableCodecs: "AT+BAC=" + codecs.map { "\($0.rawValue)" }.joined(separator: ",")
        case .indicatorNames: "AT+CIND=?"
        case .indicatorValues: "AT+CIND?"
        case .indicatorReporting: "AT+CMER=3,0,0,1"
        case .callHold: "AT+CHLD=?"
        case .ownIndicators: "AT+BIND=" + indicators.map { "\($0)" }.joined(separator: ",")
        case .indicatorsOfGateway: "AT+BIND=?"
        case .enabledIndicators: "AT+BIND?"
        }
    }

    private func isNeeded(_ step: Step) -> Bool {
        switch step {
        case .supportedFeatures, .indicatorNames, .indicatorValues, .indicatorReporting: true
        case .availableCodecs: features.contains(.codecNegotiation) && gatewayFeatures.contains(.codecNegotiation)
        case .callHold: features.contains(.threeWayCalling) && gatewayFeatures.contains(.threeWayCalling)
        case .ownIndicators, .indicatorsOfGateway, .enabledIndicators:
            features.contains(.indicators) && gatewayFeatures.contains(.indicators)
        }
    }

    // MARK: Results of the gateway

    public mutating func receive(_ octets: [UInt8], at now: Microseconds) -> [HFPAction] {
        reader.receive(octets).flatMap { line -> [HFPAction] in
            if case .failed = state { return [] }
            guard case .text(let text) = line else { return [] }
            return received(ATResult(text), at: now)
        }
    }

    private mutating func received(_ result: ATResult, at now: Microseconds) -> [HFPAction] {
        if result.isFinal, let ended = awaited {
            awaited = nil
            deadline = nil
            return finished(ended, result, at: now) + next(at: now)
        }
        switch result.name {
        case "+BRSF": gatewayFeatures = HFPAudioGatewayFeatures(rawValue: result.numbers.first.flatMap { UInt32(exactly: $0) } ?? 0)
        case "+CIND": indicatorsKnown(result)
        case "+CIEV":
            let numbers = result.numbers
            guard numbers.count == 2, numbers[0] > 0, gatewayIndicators.indices.contains(numbers[0] - 1) else { return [] }
            gatewayIndicators[numbers[0] - 1].value = numbers[1]
            return [.indicator(gatewayIndicators[numbers[0] - 1].name, numbers[1])]
        case "+BCS": return codecChosen(result, at: now)
        default: return isConnected ? [.result(result)] : []
        }
        return []
    }

    /// Parses `("service",(0,1)),("call",(0,1))`, or the values.
    private mutating func indicatorsKnown(_ result: ATResult) {
        guard case .step(let step) = awaited else { return }
        if step == .indicatorNames {
            gatewayIndicators = result.parameters.prefix(20).map {
                let name = ATParameters.split($0.withoutParentheses).first ?? ""
                return (name, 0)
            }
        } else if step == .indicatorValues {
            for (index, value) in result.numbers.enumerated() where gatewayIndicators.indices.contains(index) {
                gatewayIndicators[index].value = value
            }
        }
    }

    private mutating func finished(_ what: Awaited, _ result: ATResult, at now: Microseconds) -> [HFPAction] {
        switch what {
        case .user(let command): return [.finished(command, isAccepted: !result.isError)]
        case .codec(let codec):
            guard !result.isError else { return [] }
            self.codec = codec
            return [.codec(codec)]
        case .step(let step):
            guard !result.isError else { return fail(.refused(text(of: step))) }
            if step == .indicatorNames, gatewayIndicators.isEmpty { return fail(.malformed(text(of: step))) }
            let rest = Step.allCases.drop { $0 != step }.dropFirst()
            if let next = rest.first(where: { isNeeded($0) }) { return begin(next, at: now) }
            state = .connected
            return [.connected]
        }
    }

    /// Confirms the gateway's codec selection, or responds with the available codecs. HFP 1.8, 4.11.3.
    private mutating func codecChosen(_ result: ATResult, at now: Microseconds) -> [HFPAction] {
        guard isConnected, let number = result.numbers.first.flatMap({ UInt8(exactly: $0) }), waiting.count < Self.queueLimit else {
            return []
        }
        let codec = HFPCodec(number)
        guard codecs.contains(codec) else {
            let available = text(of: .availableCodecs)
            return submit(.user(available), available, at: now)
        }
        return submit(.codec(codec), "AT+BCS=\(number)", at: now)
    }

    private mutating func fail(_ failure: HFPFailure) -> [HFPAction] {
        state = .failed
        awaited = nil
        waiting = []
        deadline = nil
        return [.failed(failure)]
    }
}
