/// AD types. Supplement to the Core Specification, Part A, 1; the numbers are in the assigned numbers.
public enum ADType {
    public static let flags: UInt8 = 0x01
    public static let incompleteServices16: UInt8 = 0x02
    public static let completeServices16: UInt8 = 0x03
    public static let incompleteServices32: UInt8 = 0x04
    public static let completeServices32: UInt8 = 0x05
    public static let incompleteServices128: UInt8 = 0x06
    public static let completeServices128: UInt8 = 0x07
    public static let shortenedLocalName: UInt8 = 0x08
    public static let completeLocalName: UInt8 = 0x09
    public static let txPowerLevel: UInt8 = 0x0A
    public static let peripheralIntervalRange: UInt8 = 0x12
    public static let solicitation16: UInt8 = 0x14
    public static let solicitation128: UInt8 = 0x15
    public static let serviceData16: UInt8 = 0x16
    public static let publicTargetAddress: UInt8 = 0x17
    public static let randomTargetAddress: UInt8 = 0x18
    public static let appearance: UInt8 = 0x19
    public static let advertisingInterval: UInt8 = 0x1A
    public static let leRole: UInt8 = 0x1C
    public static let solicitation32: UInt8 = 0x1F
    public static let serviceData32: UInt8 = 0x20
    public static let serviceData128: UInt8 = 0x21
    public static let uri: UInt8 = 0x24
    public static let longAdvertisingInterval: UInt8 = 0x2F
    public static let encryptedData: UInt8 = 0x31
    public static let manufacturerData: UInt8 = 0xFF

    /// The AD type of a list of service UUIDs of this width in octets.
    public static func services(width: Int, complete: Bool) -> UInt8 {
        switch width {
        case 2: complete ? completeServices16 : incompleteServices16
        case 4: complete ? completeServices32 : incompleteServices32
        default: complete ? completeServices128 : incompleteServices128
        }
    }

    public static func name(isComplete: Bool) -> UInt8 { isComplete ? completeLocalName : shortenedLocalName }
    public static func solicitation(width: Int) -> UInt8 { width == 2 ? solicitation16 : width == 4 ? solicitation32 : solicitation128 }
    public static func serviceData(width: Int) -> UInt8 { width == 2 ? serviceData16 : width == 4 ? serviceData32 : serviceData128 }
}
