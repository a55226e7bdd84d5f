import BBHost
import BBPackets
import Foundation

public enum CBPeripheralManagerConnectionLatency: Int, Sendable, Hashable {
    case low = 0
    case medium = 1
    case high = 2
}

@available(*, deprecated, renamed: "CBManagerAuthorization")
public enum CBPeripheralManagerAuthorizationStatus: Int, Sendable, Hashable {
    case notDetermined = 0
    case restricted = 1
    case denied = 2
    case authorized = 3
}

/// Publishes services and advertises them.
open class CBPeripheralManager: CBManager {
    open weak var delegate: (any CBPeripheralManagerDelegate)?
    open internal(set) var isAdvertising = false
    private var centrals: [UUID: CBCentral] = [:]
    private var services: [CBMutableService] = []
    /// Updates that have not left this phone.
    private var updatesUnderWay = 0
    private let port: ServerPort
    private var isEnded = false
    /// Advertising that pauses while Bluetooth is switched off, or has continued since.
    private var isPaused = false

    /// Updates that a phone holds for one manager.
    static let updateLimit = 20

    public convenience init() { self.init(delegate: nil, queue: nil) }

    public convenience init(delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?) {
        self.init(delegate: delegate, queue: queue, options: nil)
    }

    /// - Parameter queue: the queue of all calls of the delegate; nil for the main queue, in virtual time for the thread of the bench.
    public init(delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil) {
        self.delegate = delegate
        let identifier = options?[CBPeripheralManagerOptionRestoreIdentifierKey] as? String
        port = CBBench.currentPhone.serverPort(identifier)
        super.init(queue: queue)
        port.manager = self
        let (phone, port) = (phone, port)
        phone.enter { phone.attach(port) }
    }

    deinit {
        guard !isEnded else { return }
        let (phone, port) = (phone, port)
        phone.enter { phone.detach(port) }
    }

    @available(*, deprecated, message: "use CBManager.authorization")
    open class func authorizationStatus() -> CBPeripheralManagerAuthorizationStatus {
        CBPeripheralManagerAuthorizationStatus(rawValue: authorization.rawValue) ?? .notDetermined
    }

    // MARK: Advertising

    /// Advertises a local name and service UUIDs; other keys are ignored.
    open func startAdvertising(_ advertisementData: [String: Any]?) {
        guard isReady(for: "startAdvertising") else { return }
        guard !isAdvertising || isPaused else {
            let carried = Carried(self)
            phone.enter { carried.value.courier.deliver { carried.value.advertised(CBError(.alreadyAdvertising)) } }
            return
        }
        isAdvertising = true
        isPaused = false
        let allowed = [CBAdvertisementDataLocalNameKey, CBAdvertisementDataServiceUUIDsKey]
        for key in (advertisementData ?? [:]).keys.sorted() where !allowed.contains(key) {
            phone.warn("Advertisement key '\(key)' is not allowed")
        }
        let name = advertisementData?[CBAdvertisementDataLocalNameKey] as? String
        let services = (advertisementData?[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID])?.map(\.uuid) ?? []
        let (phone, port) = (phone, port)
        let data = Carried(advertisementData ?? [:])
        phone.enter {
            port.advertisementData = data.value
            phone.server.advertise(Advertisement(name: name, services: services), for: port)
        }
    }

    open func stopAdvertising() {
        guard isReady(for: "stopAdvertising") else { return }
        isAdvertising = false
        isPaused = false
        let (phone, port) = (phone, port)
        phone.enter {
            port.advertisementData = nil
            phone.server.advertise(nil, for: port)
        }
    }

    // MARK: Services

