// swift-format-ignore-file: AlwaysUseLowerCamelCase

import BBPackets
import Foundation

/// A Bluetooth UUID of 16, 32 or 128 bits. Different forms of a UUID are equal. Core Vol 3, Part B, 2.5.1.
open class CBUUID: NSObject, NSCopying {
    let uuid: BluetoothUUID

    package init(_ uuid: BluetoothUUID) { self.uuid = uuid }

    /// - Parameter string: 4, 8 or 36 characters. Any other text is a programming error and ends the program, as Core Bluetooth does.
    public init(string: String) {
        guard [4, 8, 36].contains(string.count), let uuid = BluetoothUUID(string) else {
            preconditionFailure("CBUUID: \"\(string)\" does not represent a valid UUID")
        }
        self.uuid = uuid
    }

    /// - Parameter data: 2, 4 or 16 octets, most significant first.
    public init(data: Data) {
        guard let uuid = BluetoothUUID(octets: data.reversed()) else {
            preconditionFailure("CBUUID: data of \(data.count) octets does not represent a valid UUID")
        }
        self.uuid = uuid
    }

    public convenience init(nsuuid: UUID) { self.init(string: nsuuid.uuidString) }

    /// The shortest form of the UUID.
    private var shortest: BluetoothUUID {
        if let short = uuid.short { return BluetoothUUID(short) }
        let octets = [UInt8](uuid.long.octets.suffix(4))
        guard let reduced = BluetoothUUID(octets: octets), reduced == uuid else { return uuid.long }
        return reduced
    }

    /// 2, 4 or 16 octets, most significant first.
    open var data: Data { Data(shortest.octets.reversed()) }

    /// 4, 8 or 36 characters.
    open var uuidString: String {
        let text = shortest.description
        return text.hasPrefix("0x") ? String(text.dropFirst(2)).uppercased() : text.uppercased()
    }

    /// The assigned name, otherwise the text of the UUID.
    open override var description: String { uuid.short.flatMap { AssignedNumbers.name(uuid: $0) } ?? uuidString }
    open override var hash: Int { uuid.hashValue }
    open override func isEqual(_ object: Any?) -> Bool { (object as? CBUUID)?.uuid == uuid }
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

public let CBUUIDCharacteristicExtendedPropertiesString = "2900"
public let CBUUIDCharacteristicUserDescriptionString = "2901"
public let CBUUIDClientCharacteristicConfigurationString = "2902"
public let CBUUIDServerCharacteristicConfigurationString = "2903"
public let CBUUIDCharacteristicFormatString = "2904"
public let CBUUIDCharacteristicAggregateFormatString = "2905"
public let CBUUIDCharacteristicValidRangeString = "2906"
/// Observation Schedule. Assigned Numbers, 3.7.
public let CBUUIDCharacteristicObservationScheduleString = "2910"
/// The characteristic from which a client reads the PSM of a published L2CAP channel: 2 octets, least significant first.
public let CBUUIDL2CAPPSMCharacteristicString = "ABDD3056-28FA-441D-A470-55A75A52553A"
