import BBPackets
import BBProducts

/// The identification of the product that a run tests over the air.
public struct ProductReport: Codable, Sendable, Hashable {
    public var name: String?
    /// The address, such as `C0:B1:BE:00:00:01/random`.
    public var address: String
    /// The Firmware Revision String (2A26), if it can be read.
    public var firmware: String?
    /// The file that describes the product; nil if the run uses only its own survey.
    public var description: String?
    /// The differences between the product and its description.
    public var change: String?
    /// The numbers of cases that were not run because they do not concern the product.
    public var notRun: String?

    init(_ found: DeviceDescription, description: String?, change: String?) {
        name = found.device.name
        let address = found.device.address
        self.address = address.digits + (address.kind == .public ? "/public" : "/random")
        let value = found.services.lazy.flatMap(\.characteristics).first { $0.uuid == .firmwareRevision }?.value
        firmware = value.flatMap { String(validating: $0, as: UTF8.self) }
        (self.description, self.change) = (description, change)
    }

    /// The identity of the product, equal in all its runs.
    public var identity: String { name ?? address }

    /// A one-line description.
    public var line: String {
        let words = [
            name.map { "'\(PlainText.escaped($0))'" }, address, firmware.map { "firmware \(PlainText.escaped($0))" }, description, change,
        ]
        return words.compactMap(\.self).joined(separator: ", ")
    }
}

extension BluetoothUUID {
    fileprivate static let firmwareRevision: BluetoothUUID = 0x2A26
}
