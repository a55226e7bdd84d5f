import BBCases
import BBPackets
import BBTransportUSB

extension ActionContext {
    /// Returns the USB side of the step's device.
    func usb() throws(StepFailure) -> any USBPort {
        guard let port = bench.usb[side] else { throw StepFailure(.limitation, "the \(side.rawValue) is not a dongle at USB") }
        return port
    }
}

extension USBRequestResult {
    /// The result of a step that makes the request.
    ///
    /// - Throws: `ActionFinding` if the device does not answer; `StepFailure` for a failure of the machine or the bus.
    fileprivate func record() throws -> CaseRecord {
        switch self {
        case .done: return CaseRecord([("stalled", .number(0))])
        case .stalled: return CaseRecord([("stalled", .number(1))])
        case .unanswered: throw ActionFinding(text: "expected the request to be done or answered with a STALL: \(self)")
        case .failed(let text): throw StepFailure(.environment, "the USB request failed: \(text)")
        }
    }
}

/// Compares the descriptors of a dongle with a rule of HCI over USB.
enum CheckUSBDescriptors: NamedAction {
    static let name = "check USB descriptors"
    static let about = "compares the descriptors with a rule of HCI over USB; what the specification only recommends becomes a remark"
    private static let rules = USBFinding.Rule.allCases
    static let rule = TypedArgument.named(
        "rule", Dictionary(uniqueKeysWithValues: rules.enumerated().map { ($1.rawValue, $0) }), "the rule")
    static var arguments: [ActionArgument] { [rule.declaration] }

    /// - Throws: `ActionFinding`.
    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let rule = rules[try context(rule)]
        guard let finding = try context.usb().shape?.findings.first(where: { $0.rule == rule }) else { return CaseRecord() }
        guard finding.weight == .fault else {
            context.bench.remark("\(finding.text) (\(finding.section))")
            return CaseRecord()
        }
        throw ActionFinding(text: finding.text)
    }
}

/// Stops reading, so that packets are pending in the device.
enum HoldUSBInput: NamedAction {
    static let name = "hold USB input"
    static let about = "reads no packets from the dongle until a mode is selected, so that they are pending"
    static let arguments: [ActionArgument] = []

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try await context.usb().holdInput()
        return CaseRecord()
    }
}

/// Selects a mode of HCI over USB. Core Vol 4, Part B, 7.
enum SelectUSBMode: NamedAction {
    static let name = "select USB mode"
    static let about = "selects the alternate setting of the first interface, and reads its packets again"
    static let mode = TypedArgument.named("mode", ["legacy": 0, "serialised": 1], "the mode")
    static var arguments: [ActionArgument] { [mode.declaration] }
    /// 1 if the device stalls the request.
    static let results = ["stalled"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        guard let result = try await context.usb().selectMode(serialised: try context(mode) == 1) else {
            throw StepFailure(.limitation, "the \(context.side.rawValue) does not offer Bulk Serialization mode")
        }
        return try result.record()
    }
}

/// Selects a setting of the voice interface. Core Vol 4, Part B, 2.1.1.
enum SelectVoiceSetting: NamedAction {
    static let name = "select voice setting"
    static let about = "selects an alternate setting of the second interface, for voice"
    static let setting = TypedArgument.number("setting", 0...6, "bAlternateSetting")
    static var arguments: [ActionArgument] { [setting.declaration] }
    static let results = ["stalled"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        guard let result = try await context.usb().selectVoice(UInt8(clamping: try context(setting))) else {
            throw StepFailure(.limitation, "the \(context.side.rawValue) has no voice interface")
        }
        return try result.record()
    }
}

/// Sets how the commands that follow are requested in the legacy mode. Core Vol 4, Part B, 2.2.
enum AddressUSBCommands: NamedAction {
    static let name = "address USB commands"
    static let about = "sets recipient and bRequest of the class requests that carry the commands of the following steps"
    static let recipient = TypedArgument.named("to", ["device": 0, "interface": 1], default: 0, "the recipient in bmRequestType")
    static let request = TypedArgument.number("request", 0...255, default: 0, "bRequest")
    static let value = TypedArgument.number("value", 0...0xFFFF, default: 0, "wValue")
    static var arguments: [ActionArgument] { [recipient.declaration, request.declaration, value.declaration] }

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try context.usb().addressing = USBCommandAddress(
            toInterface: try context(recipient) == 1, request: UInt8(clamping: try context(request)),
            value: UInt16(clamping: try context(value)))
        return CaseRecord()
    }
}

/// Requests a command on the control endpoint whatever the mode is.
enum SendOnControlEndpoint: NamedAction {
    static let name = "send on control endpoint"
    static let about = "requests HCI_Read_BD_ADDR on the control endpoint, in any mode"
    static let arguments: [ActionArgument] = []
    static let results = ["stalled"]
    static let commands = [HCICommands.ReadBDADDR.name]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        try await context.usb().command(HCIPacket(command: HCICommands.ReadBDADDR()).bytes).record()
    }
}

/// A remark about a transfer that was complete with the next packet only. Core Vol 4, Part B, 2.1.1.
enum RemarkOpenTransfer: NamedAction {
    static let name = "remark open transfer"
    static let about = "remarks that a read which a full USB packet ended was complete with the next packet only"
    static let arguments: [ActionArgument] = []

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        context.bench.remark(
            "a read goes on after data that fills its last USB packet, and brings it with the next packet (Core Vol 4, Part B, 2.1.1)")
        return CaseRecord()
    }
}

/// A remark about a class request that is not taken as a command. Core Vol 4, Part B, 2.2.
enum RemarkIgnoredRequest: NamedAction {
    static let name = "remark ignored request"
    static let about = "remarks that a class request to the control endpoint was not taken as a command"
    static let arguments: [ActionArgument] = []

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        context.bench.remark(
            "a class request whose bRequest or wValue is not 0 is not taken as a command (Core Vol 4, Part B, 2.2)")
        return CaseRecord()
    }
}

/// Counts the transfers of Bulk Serialization mode that are not one packet each. Core Vol 4, Part B, 2.1.1 and 7.
enum CountUSBTransfers: NamedAction {
    static let name = "count USB transfers"
    static let about =
        "counts the transfers in the serialised mode that were not a packet, held several, or a part of one, in the whole case"
    static let arguments: [ActionArgument] = []
    static let results = ["faults", "joined", "split"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (now, before) = (try context.usb().framing, context.bench.framingAtStart[context.side] ?? USBFraming())
        return CaseRecord([
            ("faults", .number(now.faults - before.faults)), ("joined", .number(now.joined - before.joined)),
            ("split", .number(now.split - before.split)),
        ])
    }
}
