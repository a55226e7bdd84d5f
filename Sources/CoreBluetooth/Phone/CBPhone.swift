import BBHost
import BBPackets
import BBTiming
import BBTransport
import Foundation
import Synchronization

/// One phone, or other device with Core Bluetooth: a host on one controller, which all managers of a program share.
///
/// Apart from what is said to be callable from anywhere, everything here belongs to the loop.
public final class CBPhone {
    public let name: String
    let loop: PhoneLoop
    let host: PhoneHost
    /// The known peers, readable from any thread.
    let directory: PeerRecords
    var caches = AttributeCaches()
    private(set) lazy var scanning = PhoneScanning(self)
    private(set) lazy var connecting = PhoneConnecting(self)
    private(set) lazy var server = PhoneServer(self)
    private(set) lazy var notifications = PhoneNotifications(self)
    var programs = PhonePrograms()
    let traits: CBPhoneTraits
    /// The conduct towards accessories.
    let persona: CBPhonePersona
    /// Nil in wall time.
    let program: ProgramQueues?
    private var isStarted = false
    private var device = Device.works
    private let settings = Mutex(Settings())

    private struct Settings {
        var authorization = CBManagerAuthorization.allowedAlways
        var isPoweredOn = true
        var features: CBCentralManager.Feature = []
        var onLine: (@Sendable (String) -> Void)?
        var misuses: Misuses?
    }

    private enum Device {
        case works
        /// There has never been one that works.
        case isMissing
        /// The connection to the system's Bluetooth is lost for a moment.
        case isResetting
        /// It has just disappeared, and later it is lost.
        case isVanishing
        case isLost
        /// The program exits.
        case isLeft
    }

    /// - Parameter host: returns the host for a database.
    init(
        name: String, seed: UInt64, traits: CBPhoneTraits = CBPhoneTraits(), program: ProgramQueues? = nil,
        host makeHost: (GATTDatabase) -> PhoneHost
    ) {
        self.program = program
        self.name = name
        self.traits = traits
        var persona = traits.persona ?? CBPhonePersona()
        if let mtu = traits.mtu {
            persona.mtu = min(max(mtu, 23), 517)
            persona.mtuWithoutLength = nil
        }
        self.persona = persona
        host = makeHost(traits.database(name))
        loop = host.loop
        directory = PeerRecords(seed: loop.mode == .virtual ? seed : nil)
        var pairing = PairingSettings()
        pairing.ioCapability = .keyboardDisplay
        pairing.isBonding = traits.bonds
        persona.apply(to: &pairing, isDualMode: traits.isDualMode)
        host.pairingSettings = pairing
        host.setOfferedMTU(persona.mtu)
        host.parameterPolicy = { [persona] _, request in persona.granted(request) != nil }
        host.adjustsParameters = { [persona] in persona.granted($0) ?? $0 }
        launchTime = persona.launchTime
    }

    /// Runs a call of the program on the loop, never inside the call itself. Callable from anywhere.
    func enter(_ body: @escaping () -> Void) {
        let carried = Carried(body)
        if loop.isOnLoop { loop.schedule(after: .zero) { carried.value() } } else { loop.post { carried.value() } }
    }

    /// Called before each call of a delegate.
    var onCall: (() -> Void)?

    /// Reports a call of the program that has no effect. Callable from anywhere.
    func misuse(_ text: String) { say("API MISUSE: \(text)", isMisuse: true) }
    /// Reports a call of the program that has less effect than it seems. Callable from anywhere.
    func warn(_ text: String) { say("WARNING: \(text)", isMisuse: true) }
    /// Reports what has happened to the device. Callable from anywhere.
    func notice(_ text: String) { say("WARNING: \(text)", isMisuse: false) }

    private func say(_ text: String, isMisuse: Bool) {
        FileHandle.standardError.write(Data("[CoreBluetooth] \(text)\n".utf8))
        let (onLine, misuses) = settings.withLock { ($0.onLine, $0.misuses) }
        onLine?(text)
        if isMisuse { misuses?.add(text, of: name) }
    }

    /// Keeps the misuses with those of the other phones of a bench.
    func keepMisuses(in misuses: Misuses) { settings.withLock { $0.misuses = misuses } }

    /// Called on any thread with each line that a phone prints, such as `API MISUSE: ...` for a call without effect, without its prefix
    /// `[CoreBluetooth]`. Callable from anywhere.
    public var onLine: (@Sendable (String) -> Void)? {
        get { settings.withLock { $0.onLine } }
        set { settings.withLock { $0.onLine = newValue } }
    }

