import CoreBluetooth
import Foundation

/// A central as an application writes it. It notes each call of its delegates.
final class CentralProgram: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    private(set) var manager: CBCentralManager!
    var log: [String] = []
    var found: [CBPeripheral] = []
    var advertisements: [[String: Any]] = []
    var errors: [any Error] = []
    var values: [Data] = []
    var channel: CBL2CAPChannel?
    var invalidated: [CBService] = []
    /// The names of peripherals after each call about a change.
    var names: [String?] = []
    /// Connects to what it finds.
    var connects = true
    var options: [String: Any]?

    init(on phone: CBPhone, queue: DispatchQueue? = nil) {
        super.init()
        manager = phone.use { CBCentralManager(delegate: self, queue: queue) }
    }

    var peripheral: CBPeripheral? { found.first }

    func characteristic(_ uuid: String) -> CBCharacteristic? {
        peripheral?.services?.lazy.flatMap { $0.characteristics ?? [] }.first { $0.uuid == CBUUID(string: uuid) }
    }

    private func note(_ text: String, _ error: (any Error)? = nil) {
        log.append(error == nil ? text : "\(text) failed")
        if let error { errors.append(error) }
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) { note("state \(central.state)") }
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
    ) {
        note("discovered \(peripheral.name ?? "nobody")")
        advertisements.append(advertisementData)
        if !found.contains(peripheral) { found.append(peripheral) }
        peripheral.delegate = self
        if connects { central.connect(peripheral, options: options) }
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { note("connected") }
    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        note("connection", error)
    }
    func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?) {
        note("disconnected", error)
    }
    func centralManager(_ central: CBCentralManager, didUpdateANCSAuthorizationFor peripheral: CBPeripheral) {
        note("notifications \(peripheral.ancsAuthorized)")
    }
    func peripheralDidUpdateName(_ peripheral: CBPeripheral) { names.append(peripheral.name) }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) { note("services", error) }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?) {
        note("included services", error)
    }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
        note("characteristics", error)
    }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?) {
        note("descriptors", error)
    }
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
        note("value", error)
        if error == nil, let value = characteristic.value { values.append(value) }
    }
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
        note("descriptor value", error)
    }
    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
        note("written", error)
    }
    func peripheral(_ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?) {
        note("notifying \(characteristic.isNotifying)", error)
    }
    func peripheral(_ peripheral: CBPeripheral, didReadRSSI rssi: NSNumber, error: (any Error)?) { note("rssi", error) }
    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        note("modified")
        invalidated += invalidatedServices
    }
    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { note("ready") }
    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        note("opened", error)
        self.channel = channel
    }
}

/// An accessory, written with the peripheral manager: a heart rate monitor with values of its own.
final class Accessory: NSObject, CBPeripheralManagerDelegate {
    private(set) var manager: CBPeripheralManager!
    let rate = CBMutableCharacteristic(type: CBUUID(string: "2A37"), properties: [.notify, .read], value: nil, permissions: .readable)
    let location = CBMutableCharacteristic(type: CBUUID(string: "2A38"), properties: .read, value: Data([1]), permissions: .readable)
    let control = CBMutableCharacteristic(
        type: CBUUID(string: "2A39"), properties: [.write, .writeWithoutResponse], value: nil, permissions: .writeable)
    let alarm = CBMutableCharacteristic(
        type: CBUUID(string: "FF01"), properties: [.indicate, .read], value: nil, permissions: .readEncryptionRequired)
    let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
    var log: [String] = []
    var written: [Data] = []
    var requests: [CBATTRequest] = []
    var channel: CBL2CAPChannel?
    var psm: CBL2CAPPSM?
    var value = Data([0, 72])
    /// The code of each response.
    var result = CBATTError.Code.success
    /// Answers requests at once.
    var answers = true

    init(on phone: CBPhone) {
        super.init()
        let description = CBMutableDescriptor(type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "rate")
        rate.descriptors = [description]
        service.characteristics = [rate, location, control, alarm]
        manager = phone.use { CBPeripheralManager(delegate: self, queue: nil) }
    }

    func advertise(_ name: String = "monitor") {
        manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: name, CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "180D")],
        ])
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        log.append("state \(peripheral.state)")
        guard peripheral.state == .poweredOn else { return }
        peripheral.add(service)
        advertise()
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        log.append(error == nil ? "added" : "adding failed")
    }
    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        log.append(error == nil ? "advertising" : "advertising failed \((error as? CBError)?.code.rawValue ?? -1)")
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic) {
        log.append("subscribed")
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic) {
        log.append("unsubscribed")
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        log.append("read at \(request.offset)")
        requests.append(request)
        request.value = request.offset <= value.count ? value.dropFirst(request.offset) : nil
        if answers { peripheral.respond(to: request, withResult: request.value == nil ? .invalidOffset : result) }
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        log.append("write of \(requests.count)")
        self.requests += requests
        written += requests.compactMap(\.value)
        if answers, let first = requests.first { peripheral.respond(to: first, withResult: result) }
    }
    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { log.append("ready") }
    func peripheralManager(_ peripheral: CBPeripheralManager, didPublishL2CAPChannel psm: CBL2CAPPSM, error: (any Error)?) {
        log.append("published")
        self.psm = psm
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel psm: CBL2CAPPSM, error: (any Error)?) {
        log.append("unpublished")
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        log.append("opened")
        self.channel = channel
    }
}

/// An accessory and a central on one air.
struct Pair {
    let bench: CBBench
    let accessoryPhone: CBPhone
    let phone: CBPhone
    let accessory: Accessory
    let central: CentralProgram

    init(
        seed: UInt64 = 1, strict: Bool = false, accessory traits: CBPhoneTraits = CBPhoneTraits(),
        phone phoneTraits: CBPhoneTraits = CBPhoneTraits(), prepare: (CBBench) -> Void = { _ in }
    ) {
        bench = CBBench(seed: seed, strict: strict)
        prepare(bench)
        accessoryPhone = bench.phone("accessory", traits)
        phone = bench.phone("phone", phoneTraits)
        accessory = Accessory(on: accessoryPhone)
        central = CentralProgram(on: phone)
        bench.run { [accessory, central] in accessory.log.contains("advertising") && central.manager.state == .poweredOn }
    }

    func run(until condition: @escaping () -> Bool) -> Bool { bench.run(within: 40, until: condition) }

    /// Scans, connects and discovers everything.
    func connect() -> Bool {
        central.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
        guard run(until: { central.peripheral?.state == .connected }) else { return false }
        central.manager.stopScan()
        central.peripheral?.discoverServices([CBUUID(string: "180D")])
        guard run(until: { central.peripheral?.services?.isEmpty == false }), let service = central.peripheral?.services?.first else {
            return false
        }
        central.peripheral?.discoverCharacteristics(nil, for: service)
        return run(until: { service.characteristics?.count == 4 })
    }
}

/// An app that starts something when its manager is powered on.
final class ReadyApp: NSObject, CBCentralManagerDelegate {
    private(set) var manager: CBCentralManager!
    private let ready: (CBCentralManager) -> Void

    init(on phone: CBPhone, queue: DispatchQueue?, ready: @escaping (CBCentralManager) -> Void) {
        self.ready = ready
        super.init()
        manager = phone.use { CBCentralManager(delegate: self, queue: queue) }
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) { if central.state == .poweredOn { ready(central) } }
}
