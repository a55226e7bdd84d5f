import BBHCI
import BBPackets
import BBTiming

/// An advertisement from a legacy or extended report.
struct Heard {
    var address: BDADDR
    var octets: Int
    var isExtendedEvent: Bool

    static func all(in packet: HCIPacket) -> [Heard] {
        if let event = try? packet.event(as: HCIEvents.LEAdvertisingReport.self) {
            return event.reports.map { Heard(address: $0.address, octets: $0.data.count, isExtendedEvent: false) }
        }
        guard let event = try? packet.event(as: HCIEvents.LEExtendedAdvertisingReport.self) else { return [] }
        return event.reports.map { Heard(address: $0.address, octets: $0.data.count, isExtendedEvent: true) }
    }
}

extension CheckUp {
    /// Checks reception of advertisements and the content of reports.
    func checkHearing() async throws {
        var expected: BDADDR?
        if let helper { expected = try await Self.advertise(helper, .advNonconnInd) }
        _ = try await link.ask(HCICommands.Reset())
        let usesExtended =
            link.has("legacy-scan-unanswered")
            || !claims(HCICommands.LESetScanEnable.self) && !identity.supportedCommands.isEmpty && !link.has("unclaimed-le-commands")
        guard try await scan(extended: usesExtended) else { return }
        let reports = try await listen()
        judge(reports, expected)
        _ = try await link.ask(HCICommands.Reset())
    }

