import BBPackets
import Foundation

/// An attribute of a local or remote database.
open class CBAttribute: NSObject {
    /// Type of the attribute.
    public let uuid: CBUUID

    init(uuid: CBUUID) { self.uuid = uuid }

    static func checkLength(_ value: [UInt8]) throws {
        guard value.count <= AttributeValueLength.longest else { throw CBATTError(.invalidAttributeValueLength) }
    }
}

/// A service, its included services and its characteristics, as far as they have been discovered.
open class CBService: CBAttribute {
    open internal(set) weak var peripheral: CBPeripheral?
    public let isPrimary: Bool
    /// Nil before discovery.
    open internal(set) var includedServices: [CBService]?
    /// Nil before discovery.
    open internal(set) var characteristics: [CBCharacteristic]?
    /// False once the connection has ended or the service has changed.
    private(set) var isValid = true
    /// Handles of the service at the server.
    let range: ClosedRange<UInt16>

    init(uuid: CBUUID, primary: Bool, range: ClosedRange<UInt16> = 1...1, peripheral: CBPeripheral? = nil) {
        isPrimary = primary
        self.range = range
        self.peripheral = peripheral
        super.init(uuid: uuid)
    }

    /// Ends the use of the service, its characteristics and its included services.
    func invalidate() {
        guard isValid else { return }
        isValid = false
        for included in includedServices ?? [] { included.invalidate() }
        for characteristic in characteristics ?? [] { characteristic.isNotifying = false }
    }
}

/// A service for `CBPeripheralManager.add(_:)`.
open class CBMutableService: CBService {
    /// True once it has been added: it can no longer change.
    var isPublished = false

    public init(type: CBUUID, primary: Bool) { super.init(uuid: type, primary: primary) }

    open override var includedServices: [CBService]? {
        get { super.includedServices }
        set { if !isPublished { super.includedServices = newValue } }
    }
    open override var characteristics: [CBCharacteristic]? {
        get { super.characteristics }
        set {
            guard !isPublished else { return }
            super.characteristics = newValue
            for characteristic in newValue ?? [] { characteristic.service = self }
        }
    }
}
