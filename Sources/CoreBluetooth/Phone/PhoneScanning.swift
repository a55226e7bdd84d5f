import BBHost
import BBPackets
import BBTiming
import Foundation

/// The devices that one manager looks for.
struct ScanFilter {
    var services: [BluetoothUUID] = []
    var solicited: [BluetoothUUID] = []
    var allowsDuplicates = false

    /// A program in the background finds only devices with services that it names.
    func admits(_ data: AdvertisingData, inBackground: Bool) -> Bool {
        if services.isEmpty, solicited.isEmpty { return !inBackground }
        if !Set(services).isDisjoint(with: data.serviceUUIDs) || !OverflowArea.services(services, in: data).isEmpty { return true }
        return !Set(solicited).isDisjoint(with: data.solicitedUUIDs)
    }
}

/// The scan of a phone, for all managers that scan.
final class PhoneScanning {
    /// An advertiser: advertising data and scan response, reported together.
    private struct Advertiser {
        var data = AdvertisingData()
        var response: AdvertisingData?
        var isConnectable = false
        /// The address on the air, which may be private.
        var address: DeviceAddress?
        /// A scannable advertiser is reported with its scan response, or with its next packet if that one is lost.
        var isComplete = false

        var merged: AdvertisingData { AdvertisingData(data.elements + (response?.elements ?? [])) }
    }

    private struct Request {
        let port: CentralPort
        var filter: ScanFilter
        /// The content that was reported of each device.
        var reported: [UUID: AdvertisingData] = [:]
    }

    private var requests: [Request] = []
    private var advertisers: [UUID: Advertiser] = [:]
    private var scan: Scan?
    private var isChanging = false
    private unowned let phone: CBPhone

    init(_ phone: CBPhone) { self.phone = phone }

    /// Starts or, with nil, ends the scan of a manager. The same request again changes nothing in the controller.
    func scan(_ filter: ScanFilter?, for port: CentralPort) {
        if let index = requests.firstIndex(where: { $0.port === port }) {
            if let filter { requests[index].filter = filter } else { requests.remove(at: index) }
        } else if let filter {
            requests.append(Request(port: port, filter: filter))
        }
        apply()
    }

    var isOn: Bool { scan != nil }

    /// The address under which a device was seen during this scan.
    func address(of identifier: UUID) -> DeviceAddress? { advertisers[identifier]?.address }

    func stop() {
        requests.removeAll()
        apply()
    }

    /// Lets the controller scan exactly while somebody asks for it.
    private func apply() {
        guard !isChanging, requests.isEmpty != (scan == nil) else { return }
        isChanging = true
        _ = phone.loop.start { [self] in
            do {
                if let running = scan {
                    scan = nil
                    advertisers.removeAll()
                    try await running.stop()
                } else {
                    scan = try await phone.host.scan { [unowned self] in received($0) }
                }
                isChanging = false
                apply()
            } catch {
                isChanging = false
                // A lost controller is reported as such.
                if phone.host.failure == nil { phone.notice("the controller does not scan: \(error)") }
            }
        }
    }

    /// Phones receive extended advertising with 2M on the secondary channels, and up to a number of octets of it.
    private func isHeard(_ report: AdvertisingReport) -> Bool {
        report.secondaryPHY.map { $0 == .le2M && report.octets.count <= phone.persona.extendedOctets } ?? true
    }

    private func received(_ report: AdvertisingReport) {
        guard let address = report.address, isHeard(report) else { return }
        let identifier = phone.directory.identifier(of: report.identity ?? PeerIdentity(address))
        if report.secondaryPHY != nil { phone.directory.extended(identifier) }
        var advertiser = advertisers[identifier] ?? Advertiser()
        if report.isScanResponse {
            advertiser.response = report.data
            advertiser.isComplete = true
        } else {
            advertiser.isComplete = advertiser.isComplete || !report.isScannable || advertisers[identifier] != nil
            advertiser.data = report.data
            advertiser.isConnectable = report.isConnectable
        }
        advertiser.address = address
        advertisers[identifier] = advertiser
        guard advertiser.isComplete else { return }
        tell(identifier, advertiser, rssi: Int(report.rssi))
    }

    private func tell(_ identifier: UUID, _ advertiser: Advertiser, rssi: Int) {
        let data = advertiser.merged
        phone.directory.learned(data.serviceUUIDs, of: identifier)
        if let name = data.localName { phone.directory.named(name, identifier) }
        for index in requests.indices where requests[index].filter.admits(data, inBackground: phone.isInBackground) {
            let isNew = requests[index].reported.updateValue(data, forKey: identifier) != data
            guard isNew || requests[index].filter.allowsDuplicates && !phone.isInBackground else { continue }
            var shown = data.dictionary(isConnectable: advertiser.isConnectable)
            let overflow = OverflowArea.services(requests[index].filter.services, in: data)
            if !overflow.isEmpty { shown[CBAdvertisementDataOverflowServiceUUIDsKey] = overflow.map { CBUUID($0) } }
            let dictionary = Carried(shown)
            requests[index].port.deliver { $0.discovered(identifier, dictionary.value, rssi: rssi) }
        }
    }
}

extension AdvertisingData {
    var solicitedUUIDs: [BluetoothUUID] {
        var found: [BluetoothUUID] = []
        for case .solicitedUUIDs(let uuids, _) in elements { found += uuids }
        return found
    }

    /// The advertisement data of the API.
    func dictionary(isConnectable: Bool) -> [String: Any] {
        var dictionary: [String: Any] = [CBAdvertisementDataIsConnectable: NSNumber(value: isConnectable)]
        if let localName { dictionary[CBAdvertisementDataLocalNameKey] = localName }
        let services = serviceUUIDs.map { CBUUID($0) }
        if !services.isEmpty { dictionary[CBAdvertisementDataServiceUUIDsKey] = services }
        let solicited = solicitedUUIDs.map { CBUUID($0) }
        if !solicited.isEmpty { dictionary[CBAdvertisementDataSolicitedServiceUUIDsKey] = solicited }
        var ofServices: [CBUUID: Data] = [:]
        for element in elements {
            switch element {
            case .txPowerLevel(let level): dictionary[CBAdvertisementDataTxPowerLevelKey] = NSNumber(value: level)
            case .manufacturerData(let company, let octets) where !OverflowArea.isOverflow(company, octets):
                let identifier = [UInt8(truncatingIfNeeded: company), UInt8(company >> 8)]
                dictionary[CBAdvertisementDataManufacturerDataKey] = Data(identifier + octets)
            case .serviceData(let uuid, let octets): ofServices[CBUUID(uuid)] = Data(octets)
            default: break
            }
        }
        if !ofServices.isEmpty { dictionary[CBAdvertisementDataServiceDataKey] = ofServices }
        return dictionary
    }
}
