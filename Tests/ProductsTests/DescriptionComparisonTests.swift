import BBPackets
import Testing

@testable import BBCases
@testable import BBProducts

/// A stored description compared with the device found by a survey.
@Suite struct DescriptionComparisonTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: String?
        var refusal: String?
        /// The handle of Battery Level, as used by cases.
        var handle: Int? = 12
        /// Number of characteristics that cases may write.
        var touched = 3
        var found: @Sendable (inout DeviceDescription) -> Void = { _ in }
    }

    /// Battery, then a service with two characteristics of the same UUID.
    static let stored: DeviceDescription = {
        var device = DeviceDescription()
        var battery = DeviceDescription.Service(uuid: 0x180F, start: 10, end: 12)
        battery.characteristics = [.init(uuid: 0x2A19, declaration: 11, handle: 12, end: 12, properties: 0x12, value: [100])]
        var reports = DeviceDescription.Service(uuid: 0x1812, start: 20, end: 24)
        reports.characteristics = [21, 23].map {
            .init(uuid: 0x2A4D, declaration: $0, handle: $0 + 1, end: $0 + 1, properties: 10, value: [1])
        }
        device.services = [battery, reports]
        device.declares.bonds = true
        device.pairing = .init(io: "NoInputNoOutput", requirements: ["Bonding"], keySize: 16)
        (device.link.mtu, device.link.phys) = (185, ["1M", "2M"])
        return device
    }()

    private static func inserted(_ device: inout DeviceDescription, by octets: UInt16 = 3) {
        for index in device.services.indices {
            device.services[index].start += octets
            device.services[index].end += octets
            for inner in device.services[index].characteristics.indices {
                device.services[index].characteristics[inner].declaration += octets
                device.services[index].characteristics[inner].handle += octets
                device.services[index].characteristics[inner].end += octets
            }
        }
        var new = DeviceDescription.Service(uuid: 0x181A, start: 10, end: 12)
        new.characteristics = [.init(uuid: 0x2A6E, declaration: 11, handle: 12, end: 12, properties: 10, value: [0, 0])]
        device.services.insert(new, at: 0)
    }

    static let rows = [
        Row(testDescription: "the same"),
        Row(
            testDescription: "a service before the others",
            change: "not as in wire.yaml: service 181A is new and not touched; the handles of 180F, 1812 have moved", handle: 15
        ) { inserted(&$0) },
        Row(
            testDescription: "a further characteristic of the same UUID",
            change: "not as in wire.yaml: characteristic 2A4D of 1812 is new and not touched"
        ) {
            $0.services[1].characteristics.append(.init(uuid: 0x2A4D, declaration: 25, handle: 26, end: 26, properties: 10))
        },
        Row(
            testDescription: "other properties", change: "not as in wire.yaml: characteristic 2A19 of 180F has other properties"
        ) { $0.services[0].characteristics[0].properties = 0x1A },
        Row(
            testDescription: "a value that is refused",
            change: "not as in wire.yaml: 2A4D of 1812 can no longer be read: Read_Not_Permitted"
        ) { ($0.services[1].characteristics[0].value, $0.services[1].characteristics[0].error) = (nil, 2) },
        Row(
            testDescription: "a value that is guarded now",
            change: "not as in wire.yaml: 2A4D of 1812 can no longer be read: Insufficient_Authentication"
        ) { ($0.services[1].characteristics[0].value, $0.services[1].characteristics[0].error) = (nil, 5) },
        Row(testDescription: "another value", change: "not as in wire.yaml: 2A4D of 1812 has another value") {
            $0.services[1].characteristics[1].value = [2]
        },
        Row(testDescription: "another length", change: "not as in wire.yaml: the value of 2A4D of 1812 has 2 octets, had 1") {
            $0.services[1].characteristics[1].value = [1, 0]
        },
        Row(testDescription: "it declines to pair", change: "not as in wire.yaml: it declines to pair") { $0.pairing?.isDeclined = true },
        Row(
            testDescription: "another pairing",
            change:
                "not as in wire.yaml: its Pairing_Response differs: DisplayOnly Bonding 16 octets, was NoInputNoOutput Bonding 16 octets"
        ) { $0.pairing?.io = "DisplayOnly" },
        Row(testDescription: "a smaller link", change: "not as in wire.yaml: its ATT_MTU is 23, was 185, its PHYs are 1M, were 1M, 2M") {
            ($0.link.mtu, $0.link.phys) = (23, ["1M"])
        },
        Row(
            testDescription: "a discovery that is malformed",
            change: "not as in wire.yaml: characteristic 2A4D of 1812 is missing, as the discovery is malformed (services: cut)", touched: 2
        ) {
            $0.services[1].characteristics.removeLast()
            $0.malformed = "services: cut"
        },
        Row(
            testDescription: "a characteristic is missing",
            refusal: "this is not the device of wire.yaml: characteristic 2A4D of 1812 is missing;",
            touched: 2
        ) { $0.services[1].characteristics.removeLast() },
        Row(
            testDescription: "another device",
            refusal: "this is not the device of wire.yaml: service 180F, service 1812 are missing, service 1809 is new;",
            handle: nil, touched: 0
        ) { $0.services = [DeviceDescription.Service(uuid: 0x1809, start: 1, end: 2)] },
        Row(
            testDescription: "a secondary service is none of the primary ones",
            refusal: "this is not the device of wire.yaml: service 180F is missing, service 180F is new;", handle: nil, touched: 2
        ) { $0.services[0].isPrimary = false },
    ]

    @Test(arguments: rows) func aDeviceIsComparedByUUID(_ row: Row) {
        var found = Self.stored
        (found.declares, found.leaveOut) = (.init(), [])
        found.services[0].characteristics[0].value = [101]
        row.found(&found)
        let comparison = DescriptionComparison(Self.stored, in: "wire.yaml", found: found)
        #expect(comparison.change == row.change || row.refusal != nil)
        #expect(row.refusal.map { comparison.refusal?.hasPrefix($0) == true } ?? (comparison.refusal == nil), "\(comparison.refusal ?? "")")
        #expect(comparison.description.declares.bonds == true)
        let facts = DeviceFacts(comparison.description)
        let touched = Self.list(facts, "characteristics")
        #expect(touched.count == row.touched)
        let battery = touched.first { $0["uuid"].flatMap(Self.text) == "2A19" }
        #expect(battery?["handle"]?.asNumber == row.handle)
        // The value is the one read in this run.
        #expect(battery.map { $0["value"] == .octets([101]) } ?? true)
    }

    /// A value that needed a pairing is still refused without one; read in clear, it has lost its protection. After a pairing at the device's
    /// request nobody knows.
    @Test(arguments: [(false, false, true), (true, false, true), (true, true, false)])
    func aProtectedValueIsComparedByItsProtection(isPaired: Bool, asksForSecurity: Bool, isTold: Bool) {
        var stored = Self.stored
        stored.services[1].characteristics[0].protection = 5
        var found = stored
        if !isPaired { found.pairing = nil }
        if asksForSecurity { found.link.asks = ["security"] }
        found.services[1].characteristics[0].protection = nil
        let change = DescriptionComparison(stored, in: "wire.yaml", found: found).change
        #expect(change == (isTold ? "not as in wire.yaml: 2A4D of 1812 was protected and can be read in clear" : nil))
        found = stored
        found.pairing = nil
        (found.services[1].characteristics[0].value, found.services[1].characteristics[0].protection) = (nil, nil)
        found.services[1].characteristics[0].error = 5
        #expect(DescriptionComparison(stored, in: "wire.yaml", found: found).change == nil)
    }

    /// A characteristic excluded by the manufacturer is excluded at its new handle, too.
    @Test func whatIsLeftOutIsNamedByItsUUID() {
        var stored = Self.stored
        stored.leaveOut = [.init(what: .characteristic(0x2A19), because: "it drives a pump")]
        var found = Self.stored
        Self.inserted(&found)
        let facts = DeviceFacts(DescriptionComparison(stored, in: "wire.yaml", found: found).description)
        #expect(Self.list(facts, "characteristics").allSatisfy { $0["uuid"].flatMap(Self.text) == "2A4D" })
    }

    private static func text(_ value: CaseValue) -> String? { if case .text(let text) = value { text } else { nil } }

    private static func list(_ facts: DeviceFacts, _ name: String) -> [CaseRecord] {
        guard case .list(let rows)? = facts.record[name] else { return [] }
        return rows.compactMap { if case .record(let record) = $0 { record } else { nil } }
    }
}
