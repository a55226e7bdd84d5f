import BBCases
import BBPackets

/// The lists for cases that follow from the maker's declarations: `device.guarded`, `device.sending`.
struct DeclaredFacts {
    private(set) var lists: [(String, [CaseValue])]

    static let names = [
        "guardedReads", "guardedWrites", "guardedCommands", "guardedSubscriptions", "sending", "sendingIndications", "changing",
    ]
    /// The fields beside those of a characteristic.
    static let fields: [String: ValueShape] = [
        "needs": .any, "offered": .octets, "other": .octets, "seconds": .number(1...60), "stimuli": .number(0...1),
        "stimulus": .number(0...0xFFFF), "command": .octets, "undo": .octets,
        "stimulusConfigurations": .number(0...1), "stimulusConfiguration": .number(0...0xFFFF), "stimulusSubscription": .octets,
    ]

    private typealias Found = (service: DeviceDescription.Service, found: DeviceDescription.Characteristic)
    private static let (read, commands, write, notify, indicate) = (0x02, 0x04, 0x08, 0x10, 0x20)

    init(_ declares: DeviceDescription.Declares, _ all: [(DeviceDescription.Service, DeviceDescription.Characteristic)]) {
        let guarded = declares.protects.flatMap { entry in
            all.filter { $1.uuid == entry.characteristic }.map { (entry, (service: $0, found: $1)) }
        }
        func guards(_ access: DeviceDescription.Protected.Access, _ properties: Int, writes: Bool = false) -> [CaseValue] {
            guarded.filter { entry, row in
                entry.access.contains(access) && row.found.properties & properties != 0 && (!writes || entry.value != nil)
            }.map { Self.record($0, $1) }
        }
        let senders = declares.sends.flatMap { entry in
            all.filter { $1.uuid == entry.characteristic && $1.configuration != nil }.map { (entry, (service: $0, found: $1)) }
        }
        func sends(_ property: Int) -> [CaseValue] {
            senders.filter { $1.found.properties & property != 0 }.compactMap { Self.record($0, $1, all) }
        }
        lists = [
            ("guardedReads", guards(.read, Self.read)), ("guardedWrites", guards(.write, Self.write, writes: true)),
            ("guardedCommands", guards(.write, Self.commands, writes: true)),
            ("guardedSubscriptions", guards(.subscribe, Self.notify | Self.indicate).filter(Self.isConfigurable)),
            ("sending", sends(Self.notify)), ("sendingIndications", sends(Self.indicate)),
            ("echoingChannels", Self.records(declares.channels.filter(\.echoes))),
            ("guardedChannels", Self.records(declares.channels.filter { $0.needs != nil })),
            ("changing", declares.changes.map { Self.records($0, all) } ?? []),
        ]
    }

    private static func records(_ channels: [DeviceDescription.Channel]) -> [CaseValue] {
        channels.map { .record(CaseRecord([("psm", .number(Int($0.psm))), ("needs", .text($0.needs?.rawValue ?? "none"))])) }
    }

    private static func isConfigurable(_ value: CaseValue) -> Bool {
        if case .record(let record) = value { record["cccd"]?.asNumber ?? 0 > 0 } else { false }
    }

    private static func record(_ entry: DeviceDescription.Protected, _ row: Found) -> CaseValue {
        var record = DeviceFacts.record(row.found, in: row.service)
        record["needs"] = .text(entry.needs.rawValue)
        record["offered"] = .octets(entry.value ?? [])
        record["other"] = .octets((entry.value ?? []).map { $0 ^ 1 })
        return .record(record)
    }

    /// The characteristic that changes the services; none if the device does not have it.
    private static func records(
        _ change: DeviceDescription.ServiceChange, _ all: [(DeviceDescription.Service, DeviceDescription.Characteristic)]
    ) -> [CaseValue] {
        all.filter { $1.uuid == change.characteristic }.prefix(1).map { service, found in
            var record = DeviceFacts.record(found, in: service)
            record["command"] = .octets(change.value)
            record["undo"] = .octets(change.undo)
            addConfiguration(of: found, in: service, to: &record)
            return .record(record)
        }
    }

    /// Returns nil if the device does not have the characteristic of the stimulus.
    private static func record(
        _ entry: DeviceDescription.Sender, _ row: Found, _ all: [(DeviceDescription.Service, DeviceDescription.Characteristic)]
    ) -> CaseValue? {
        var record = DeviceFacts.record(row.found, in: row.service)
        record["seconds"] = .number(max(1, Int((entry.within.rawValue + 999_999) / 1_000_000)))
        record["stimuli"] = .number(entry.stimulus == nil ? 0 : 1)
        record["stimulus"] = .number(0)
        record["stimulusConfigurations"] = .number(0)
        if let stimulus = entry.stimulus {
            guard let target = all.first(where: { $1.uuid == stimulus.characteristic }) else { return nil }
            record["stimulus"] = .number(Int(target.1.handle))
            record["command"] = .octets(stimulus.value)
            if target.1.handle != row.found.handle { addConfiguration(of: target.1, in: target.0, to: &record) }
        }
        return .record(record)
    }

    /// Adds the subscription that a control point may want before it is written: otherwise it refuses with CCCD Improperly Configured. Core
    /// Supplement, Part B, 1.2.
    private static func addConfiguration(
        of control: DeviceDescription.Characteristic, in service: DeviceDescription.Service, to record: inout CaseRecord
    ) {
        let handle = control.configuration?.handle ?? 0
        record["stimulusConfigurations"] = .number(handle == 0 ? 0 : 1)
        record["stimulusConfiguration"] = .number(Int(handle))
        record["stimulusSubscription"] = DeviceFacts.record(control, in: service)["subscription"]
    }
}
