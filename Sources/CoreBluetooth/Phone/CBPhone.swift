import Foundation
import Host
import Packets
import Synchronization
import Timing
import Transport

/// One phone, or other device with Core Bluetooth: a host on one controller, which all managers of a program share.
///
/// Apart from what is said to be callable from anywhere, everything here belongs to the loop.
public final class CBPhone {
    public let name: String
    let loop: PhoneLoop
    let host: PhoneHost
    /// The known peers, readable from any thread.
    let directory: PeerRecords
    private(set) lazy var scanning = PhoneScanning(self)
    private(set) lazy var connecting = PhoneConnecting(self)
    private(set) lazy var server = PhoneServer(self)
    private var centrals: [CentralPort] = []
    private var servers: [ServerPort] = []
    private var isStarted = false
    /// False without a controller that works.
    private var hasDevice = true
    private let settings = Mutex(Settings())

    private struct Settings {
        var authorization = CBManagerAuthorization.allowedAlways
        var isPoweredOn = true
        var features: CBCentralManager.Feature = []
    }

    init(name: String, loop: PhoneLoop, transport: any HCITransport, seed: UInt64) {
        self.name = name
        self.loop = loop
        host = PhoneHost(loop: loop, transport: transport, database: GATTDatabase(deviceName: name), seed: seed)
        directory = PeerRecords(seed: loop.mode == .virtual ? seed : nil)
        var pairing = PairingSettings()
        pairing.ioCapability = .keyboardDisplay
        host.pairingSettings = pairing
    }

    /// Runs a call of the program on the loop, never inside the call itself. Callable from anywhere.
    func enter(_ body: @escaping () -> Void) {
        let carried = Carried(body)
        if loop.isOnLoop { loop.schedule(after: .zero) { carried.value() } } else { loop.post { carried.value() } }
    }

    /// Reports a call that has no effect. Callable from anywhere.
    func misuse(_ text: String) { FileHandle.standardError.write(Data("[CoreBluetooth] API MISUSE: \(text)\n".utf8)) }

    // MARK: The user

    /// The permission that the user has given to the program; a change is reported to its managers. Callable from anywhere.
    public var authorization: CBManagerAuthorization {
        get { settings.withLock { $0.authorization } }
        set {
            settings.withLock { $0.authorization = newValue }
            enter { self.tellState() }
        }
    }

    /// The Bluetooth switch in the settings; switching off ends all links. Callable from anywhere.
    public var isPoweredOn: Bool {
        get { settings.withLock { $0.isPoweredOn } }
        set {
            settings.withLock { $0.isPoweredOn = newValue }
            enter { self.switched() }
        }
    }

    /// The answers of the user to the questions of a pairing; by default every question is accepted. Set it before a pairing begins.
    public func answer(accepts: Bool, passkey: UInt32? = nil) {
        let carried = Carried(self)
        enter { carried.value.host.pairingDialogue = .unattended(accepts: accepts, passkey: passkey) }
    }

    // MARK: State

    var state: CBManagerState {
        guard isStarted else { return .unknown }
        guard hasDevice else { return .unsupported }
        switch authorization {
        case .denied, .restricted: return .unauthorized
        case .notDetermined, .allowedAlways: return isPoweredOn ? .poweredOn : .poweredOff
        }
    }

    /// Starts the host, then reports the state to the managers.
    func start() {
        server.listen()
        _ = loop.start { [self] in
            do { try await host.start() } catch { return failed("the controller does not start: \(error)") }
            if host.controller.supportsExtendedAdvertising { settings.withLock { $0.features = .extendedScanAndConnect } }
            isStarted = true
            tellState()
        }
    }

    /// Features of the device; none before its start. Callable from anywhere.
    var features: CBCentralManager.Feature { settings.withLock { $0.features } }

    /// There is no device: the state is unsupported.
    func failed(_ reason: String) {
        misuse(reason)
        isStarted = true
        hasDevice = false
        tellState()
    }

    func attach(_ port: CentralPort) {
        centrals.append(port)
        guard isStarted else { return }
        let state = state
        port.deliver { $0.update(state) }
    }

    func attach(_ port: ServerPort) {
        servers.append(port)
        guard isStarted else { return }
        let state = state
        port.deliver { $0.update(state) }
    }

    func detach(_ port: CentralPort) {
        centrals.removeAll { $0 === port }
        scanning.scan(nil, for: port)
        connecting.leave(port)
    }

    func detach(_ port: ServerPort) {
        servers.removeAll { $0 === port }
        server.leave(port)
    }

    /// Reports a connection that has been made or has ended to the managers that are registered for it.
    func connectionEvent(_ event: CBConnectionEvent, _ identifier: UUID) {
        for port in centrals where port.events?.admits(identifier, in: directory) ?? false {
            port.deliver { $0.happened(event, identifier) }
        }
    }

    private func tellState() {
        guard isStarted else { return }
        let state = state
        if state != .poweredOn { stopEverything() }
        for port in centrals { port.deliver { $0.update(state) } }
        for port in servers { port.deliver { $0.update(state) } }
    }

    private func switched() { tellState() }

    private func stopEverything() {
        scanning.stop()
        connecting.stop()
        server.stop()
    }
}