    /// Starts legacy advertising on the helper and returns its address.
    @discardableResult
    static func advertise(_ helper: CheckUpLink, _ type: LegacyAdvertisingType) async throws -> BDADDR? {
        let address = DeviceAddress(value: 0xC0DE_0000_0002, kind: .random)
        let data: [UInt8] = [4, 0xFF, 0xFF, 0xFF, 1]
        let isOn = try await helper.succeed(
            HCICommands.Reset(), HCICommands.SetEventMask(eventMask: everyEvent), HCICommands.LESetEventMask(leEventMask: leEvents),
            HCICommands.LESetRandomAddress(randomAddress: address.bdADDR),
            HCICommands.LESetAdvertisingParameters(
                advertisingIntervalMin: 0xA0, advertisingIntervalMax: 0xA0, advertisingType: type, ownAddressType: .randomDevice,
                advertisingChannelMap: 7),
            HCICommands.LESetAdvertisingData(
                advertisingDataLength: UInt8(data.count), advertisingData: data + [UInt8](repeating: 0, count: 31 - data.count)),
            HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
        return isOn ? address.bdADDR : nil
    }

    /// All events defined on page 1.
    static let everyEvent = EventMask(
        rawValue: PDUCatalog.all.filter { $0.layer == .hciEvents }.reduce(0x2000_0000_0000_0000) { mask, event in
            if case .page1(let bit) = event.maskPosition { mask | 1 << UInt64(bit) } else { mask }
        })

    /// Starts scanning; false if the commands are rejected.
    private func scan(extended: Bool) async throws -> Bool {
        _ = try await link.ask(HCICommands.SetEventMask(eventMask: Self.everyEvent))
        _ = try await link.ask(HCICommands.LESetEventMask(leEventMask: Self.leEvents))
        if extended {
            return try await link.succeed(Self.extendedScan(.le1M), HCICommands.LESetExtendedScanEnable(enable: 1))
        }
        return try await link.succeed(
            HCICommands.LESetScanParameters(leScanInterval: 0x60, leScanWindow: 0x60), HCICommands.LESetScanEnable(leScanEnable: 1))
    }

    /// Advertisements received while listening. With a helper, stops once the helper's advertisements have been received a few times.
    func listen(_ limit: Microseconds? = nil, atLeast count: Int = 3) async throws -> [Heard] {
        let start = link.log.count
        var heard: [Heard] = []
        _ = try await link.first(from: start, within: limit ?? plan.listening) { packet -> Bool? in
            heard += Heard.all(in: packet)
            return heard.count >= count ? true : nil
        }
        return heard
    }

    private func judge(_ reports: [Heard], _ expected: BDADDR?) {
        figure("heard", "\(Set(reports.map(\.address)).count) advertisers")
        hears = !reports.isEmpty
        if let own = identity.address?.bdADDR, own != 0, reports.contains(where: { $0.address == own }) {
            hears = false
            return link.note("reports-own-address", "reports carry its own address")
        }
        judgeBits()
        guard reports.isEmpty else { return }
        if expected != nil {
            link.note("deaf-rom", "it receives nothing although a second dongle advertises")
        } else {
            link.note("hears-nothing", .note, "no advertiser was received in \(plan.listening.seconds) s; perhaps none is near")
        }
    }

    /// Finds reserved bits set in reports. Core Vol 4, Part E, 7.7.65.2 and 7.7.65.13.
    func judgeBits() {
        for entry in link.log {
            if let event = try? entry.packet.event(as: HCIEvents.LEAdvertisingReport.self) {
                if event.reports.contains(where: { $0.eventType.rawValue > 4 }) {
                    link.note("reserved-report-bits", "reserved bits of Event_Type are set in reports")
                }
            } else if let event = try? entry.packet.event(as: HCIEvents.LEExtendedAdvertisingReport.self) {
                if event.reports.contains(where: { $0.eventType > 0x7F }) {
                    link.note("reserved-report-bits", "reserved bits of Event_Type are set in reports")
                }
                if event.reports.contains(where: { $0.primaryPHY > 3 || $0.secondaryPHY > 4 }) {
                    link.note("reserved-phy-bits", "reserved bits of the PHYs are set in reports")
                }
            }
        }
    }

    // MARK: Extended advertising

    /// Extended advertisements of various lengths, legacy advertisements in an extended scan, and LE Coded besides LE 1M.
    func checkExtendedHearing() async throws {
        guard let helper, has(.leExtendedAdvertising), !link.has("no-ext-scan", "reserved-mask-refused"),
            claims(HCICommands.LESetExtendedScanEnable.self)
        else {
            return
        }
        guard try await Self.advertise(helper, .advNonconnInd) != nil else { return }
        _ = try await link.ask(HCICommands.Reset())
        guard try await scan(extended: true) else { return }
        let legacy = try await listen(.seconds(2))
        judgeBits()
        if !legacy.isEmpty, legacy.allSatisfy({ !$0.isExtendedEvent }) {
            link.note("legacy-reports-in-extended-scan", "an extended scan gives legacy reports")
        }
        try await sweepLengths(helper)
        try await checkDuplicates(helper)
        if has(.leCodedPHY) { try await checkCoded(helper) }
        _ = try await helper.ask(HCICommands.Reset())
        _ = try await link.ask(HCICommands.Reset())
    }

    private static let reportLengths = [0, 31, 100, 190, 227, 228, 229]

    private func sweepLengths(_ helper: CheckUpLink) async throws {
        var lost: [Int] = []
        var made = 0
        for length in Self.reportLengths {
            let data = length == 0 ? [] : [UInt8(length - 1), 0xFF] + [UInt8](repeating: 0x5A, count: length - 2)
            let address = DeviceAddress(value: 0xC0DE_0000_1000 + UInt64(length), kind: .random)
            guard
                try await helper.succeed(
                    HCICommands.Reset(), Self.randomSet(),
                    HCICommands.LESetAdvertisingSetRandomAddress(advertisingHandle: 1, randomAddress: address.bdADDR),
                    HCICommands.LESetExtendedAdvertisingData(
                        advertisingHandle: 1, operation: .complete, fragmentPreference: 1, advertisingData: data),
                    HCICommands.LESetExtendedAdvertisingEnable(enable: 1, sets: [.init(advertisingHandle: 1)]))
            else { continue }
            made += 1
            link.clear()
            let isHeard = try await link.first(within: .seconds(2)) { packet -> Bool? in
                Heard.all(in: packet).contains { $0.address == address.bdADDR && (length == 0 || $0.octets > 0) } ? true : nil
            }
            if isHeard == nil { lost.append(length) }
            judgeBits()
        }
        guard let first = lost.first, lost.count < made, !link.has("legacy-reports-in-extended-scan") else { return }
        link.note("report-228-lost", "advertisements with \(first) octets of data are not reported, others are")
    }

    /// Checks that changed data is reported despite the duplicate filter: it has another DID. Core Vol 4, Part E, 7.8.65.
    private func checkDuplicates(_ helper: CheckUpLink) async throws {
        let address = DeviceAddress(value: 0xC0DE_0000_0005, kind: .random).bdADDR
        func data(_ length: Int) -> HCICommands.LESetExtendedAdvertisingData {
            let octets = [UInt8(length - 1), 0xFF] + [UInt8](repeating: 0x5A, count: length - 2)
            return .init(advertisingHandle: 1, operation: .complete, fragmentPreference: 1, advertisingData: octets)
        }
        link.clear()
        guard
            try await helper.succeed(
                HCICommands.Reset(), Self.randomSet(),
                HCICommands.LESetAdvertisingSetRandomAddress(advertisingHandle: 1, randomAddress: address), data(8),
                HCICommands.LESetExtendedAdvertisingEnable(enable: 1, sets: [.init(advertisingHandle: 1)])),
            try await link.succeed(
                HCICommands.LESetExtendedScanEnable(enable: 0), HCICommands.LESetExtendedScanEnable(enable: 1, filterDuplicates: 1)),
            try await isHeard(address, octets: 8), try await helper.ask(data(12)).isSuccess, try await !isHeard(address, octets: 12)
        else { return }
        link.note("strict-duplicates", "with duplicates filtered, the changed data of an advertiser is not reported")
    }

    private func isHeard(_ address: BDADDR, octets: Int) async throws -> Bool {
        try await link.first(within: .seconds(2)) { packet -> Bool? in
            Heard.all(in: packet).contains { $0.address == address && $0.octets == octets } ? true : nil
        } != nil
    }

    private static func randomSet() -> HCICommands.LESetExtendedAdvertisingParameters {
        var parameters = set(properties: [])
        parameters.ownAddressType = .randomDevice
        return parameters
    }

    private func checkCoded(_ helper: CheckUpLink) async throws {
        guard try await Self.advertise(helper, .advNonconnInd) != nil else { return }
        _ = try await link.ask(HCICommands.Reset())
        _ = try await link.ask(HCICommands.SetEventMask(eventMask: Self.everyEvent))
        _ = try await link.ask(HCICommands.LESetEventMask(leEventMask: Self.leEvents))
        guard try await link.succeed(Self.extendedScan([.le1M, .leCoded]), HCICommands.LESetExtendedScanEnable(enable: 1)) else { return }
        guard try await listen(.seconds(2), atLeast: 1).isEmpty else { return }
        link.note("coded-deaf", "with LE Coded among the PHYs it receives nothing, not even on LE 1M")
    }

    // MARK: Own address

    /// Checks that a random address set between two advertising periods is used in the second. Core Vol 4, Part E, 7.8.4.
    func checkOwnAddress() async throws {
        guard let helper else { return }
        let first = DeviceAddress(value: 0xC0DE_0000_0003, kind: .random)
        let second = DeviceAddress(value: 0xC0DE_0000_0004, kind: .random)
        guard
            try await helper.succeed(
                HCICommands.Reset(), HCICommands.SetEventMask(eventMask: Self.everyEvent),
                HCICommands.LESetEventMask(leEventMask: Self.leEvents),
                HCICommands.LESetScanParameters(leScanInterval: 0x60, leScanWindow: 0x60), HCICommands.LESetScanEnable(leScanEnable: 1)),
            try await link.succeed(
                HCICommands.Reset(), HCICommands.LESetRandomAddress(randomAddress: first.bdADDR),
                HCICommands.LESetAdvertisingParameters(
                    advertisingIntervalMin: 0xA0, advertisingIntervalMax: 0xA0, advertisingType: .advNonconnInd,
                    ownAddressType: .randomDevice,
                    advertisingChannelMap: 7), HCICommands.LESetAdvertisingEnable(advertisingEnable: 1))
        else { return }
        try await link.rest(.milliseconds(300))
        guard
            try await link.succeed(
                HCICommands.LESetAdvertisingEnable(advertisingEnable: 0), HCICommands.LESetRandomAddress(randomAddress: second.bdADDR))
        else { return }
        try await link.rest(.milliseconds(300))
        helper.clear()
        guard try await link.ask(HCICommands.LESetAdvertisingEnable(advertisingEnable: 1)).isSuccess else { return }
        let heard = try await helper.first(within: .seconds(2)) { packet in
            Heard.all(in: packet).map(\.address).first { $0 == first.bdADDR || $0 == second.bdADDR }
        }
        if heard == first.bdADDR {
            link.note("random-address-late", "a new random address is used only after the parameters are set again")
        }
        _ = try await link.ask(HCICommands.Reset())
        _ = try await helper.ask(HCICommands.Reset())
    }
}
