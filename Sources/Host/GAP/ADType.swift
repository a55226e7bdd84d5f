/// The types of AD structures. Supplement to the Core Specification, Part A, 1; the numbers are assigned.
enum ADType {
    static let flags: UInt8 = 0x01
    static let incompleteServices16: UInt8 = 0x02
    static let completeServices16: UInt8 = 0x03
    static let incompleteServices32: UInt8 = 0x04
    static let completeServices32: UInt8 = 0x05
    static let incompleteServices128: UInt8 = 0x06
    static let completeServices128: UInt8 = 0x07
    static let shortenedLocalName: UInt8 = 0x08
    static let completeLocalName: UInt8 = 0x09
    static let txPowerLevel: UInt8 = 0x0A
    static let peripheralIntervalRange: UInt8 = 0x12
    static let solicitation16: UInt8 = 0x14
    static let solicitation128: UInt8 = 0x15
    static let serviceData16: UInt8 = 0x16
    static let appearance: UInt8 = 0x19
    static let advertisingInterval: UInt8 = 0x1A
    static let leRole: UInt8 = 0x1C
    static let solicitation32: UInt8 = 0x1F
    static let serviceData32: UInt8 = 0x20
    static let serviceData128: UInt8 = 0x21
    static let uri: UInt8 = 0x24
    static let longAdvertisingInterval: UInt8 = 0x2F
    static let manufacturerData: UInt8 = 0xFF

    /// The type of a list of service UUIDs of so many octets each.
    static func services(width: Int, complete: Bool) -> UInt8 {
        switch width {
        case 2: complete ? completeServices16 : incompleteServices16
        case 4: complete ? completeServices32 : incompleteServices32
        default: complete ? completeServices128 : incompleteServices128
        }
    }

    static func name(isComplete: Bool) -> UInt8 { isComplete ? completeLocalName : shortenedLocalName }
    static func solicitation(width: Int) -> UInt8 { width == 2 ? solicitation16 : width == 4 ? solicitation32 : solicitation128 }
    static func serviceData(width: Int) -> UInt8 { width == 2 ? serviceData16 : width == 4 ? serviceData32 : serviceData128 }
}
