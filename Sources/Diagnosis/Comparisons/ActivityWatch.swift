import BBCases
import BBPackets
import BBTraffic

/// Compares the commands that a controller disallows with what it does at that time. Core Vol 4, Part E, 7.8.
struct ActivityWatch {
    private enum Activity: Hashable {
        case advertising, scanning, initiating
        case advertisingSet(Int)

        var text: String {
            switch self {
            case .advertising: "advertising"
            case .scanning: "scanning"
            case .initiating: "an attempt to connect"
            case .advertisingSet(let handle): "advertising set \(Hex.number(handle, bits: 8))"
            }
        }
    }

    /// The refusals of a command since it last succeeded.
    private struct Refusals {
        var first: Moment
        var count = 0
        var result = ""
        var cause: (activity: Activity, since: Moment)?
    }

    private var active: [Activity: Moment] = [:]
    private var sent: [Int: (pdu: DecodedLayer, at: Moment)] = [:]
    private var refusals: [Int: Refusals] = [:]

    private static let advertises: [PDUID] = [
        HCICommands.LESetAdvertisingParameters.id, HCICommands.LESetAdvertisingEnable.id, HCICommands.LESetExtendedAdvertisingEnable.id,
        HCICommands.LESetExtendedAdvertisingParameters.id, HCICommands.LESetExtendedAdvertisingParametersV2.id,
        HCICommands.LESetAdvertisingSetRandomAddress.id, HCICommands.LERemoveAdvertisingSet.id, HCICommands.LEClearAdvertisingSets.id,
    ]
    private static let scans: [PDUID] = [
        HCICommands.LESetScanParameters.id, HCICommands.LESetExtendedScanParameters.id, HCICommands.LESetScanEnable.id,
        HCICommands.LESetExtendedScanEnable.id,
    ]
    private static let resolves: [PDUID] = [
        HCICommands.LEAddDeviceToResolvingList.id, HCICommands.LERemoveDeviceFromResolvingList.id, HCICommands.LEClearResolvingList.id,
        HCICommands.LESetAddressResolutionEnable.id,
    ]
    private static let filters: [PDUID] = [
        HCICommands.LEClearFilterAcceptList.id, HCICommands.LEAddDeviceToFilterAcceptList.id,
        HCICommands.LERemoveDeviceFromFilterAcceptList.id,
    ]
    private static let connects: [PDUID] = [
        HCICommands.LECreateConnection.id, HCICommands.LEExtendedCreateConnection.id, HCICommands.LEExtendedCreateConnectionV2.id,
    ]
    private static let most = 512
    /// Other rules are about what does not begin.
    private static let begins = Set(
        connects + [
            HCICommands.AcceptConnectionRequest.id, HCICommands.LESetAdvertisingEnable.id, HCICommands.LESetExtendedAdvertisingEnable.id,
            HCICommands.LESetScanEnable.id,
            HCICommands.LESetExtendedScanEnable.id,
        ])
    private static let connected: Set<PDUID> = [
        HCIEvents.LEConnectionComplete.id, HCIEvents.LEEnhancedConnectionComplete.id, HCIEvents.LEEnhancedConnectionCompleteV2.id,
    ]
    /// Refusals in turn after which a host has not got what it wants, with and without a reason in the capture.
    private static let (often, oftenForNoReason) = (2, 3)
    private static let success = 0
    /// Command_Disallowed, Unknown_Advertising_Identifier, Limit_Reached and Memory_Capacity_Exceeded.
    private static let disallowed = 0x0C
    private static let refusals: Set<Int> = [disallowed, 0x42, 0x43, 0x07]
    private static let (peripheral, advertisingTimeout) = (1, 0x3C)

    mutating func note(_ pdu: DecodedLayer, at now: Moment) -> [Observation] {
        guard let id = pdu.id else { return [] }
        if pdu.layer == .hciCommands {
            if sent.count < Self.most || sent[pdu.code] != nil { sent[pdu.code] = (pdu, now) }
            return []
        }
        if let command = pdu.command { return answered(command, pdu, now) }
        if Self.connected.contains(id) {
            active[.initiating] = nil
            let isPeripheral = pdu.fields.named("Role")?.int == Self.peripheral
            if isPeripheral || pdu.fields.named("Status")?.int == Self.advertisingTimeout { active[.advertising] = nil }
        } else if id == HCIEvents.LEScanTimeout.id {
            active[.scanning] = nil
        } else if id == HCIEvents.LEAdvertisingSetTerminated.id, let handle = pdu.fields.named("Advertising_Handle")?.int {
            active[.advertisingSet(handle)] = nil
        }
        return []
    }

