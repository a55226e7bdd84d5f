import Foundation

/// A read or write request of a central.
open class CBATTRequest: NSObject {
    public let central: CBCentral
    public let characteristic: CBCharacteristic
    /// Offset in octets: the value to respond with begins there, or the written part belongs there. The program checks it.
    public let offset: Int
    /// The written value; for a read, the value to respond with.
    open var value: Data?
    /// Identifies the request at the server.
    let token: Int
    var isAnswered = false

    init(central: CBCentral, characteristic: CBCharacteristic, offset: Int, value: Data?, token: Int) {
        self.central = central
        self.characteristic = characteristic
        self.offset = offset
        self.value = value
        self.token = token
    }
}
