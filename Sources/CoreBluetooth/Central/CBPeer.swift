import Foundation

/// A device at the other end. Peers serve as dictionary keys.
open class CBPeer: NSObject, NSCopying {
    /// The identifier of the device on this phone. Another phone has another one for it.
    public let identifier: UUID

    init(identifier: UUID) { self.identifier = identifier }

    open override var hash: Int { identifier.hashValue }
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CBPeer else { return false }
        return other.identifier == identifier && type(of: other) == type(of: self)
    }
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

/// A client of a `CBPeripheralManager`.
open class CBCentral: CBPeer {
    /// Longest value of a notification or indication: ATT_MTU - 3.
    open internal(set) var maximumUpdateValueLength = 20
}
