import BBHost
import BBTiming
import Foundation

/// Discovers peripherals and manages connections to them.
open class CBCentralManager: CBManager {
    open weak var delegate: (any CBCentralManagerDelegate)?
    open internal(set) var isScanning = false
    /// The peripherals that the program holds, by identifier.
    private var peripherals: [UUID: Weak<CBPeripheral>] = [:]
    private var isEnded = false
    private let port: CentralPort

    public convenience init() { self.init(delegate: nil, queue: nil) }

    public convenience init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?) {
        self.init(delegate: delegate, queue: queue, options: nil)
    }

    /// - Parameter queue: the queue of all calls of the delegates; nil for the main queue, in virtual time for the thread of the bench.
    public init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil) {
        self.delegate = delegate
        let identifier = options?[CBCentralManagerOptionRestoreIdentifierKey] as? String
        port = CBBench.currentPhone.centralPort(identifier)
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

    /// True if the device of the current phone has all these features; false before its managers are powered on.
    open class func supports(_ features: Feature) -> Bool { features.isSubset(of: CBBench.currentPhone.features) }

    // MARK: Scanning

    /// Reports devices until `stopScan()`; a further call replaces services and options.
    ///
    /// - Parameter serviceUUIDs: reports only devices that advertise one of them; nil for all.
    open func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil) {
        guard isReady(for: "scanForPeripherals") else { return }
        if phone.isInBackground, serviceUUIDs?.isEmpty ?? true {
            phone.warn("scanForPeripherals without services finds nothing while the app is in the background")
        }
        isScanning = true
        var filter = ScanFilter()
        filter.services = serviceUUIDs?.map(\.uuid) ?? []
        filter.solicited = (options?[CBCentralManagerScanOptionSolicitedServiceUUIDsKey] as? [CBUUID])?.map(\.uuid) ?? []
        filter.allowsDuplicates = Self.flag(CBCentralManagerScanOptionAllowDuplicatesKey, options)
        let (phone, port) = (phone, port)
        let carried = Carried((services: serviceUUIDs, options: options ?? [:]))
        phone.enter {
            port.scan = carried.value
            phone.scanning.scan(filter, for: port)
        }
    }

    open func stopScan() {
        guard isReady(for: "stopScan") else { return }
        isScanning = false
        let (phone, port) = (phone, port)
        phone.enter {
            port.scan = nil
            phone.scanning.scan(nil, for: port)
        }
    }

    private static func flag(_ key: String, _ options: [String: Any]?) -> Bool {
        (options?[key] as? Bool) ?? (options?[key] as? NSNumber)?.boolValue ?? false
    }

    private static func seconds(_ key: String, _ options: [String: Any]?) -> TimeInterval {
        switch options?[key] {
        case let seconds as Double: seconds
        case let seconds as Int: Double(seconds)
        case let seconds as NSNumber: seconds.doubleValue
        default: 0
        }
    }

    // MARK: Connections

    /// Connects as soon as the device is in range. The request has no time limit; asking again changes nothing. While the device is
    /// disconnecting, it is connected again afterwards.
    open func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) {
        guard isReady(for: "connect"), isOwn(peripheral), peripheral.beginConnecting() else { return }
        var wish = ConnectionWish()
        wish.delay = Self.seconds(CBConnectPeripheralOptionStartDelayKey, options)
        wish.reconnects = Self.flag(CBConnectPeripheralOptionEnableAutoReconnect, options)
        wish.requiresNotifications = Self.flag(CBConnectPeripheralOptionRequiresANCS, options)
        let (phone, port, identifier) = (phone, port, peripheral.identifier)
        phone.enter { [wish] in phone.connecting.connect(identifier, wish, for: port) }
    }

    /// Ends a connection, or a request for one. The link itself stays while another manager uses it.
    open func cancelPeripheralConnection(_ peripheral: CBPeripheral) {
        guard isReady(for: "cancelPeripheralConnection"), isOwn(peripheral), peripheral.state != .disconnected else { return }
        peripheral.beginCancelling()
        let (phone, port, identifier) = (phone, port, peripheral.identifier)
        phone.enter { phone.connecting.cancel(identifier, for: port) }
    }

    private func isOwn(_ peripheral: CBPeripheral) -> Bool {
        guard peripheral.manager === self else {
            phone.misuse("CBCentralManager: the peripheral \(peripheral.identifier) belongs to another manager")
            return false
        }
        guard peripheral.isValid else {
            phone.misuse(
                "CBCentralManager: the peripheral \(peripheral.identifier) became invalid when the state fell below poweredOff: "
                    + "retrieve it again")
            return false
        }
        return true
    }

    /// The known peripherals with these identifiers, in this order.
    open func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] {
        guard isReady(for: "retrievePeripherals") else { return [] }
        return identifiers.compactMap { phone.directory.knows($0) ? peripheral($0) : nil }
    }

    /// The peripherals with one of the services to which this phone has a connection, whichever program asked for it.
    open func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral] {
        guard isReady(for: "retrieveConnectedPeripherals") else { return [] }
        return phone.directory.connected(with: Set(serviceUUIDs.map(\.uuid))).map { peripheral($0) }
    }

    /// Reports connections of this phone, whichever program asked for them: those of a device in `.peripheralUUIDs`, or that has a
    /// service in `.serviceUUIDs`; without options those of every device. Nil ends the reports.
    open func registerForConnectionEvents(options: [CBConnectionEventMatchingOption: Any]? = nil) {
        guard isReady(for: "registerForConnectionEvents") else { return }
        let matching = options.map { options in
            ConnectionEventFilter(
                peers: options[.peripheralUUIDs] as? [UUID],
                services: (options[.serviceUUIDs] as? [CBUUID])?.map(\.uuid))
        }
        let (phone, port) = (phone, port)
        phone.enter { port.events = matching }
    }

    // MARK: Restoration

    /// The program has ended.
    ///
    /// - Returns: its connections and requests, as it knew them.
    func programEnded() -> [PeripheralRecord] {
        isEnded = true
        state = .unknown
        isScanning = false
        let held = peripherals.values.compactMap(\.object).filter { [.connecting, .connected].contains($0.wantedState) }
        let records = held.map(\.record)
        for peripheral in held { peripheral.disconnected() }
        peripherals.removeAll()
        return records.sorted { $0.identifier.uuidString < $1.identifier.uuidString }
    }

    /// The first call of a manager that continues an earlier one.
    ///
    /// - Parameter connected: the devices with a connection by now.
    func restore(
        _ records: [PeripheralRecord], connected: Set<UUID>, _ scan: (services: [CBUUID]?, options: [String: Any])?
    ) {
        var dictionary: [String: Any] = [:]
        let restored = records.map { record in
            let peripheral = peripheral(record.identifier)
            peripheral.restore(record)
            if record.state == .connecting, connected.contains(record.identifier) {
                peripheral.state = .connected
                peripheral.isUnreported = true
            }
            return peripheral
        }
        if !restored.isEmpty { dictionary[CBCentralManagerRestoredStatePeripheralsKey] = restored }
        if let scan {
            isScanning = true
            dictionary[CBCentralManagerRestoredStateScanServicesKey] = scan.services ?? []
            if !scan.options.isEmpty { dictionary[CBCentralManagerRestoredStateScanOptionsKey] = scan.options }
        }
        delegate?.centralManager(self, willRestoreState: dictionary)
    }

    // MARK: On the queue

    func happened(_ event: CBConnectionEvent, _ identifier: UUID) {
        delegate?.centralManager(self, connectionEventDidOccur: event, for: peripheral(identifier))
    }

    /// The object for a device; there is one at a time.
    func peripheral(_ identifier: UUID) -> CBPeripheral {
        if let known = peripherals[identifier]?.object { return known }
        let made = CBPeripheral(identifier: identifier, manager: self, port: port)
        made.name = phone.directory.name(of: identifier)
        peripherals[identifier] = Weak(made)
        return made
    }

    /// The object for a device if the program holds it.
    func held(_ identifier: UUID) -> CBPeripheral? { peripherals[identifier]?.object }

    func update(_ state: CBManagerState) {
        self.state = state
        if state != .poweredOn {
            isScanning = false
            for peripheral in peripherals.values.compactMap(\.object) { peripheral.disconnected() }
        }
        // Below powered off the system has forgotten the objects.
        if state != .poweredOn, state != .poweredOff {
            for peripheral in peripherals.values.compactMap(\.object) { peripheral.isValid = false }
            peripherals.removeAll()
        }
        delegate?.centralManagerDidUpdateState(self)
    }

    func discovered(_ identifier: UUID, _ data: [String: Any], rssi: Int) {
        guard isScanning else { return }
        let peripheral = peripheral(identifier)
        peripheral.name = phone.directory.name(of: identifier) ?? peripheral.name
        delegate?.centralManager(self, didDiscover: peripheral, advertisementData: data, rssi: NSNumber(value: rssi))
    }

    func connected(_ identifier: UUID, mtu: Int) {
        guard let peripheral = held(identifier), peripheral.state == .connecting || peripheral.isUnreported else { return }
        peripheral.state = .connected
        peripheral.isUnreported = false
        peripheral.mtu = mtu
        delegate?.centralManager(self, didConnect: peripheral)
    }

    func failed(_ identifier: UUID, _ error: any Error) {
        guard let peripheral = held(identifier), peripheral.state == .connecting else { return }
        peripheral.disconnected()
        delegate?.centralManager(self, didFailToConnect: peripheral, error: error)
    }

    func disconnected(_ identifier: UUID, at time: CFAbsoluteTime, _ error: (any Error)?, isReconnecting: Bool = false) {
        // A cancellation is confirmed by itself.
        guard let peripheral = held(identifier), peripheral.state == .connected || peripheral.state == .connecting else { return }
        let reconnects = isReconnecting && peripheral.state == .connected
        peripheral.disconnected()
        if reconnects { peripheral.state = .connecting }
        delegate?.centralManager(self, didDisconnectPeripheral: peripheral, timestamp: time, isReconnecting: reconnects, error: error)
    }

    /// The phone has taken note of a cancellation.
    func cancelled(_ identifier: UUID, at time: CFAbsoluteTime) {
        guard let peripheral = held(identifier), peripheral.endCancelling() else { return }
        delegate?.centralManager(self, didDisconnectPeripheral: peripheral, timestamp: time, isReconnecting: false, error: nil)
    }
}

struct Weak<Object: AnyObject> {
    private(set) weak var object: Object?
    init(_ object: Object) { self.object = object }
}