    /// Publishes a service; included services must have been added before. It can no longer change.
    open func add(_ service: CBMutableService) {
        guard isReady(for: "add") else { return }
        for case let characteristic as CBMutableCharacteristic in service.characteristics ?? [] {
            precondition(
                characteristic.value == nil || (characteristic.properties == .read && characteristic.permissions == .readable),
                "CBPeripheralManager: characteristics with cached values must be read-only")
        }
        let (phone, port, carried) = (phone, port, Carried(service))
        guard !service.isPublished else {
            return phone.misuse("Services cannot be added more than once: \(service.uuid). On a phone this ends the app")
        }
        let included = (service.includedServices ?? []).compactMap { wanted in services.first { $0 === wanted } }
        let isComplete = included.count == service.includedServices?.count ?? 0
        guard isComplete, !PhoneServer.reserved.contains(service.uuid.uuid) else {
            let error = CBError(isComplete ? .uuidNotAllowed : .invalidParameters)
            return phone.enter { port.deliver { $0.delegate?.peripheralManager($0, didAdd: carried.value, error: error) } }
        }
        service.isPublished = true
        services.append(service)
        let draft = ServiceDraft(service)
        let includedDrafts = included.map { ObjectIdentifier($0) }
        phone.enter { phone.server.add(draft, including: includedDrafts, for: port) }
    }

    open func remove(_ service: CBMutableService) {
        guard isReady(for: "remove") else { return }
        services.removeAll { $0 === service }
        service.isPublished = false
        let (phone, port, identifier) = (phone, port, ObjectIdentifier(service))
        phone.enter { phone.server.remove([identifier], for: port) }
    }

    open func removeAllServices() {
        for service in services { remove(service) }
    }

    // MARK: Requests and values

    /// Answers a read request, or all write requests of one call by the first of them.
    open func respond(to request: CBATTRequest, withResult result: CBATTError.Code) {
        guard isReady(for: "respond") else { return }
        guard !request.isAnswered else { return phone.misuse("CBPeripheralManager: the request is answered already") }
        request.isAnswered = true
        let (phone, token, value) = (phone, request.token, [UInt8](request.value ?? Data()))
        phone.enter { phone.server.answer(token, value, result) }
    }

    /// Notifies or indicates a value, cut to what each central takes. Centrals that have not subscribed are skipped.
    ///
    /// - Returns: false if the queue is full; `peripheralManagerIsReady(toUpdateSubscribers:)` follows.
    @discardableResult
    open func updateValue(_ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?) -> Bool {
        guard isReady(for: "updateValue") else { return false }
        guard characteristic.service.map({ service in services.contains { $0 === service } }) ?? false else {
            phone.misuse("updateValue for the characteristic \(characteristic.uuid), whose service was not added")
            return false
        }
        guard updatesUnderWay < Self.updateLimit else {
            isFull = true
            return false
        }
        updatesUnderWay += 1
        let (phone, port, identifier, octets) = (phone, port, ObjectIdentifier(characteristic), [UInt8](value))
        let chosen = centrals.map { Set($0.map(\.identifier)) }
        phone.enter { phone.server.update(identifier, octets, centrals: chosen, for: port) }
        return true
    }

    private var isFull = false

    /// Suggests how soon a central may reach this device: a latency of 0, 2 or 6 connection events at 30 ms.
    open func setDesiredConnectionLatency(_ latency: CBPeripheralManagerConnectionLatency, for central: CBCentral) {
        guard isReady(for: "setDesiredConnectionLatency") else { return }
        let (phone, identifier) = (phone, central.identifier)
        phone.enter { phone.server.setLatency(latency, of: identifier) }
    }

    // MARK: Channels

    /// Publishes a channel under a PSM that the phone chooses.
    open func publishL2CAPChannel(withEncryption encryptionRequired: Bool) {
        guard isReady(for: "publishL2CAPChannel") else { return }
        let (phone, port) = (phone, port)
        phone.enter { phone.server.publish(isEncrypted: encryptionRequired, for: port) }
    }

    /// Refuses new channels and closes open ones.
    open func unpublishL2CAPChannel(_ psm: CBL2CAPPSM) {
        guard isReady(for: "unpublishL2CAPChannel") else { return }
        let (phone, port) = (phone, port)
        phone.enter { phone.server.unpublish(psm, for: port) }
    }

