import CoreBluetooth

/// An app that does what its input says, for tests with a foreign peer: `BLUEBENCH_DEVICE` names the device.
///
/// Its managers have no queue, so that all calls come on the main queue. A line of output for each call of a delegate.
///   central | server                 a manager
///   scan UUID, connect, cancel       the first peripheral that is found is used
///   again                            cancels the connection and connects, in one turn
///   discover                         all services and characteristics
///   read UUID | write UUID HEX | command UUID HEX | notify UUID
///   limits                           the longest write with and without response
///   channel PSM                      opens a channel
///   pump COUNT MOST                  writes and reads COUNT octets, at most MOST for each event
///   update HEX                       of the served characteristic 2A37, and the longest update
final class App: NSObject {
    @MainActor private static let shared = App()

    private var central: CBCentralManager?
    private var server: CBPeripheralManager?
    private var peripheral: CBPeripheral?
    private var channel: CBL2CAPChannel?
    private var pump = Pump(0, 1)
    private var subscriber: CBCentral?
    private let rate = CBMutableCharacteristic(type: CBUUID(string: "2A37"), properties: .notify, value: nil, permissions: [])
    private let control = CBMutableCharacteristic(type: CBUUID(string: "2A39"), properties: .write, value: nil, permissions: .writeable)

    /// Reads lines on a thread and performs them on the main queue, until the input ends.
    static func run() -> Never {
        Thread.detachNewThread {
            while let line = readLine() {
                let words = line.split(separator: " ").map(String.init)
                DispatchQueue.main.async { MainActor.assumeIsolated { shared.perform(words[0], words.dropFirst().map { $0 }) } }
            }
            exit(0)
        }
        while true { Foundation.RunLoop.main.run() }
    }

    private func say(_ text: String, _ error: (any Error)? = nil) {
        let place = Thread.isMainThread ? "" : "NOT ON THE MAIN QUEUE "
        let end = error.map { " failed: \($0.localizedDescription)" } ?? ""
        FileHandle.standardOutput.write(Data("\(place)\(text)\(end)\n".utf8))
    }

    private func perform(_ name: String, _ words: [String]) {
        switch name {
        case "central": central = CBCentralManager(delegate: self, queue: nil)
        case "server": server = CBPeripheralManager(delegate: self, queue: nil)
        case "scan": central?.scanForPeripherals(withServices: [CBUUID(string: words[0])])
        case "update": update(Data(hex: words[0]))
        default: if let peripheral { use(peripheral, name, words) }
        }
    }

    private func use(_ peripheral: CBPeripheral, _ name: String, _ words: [String]) {
        switch name {
        case "connect": central?.connect(peripheral)
        case "cancel": central?.cancelPeripheralConnection(peripheral)
        case "again":
            central?.cancelPeripheralConnection(peripheral)
            central?.connect(peripheral)
        case "discover": peripheral.discoverServices(nil)
        case "limits":
            let limits = [CBCharacteristicWriteType.withResponse, .withoutResponse].map { peripheral.maximumWriteValueLength(for: $0) }
            say("limits \(limits[0]) \(limits[1])")
        case "channel": peripheral.openL2CAPChannel(CBL2CAPPSM(words[0]) ?? 0)
        case "pump": start(Pump(Int(words[0]) ?? 0, Int(words[1]) ?? 1))
        default: use(characteristic(words[0]), of: peripheral, name, words)
        }
    }

    private func use(_ characteristic: CBCharacteristic?, of peripheral: CBPeripheral, _ name: String, _ words: [String]) {
        guard let characteristic else { return say("no \(words[0])") }
        switch name {
        case "read": peripheral.readValue(for: characteristic)
        case "write": peripheral.writeValue(Data(hex: words[1]), for: characteristic, type: .withResponse)
        case "command": peripheral.writeValue(Data(hex: words[1]), for: characteristic, type: .withoutResponse)
        case "notify": peripheral.setNotifyValue(true, for: characteristic)
        default: say("unknown: \(name)")
        }
    }