    private mutating func answered(_ declaration: PDUDeclaration, _ event: DecodedLayer, _ now: Moment) -> [Observation] {
        guard let (command, at) = sent.removeValue(forKey: declaration.code),
            let status = event.fields.named("Status") ?? event.returns.named("Status"), let value = status.int
        else { return [] }
        if value == Self.success {
            refusals[declaration.code] = nil
            apply(command, at)
            return []
        }
        guard Self.refusals.contains(value), let id = command.id, !Self.begins.contains(id) else { return [] }
        let cause = value == Self.disallowed ? cause(of: id, command) : nil
        // A controller may exclude scanning or advertising as long as it has a connection.
        guard cause != nil || !Self.scans.contains(id) && !Self.advertises.contains(id) else { return [] }
        var refused = refusals[declaration.code] ?? Refusals(first: at)
        refused.count += 1
        (refused.result, refused.cause) = (Refusal.name(of: value, status.declaration) ?? Hex.number(value, bits: 8), cause)
        refusals[declaration.code] = refused
        let often = cause == nil ? Self.oftenForNoReason : Self.often
        guard refused.count >= often else { return [] }
        let last = Self.observation(declaration.name, refused, at)
        return refused.count == often ? [Self.observation(declaration.name, refused, refused.first), last] : [last]
    }

    /// The commands that were refused once and never succeeded.
    mutating func finish() -> [Observation] {
        defer { refusals = [:] }
        return refusals.filter { $0.value.count < Self.often && $0.value.cause != nil }.sorted { $0.key < $1.key }.compactMap {
            code, refused in
            PDUCatalog.declaration(layer: .hciCommands, code: code).map { Self.observation($0.name, refused, refused.first) }
        }
    }

    private static func observation(_ name: String, _ refused: Refusals, _ at: Moment) -> Observation {
        Observation(
            .commandAgainstState,
            [
                ("Command", .text(name)), ("Result", .text(refused.result)), ("Activity", .text(refused.cause?.activity.text ?? "")),
                ("Since", .number(refused.cause?.since.packet ?? 0)), ("Times", .number(refused.count)),
            ], packet: at.packet)
    }

    /// The activity that excludes a command, with the command that began it.
    private func cause(of id: PDUID, _ command: DecodedLayer) -> (Activity, Moment)? {
        func isExcluding(_ activity: Activity) -> Bool {
            if Self.resolves.contains(id) || Self.filters.contains(id) { return true }
            switch activity {
            case .advertising: return id == HCICommands.LESetRandomAddress.id || id == HCICommands.LESetAdvertisingParameters.id
            case .scanning: return id == HCICommands.LESetRandomAddress.id || Self.scans.contains(id)
            case .initiating: return id == HCICommands.LESetRandomAddress.id
            case .advertisingSet(let handle):
                guard Self.advertises.contains(id), id != HCICommands.LESetAdvertisingParameters.id else { return false }
                return command.fields.named("Advertising_Handle")?.int.map { $0 == handle } ?? true
            }
        }
        return active.filter { isExcluding($0.key) }.min { $0.value.packet < $1.value.packet }.map { ($0.key, $0.value) }
    }

    private mutating func apply(_ command: DecodedLayer, _ at: Moment) {
        func set(_ activity: Activity, _ isOn: Bool) { active[activity] = isOn ? active[activity] ?? at : nil }
        switch command.id {
        case HCICommands.Reset.id: (active, refusals) = ([:], [:])
        case HCICommands.LESetAdvertisingEnable.id: set(.advertising, command.fields.named("Advertising_Enable")?.int == 1)
        case HCICommands.LESetScanEnable.id: set(.scanning, command.fields.named("LE_Scan_Enable")?.int == 1)
        case HCICommands.LESetExtendedScanEnable.id: set(.scanning, command.fields.named("Enable")?.int == 1)
        case HCICommands.LESetExtendedAdvertisingEnable.id:
            let isOn = command.fields.named("Enable")?.int == 1
            let sets = (command.fields.named("Sets")?.children ?? []).compactMap { $0.children.named("Advertising_Handle")?.int }
            for handle in sets { set(.advertisingSet(handle), isOn) }
            // No set means all of them.
            if !isOn, sets.isEmpty { active = active.filter { if case .advertisingSet = $0.key { false } else { true } } }
        case let id? where Self.connects.contains(id): set(.initiating, true)
        default: break
        }
    }
}