    // MARK: The user

    /// The permission that the user has given to the program; a change is reported to its managers. Callable from anywhere.
    public var authorization: CBManagerAuthorization {
        get { settings.withLock { $0.authorization } }
        set {
            settings.withLock { $0.authorization = newValue }
            enter { self.tellState() }
        }
    }

    /// The answer of the user to the question for permission, which is put when a manager is made while the permission is not determined.
    public var authorizationAnswer = CBManagerAuthorization.allowedAlways

    /// The Bluetooth switch in the settings; switching off ends all links. Callable from anywhere.
    public var isPoweredOn: Bool {
        get { settings.withLock { $0.isPoweredOn } }
        set {
            settings.withLock { $0.isPoweredOn = newValue }
            enter { self.switched() }
        }
    }

    /// The user renames the device in the settings: its Device Name is another one, which phones read on their next connection. Callable
    /// from anywhere.
    public func rename(_ name: String) {
        enter { [self] in
            guard let handle = host.database.services.lazy.compactMap({ $0[.deviceName]?.value }).first else { return }
            host.database[handle] = [UInt8](name.utf8)
        }
    }

    /// The answers of the user to the questions of a pairing; by default every question is accepted. Set it before a pairing begins.
    public func answer(accepts: Bool, passkey: UInt32? = nil) {
        let carried = Carried(self)
        enter {
            carried.value.acceptsPairings = accepts
            carried.value.host.pairingDialogue = .unattended(accepts: accepts, passkey: passkey)
        }
    }
    private(set) var acceptsPairings = true

    /// Called when something happens for managers of an ended program, with their restore identifiers: the program is launched and has
    /// `launchTime` to make them again.
    public var onLaunch: (([String]) -> Void)?
    /// Seconds; a manager that is not made again in that time loses its actions.
    public var launchTime: TimeInterval = 10