    // MARK: Restoration

    /// The program has ended.
    ///
    /// - Returns: its services and centrals.
    func programEnded() -> (services: [CBMutableService], centrals: [UUID: CBCentral]) {
        defer { (services, centrals) = ([], [:]) }
        isEnded = true
        state = .unknown
        isAdvertising = false
        return (services, centrals)
    }

    /// The first call of a manager that continues an earlier one.
    func restore(_ services: [CBMutableService], _ centrals: [UUID: CBCentral], _ advertisement: [String: Any]?) {
        (self.services, self.centrals) = (services, centrals)
        isAdvertising = advertisement != nil
        var dictionary: [String: Any] = [:]
        if !services.isEmpty { dictionary[CBPeripheralManagerRestoredStateServicesKey] = services }
        if let advertisement { dictionary[CBPeripheralManagerRestoredStateAdvertisementDataKey] = advertisement }
        delegate?.peripheralManager(self, willRestoreState: dictionary)
    }

    // MARK: On the queue

    /// While powered off, advertising pauses and services stay; below that both end.
    func update(_ state: CBManagerState) {
        self.state = state
        if state == .poweredOn {
            isAdvertising = isAdvertising || isPaused
        } else {
            isPaused = state == .poweredOff && (isPaused || isAdvertising)
            isAdvertising = false
            updatesUnderWay = 0
            if state != .poweredOff { clear() }
        }
        delegate?.peripheralManagerDidUpdateState(self)
    }

    private func clear() {
        for service in services {
            service.isPublished = false
            for case let characteristic as CBMutableCharacteristic in service.characteristics ?? [] {
                characteristic.subscribedCentrals = nil
            }
        }
        services.removeAll()
        centrals.removeAll()
    }

    func advertised(_ error: (any Error)?) {
        delegate?.peripheralManagerDidStartAdvertising(self, error: error)
    }

    func advertisingFailed(_ error: any Error) {
        isAdvertising = false
        isPaused = false
        advertised(error)
    }

    func central(_ identifier: UUID, mtu: Int) -> CBCentral {
        let central = centrals[identifier] ?? CBCentral(identifier: identifier)
        centrals[identifier] = central
        central.maximumUpdateValueLength = AttributeValueLength.longest(inMTU: mtu)
        return central
    }

    /// A central that the program knows has exchanged its MTU.
    func changed(_ identifier: UUID, mtu: Int) { centrals[identifier]?.maximumUpdateValueLength = AttributeValueLength.longest(inMTU: mtu) }

    func subscribed(_ identifier: UUID, mtu: Int, to characteristic: CBMutableCharacteristic, isOn: Bool) {
        let central = central(identifier, mtu: mtu)
        let isKnown = characteristic.subscribedCentrals?.contains(central) ?? false
        guard isKnown != isOn else { return }
        if isOn {
            characteristic.subscribedCentrals = (characteristic.subscribedCentrals ?? []) + [central]
            delegate?.peripheralManager(self, central: central, didSubscribeTo: characteristic)
        } else {
            characteristic.subscribedCentrals?.removeAll { $0 == central }
            delegate?.peripheralManager(self, central: central, didUnsubscribeFrom: characteristic)
        }
    }

    /// A central has left: its subscriptions end.
    func left(_ identifier: UUID) {
        guard let central = centrals.removeValue(forKey: identifier) else { return }
        for case let characteristic as CBMutableCharacteristic in services.flatMap({ $0.characteristics ?? [] })
        where characteristic.subscribedCentrals?.contains(central) ?? false {
            characteristic.subscribedCentrals?.removeAll { $0 == central }
            delegate?.peripheralManager(self, central: central, didUnsubscribeFrom: characteristic)
        }
    }

    func updateLeft() {
        updatesUnderWay = max(0, updatesUnderWay - 1)
        guard isFull else { return }
        isFull = false
        delegate?.peripheralManagerIsReady(toUpdateSubscribers: self)
    }
}