    private func characteristic(_ uuid: String) -> CBCharacteristic? {
        peripheral?.services?.lazy.flatMap { $0.characteristics ?? [] }.first { $0.uuid == CBUUID(string: uuid) }
    }

    private func start(_ pump: Pump) {
        self.pump = pump
        for stream in [channel?.inputStream, channel?.outputStream] as [Stream?] {
            stream?.delegate = self
            stream?.schedule(in: .main, forMode: .default)
            stream?.open()
        }
    }

    private func update(_ value: Data) {
        let isSent = server?.updateValue(value, for: rate, onSubscribedCentrals: nil)
        say("updated \(isSent ?? false) \(subscriber?.maximumUpdateValueLength ?? 0)")
    }
}

extension App: CBCentralManagerDelegate, CBPeripheralDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) { say("state \(central.state)") }
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any], rssi: NSNumber
    ) {
        central.stopScan()
        self.peripheral = peripheral
        peripheral.delegate = self
        say("found \(peripheral.name ?? "-")")
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { say("connected") }
    func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?) {
        say("disconnected", error)
    }
    func peripheralDidUpdateName(_ peripheral: CBPeripheral) { say("name \(peripheral.name ?? "-")") }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
    }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?) {
        guard peripheral.services?.allSatisfy({ $0.characteristics != nil }) == true else { return }
        say("discovered \(peripheral.services?.map(\.uuid.uuidString).joined(separator: ",") ?? "")")
    }
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?) {
        say("value \(characteristic.value?.hex ?? "-")", error)
    }
    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?) {
        say("written", error)
    }
    func peripheral(_ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?) {
        say("notifying \(characteristic.isNotifying)", error)
    }
    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        say("modified \(invalidatedServices.map(\.uuid.uuidString).joined(separator: ","))")
    }
    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        self.channel = channel
        say("opened", error)
    }
}

/// Octets that go through a channel and come back.
private struct Pump {
    let octets: [UInt8]
    let most: Int
    var rest: ArraySlice<UInt8>
    var read: [UInt8] = []

    init(_ count: Int, _ most: Int) {
        octets = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        (self.most, rest) = (most, octets[...])
    }
}

extension App: StreamDelegate {
    /// One read or one write for each event.
    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        if eventCode == .hasBytesAvailable, let input = aStream as? InputStream {
            var buffer = [UInt8](repeating: 0, count: pump.most)
            let count = input.read(&buffer, maxLength: pump.most)
            pump.read += buffer.prefix(max(0, count))
            if pump.read.count >= pump.octets.count { say("read \(pump.read == pump.octets)") }
        } else if eventCode == .hasSpaceAvailable, !pump.rest.isEmpty, let output = aStream as? OutputStream {
            let octets = pump.rest.prefix(pump.most)
            pump.rest.removeFirst(max(0, output.write([UInt8](octets), maxLength: octets.count)))
        }
    }
}

extension App: CBPeripheralManagerDelegate {
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        say("state \(peripheral.state)")
        guard peripheral.state == .poweredOn else { return }
        let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
        service.characteristics = [rate, control]
        peripheral.add(service)
        peripheral.startAdvertising([CBAdvertisementDataLocalNameKey: "Sensor", CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
    }
    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) { say("advertising", error) }
    func peripheralManager(_ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic) {
        subscriber = central
        say("subscribed")
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        say("writes" + requests.map { " \($0.offset):\($0.value?.hex ?? "-")" }.joined())
        peripheral.respond(to: requests[0], withResult: .success)
    }
}

extension Data {
    fileprivate init(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue)
        self.init(stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) })
    }

    fileprivate var hex: String {
        map { octet in
            let text = String(octet, radix: 16)
            return octet < 16 ? "0" + text : text
        }.joined()
    }
}