    /// Roles in which a program works while it is in the background.
    public struct BackgroundModes: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        public static let central = BackgroundModes(rawValue: 1)
        public static let peripheral = BackgroundModes(rawValue: 2)
    }

    /// The program has a usage description, or its Info.plist is not known.
    var isDeclared = true
    /// The roles that the program declares for the background.
    public var backgroundModes: BackgroundModes = [.central, .peripheral]
    /// The program is in the background: it is called only in its declared roles, finds devices only by service and without duplicates, and
    /// advertises neither its name nor services. Belongs to the thread of the bench.
    public var isInBackground = false {
        didSet { if isInBackground != oldValue { enter { self.moved() } } }
    }

    private func moved() {
        for port in programs.centrals where !port.isEnded && !backgroundModes.contains(.central) {
            if isInBackground { port.hold() } else { port.release() }
        }
        for port in programs.servers where !port.isEnded && !backgroundModes.contains(.peripheral) {
            if isInBackground { port.hold() } else { port.release() }
        }
        server.refresh()
    }

    /// The user pairs with a device over BR/EDR in the settings: the phone searches the device for services of attributes, and reports the
    /// connection to the managers that are registered for it. Core Vol 3, Part G, 9.
    package func pairInSettings(_ address: BDADDR) {
        _ = loop.start { [self] in
            let link = try await host.connectClassic(to: address)
            _ = try await link.pair()
            let gatt = try await link.openAttributes()
            let services = try await gatt.discoverServices().map(\.uuid)
            let identifier = directory.identifier(of: link.peer)
            directory.learned(services, of: identifier)
            connection(of: identifier, isUp: true)
            link.events.add { [weak self] event in
                if case .disconnected = event { self?.connection(of: identifier, isUp: false) }
            }
        }
    }

    /// "Forget This Device" in the settings: the bond is removed, the connection ends, and the device gets another identifier.
    public func forget(_ identifier: UUID) {
        enter { [self] in
            if let identity = directory.identity(of: identifier) { _ = host.keys.remove(identity) }
            connecting.drop(identifier)
            caches.forget(identifier)
            directory.forget(identifier)
        }
    }

    // MARK: State

    var state: CBManagerState {
        guard isStarted else { return .unknown }
        if device == .isMissing { return .unsupported }
        switch authorization {
        case .notDetermined: return .unknown
        case .denied, .restricted: return .unauthorized
        case .allowedAlways: break
        }
        switch device {
        case .isResetting, .isVanishing: return .resetting
        case .isLost: return .poweredOff
        case .works, .isLeft, .isMissing: return isPoweredOn ? .poweredOn : .poweredOff
        }
    }

    /// Starts the host, then reports the state to the managers.
    func start() {
        if traits.servesSystemServices {
            SystemServices.publish(on: self)
            notifications.publish()
        }
        server.listen()
        _ = loop.start { [self] in
            do { try await host.start() } catch { return failed("the controller does not start: \(error)") }
            do { try await traits.apply(to: host) } catch { return failed("the controller does not start: \(error)") }
            if host.controller.supportsExtendedAdvertising { settings.withLock { $0.features = .extendedScanAndConnect } }
            isStarted = true
            tellState()
            guard loop.mode == .wall, (try? await host.failure(within: nil)) != nil else { return }
            lostDevice()
        }
    }

    // MARK: Faults

    /// The system's Bluetooth service crashes: the state is `resetting`, all links, scans and services end, and after `duration` seconds
    /// the service is back. Callable from anywhere.
    public func crashService(for duration: TimeInterval = 1) {
        enter { [self] in
            guard device == .works else { return }
            device = .isResetting
            tellState()
            loop.schedule(after: .seconds(min(max(0, duration), 86_400))) { [self] in
                guard device == .isResetting else { return }
                device = .works
                tellState()
            }
        }
    }

    /// The Bluetooth controller disappears, as a dongle that is pulled out: the state is `resetting` for a moment, then `poweredOff` for
    /// good. Callable from anywhere.
    public func removeController() {
        enter { [self] in
            host.close()
            lostDevice()
        }
    }

    /// Time until a lost device counts as switched off.
    private static let resetTime = Microseconds.milliseconds(500)

    /// The controller has disappeared.
    func lostDevice() {
        guard device == .works || device == .isResetting, isStarted else { return }
        notice("the Bluetooth controller has disappeared\(host.failure.map { ": \($0)" } ?? "")")
        let isReset = device == .isResetting
        device = .isVanishing
        if !isReset { tellState() }
        loop.schedule(after: Self.resetTime) { [self] in
            device = .isLost
            tellState()
        }
    }

    /// The program exits and closes the device.
    func leaves() { device = .isLeft }

    /// Features of the device; none before its start. Callable from anywhere.
    var features: CBCentralManager.Feature { settings.withLock { $0.features } }

    /// There is no device: the state is unsupported.
    func failed(_ reason: String) {
        notice(reason)
        isStarted = true
        device = .isMissing
        tellState()
    }

    // MARK: Programs

    func attach(_ port: CentralPort) {
        guard mayUse() else { return }
        programs.add(port)
        var first = programs.begin(port, self)
        let state = state
        if state != .unknown { first.append { $0.update(state) } }
        port.release(after: first)
        askForPermission()
    }

    func attach(_ port: ServerPort) {
        guard mayUse() else { return }
        programs.add(port)
        var first = programs.begin(port, self)
        let state = state
        if state != .unknown { first.append { $0.update(state) } }
        port.release(after: first)
        askForPermission()
    }

    private func askForPermission() {
        if authorization == .notDetermined { authorization = authorizationAnswer }
    }

    func detach(_ port: CentralPort) {
        programs.remove(port)
        scanning.scan(nil, for: port)
        connecting.leave(port)
    }

    func detach(_ port: ServerPort) {
        programs.remove(port)
        server.leave(port)
    }

    /// Reports a connection that has been made or has ended, once, to the managers that are registered for it.
    func connection(of identifier: UUID, isUp: Bool) {
        guard directory.connection(of: identifier, isUp: isUp) else { return }
        let event: CBConnectionEvent = isUp ? .peerConnected : .peerDisconnected
        for port in programs.centrals where port.events?.admits(identifier, in: directory) ?? false {
            port.deliver { $0.happened(event, identifier) }
        }
    }

    private func tellState() {
        guard isStarted else { return }
        let state = state
        guard state != .unknown else { return }
        if state == .poweredOn { server.refresh() } else { stopEverything() }
        // The managers of an ended program get the state when they are made again.
        for port in programs.centrals where !port.isEnded { port.deliver { $0.update(state) } }
        for port in programs.servers where !port.isEnded { port.deliver { $0.update(state) } }
    }

    private func switched() { tellState() }

    private func stopEverything() {
        scanning.stop()
        connecting.stop()
        server.stop()
    }
}
