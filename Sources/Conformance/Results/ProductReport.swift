import Packets

/// The product that a run judges over the air: what tells it from others.
public struct ProductReport: Codable, Sendable, Hashable {
    public var name: String?
    /// `C0:B1:BE:00:00:01/random`.
    public var address: String
    /// Firmware Revision String (2A26), where it can be read.
    public var firmware: String?
    /// The file that describes it; nil where the run's own survey does alone.
    public var description: String?
    /// In what the product is otherwise than described.
    public var change: String?

    init(_ found: DeviceDescription, description: String?, change: String?) {
        name = found.device.name
        let address = found.device.address
        self.address = address.digits + (address.kind == .public ? "/public" : "/random")
        let value = found.services.lazy.flatMap(\.characteristics).first { $0.uuid == .firmwareRevision }?.value
        firmware = value.flatMap { String(validating: $0, as: UTF8.self) }
        (self.description, self.change) = (description, change)
    }

    /// The facts that two runs of one product share.
    public var identity: String { name ?? address }

    /// In one line, for people.
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
