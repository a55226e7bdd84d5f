import Bluebench

/// An accessory: its brightness is a characteristic, and it switches itself off after ten minutes without a command.
public final class Lamp {
    public static let service = BluetoothUUID(long: 0x3B2F_0001_5F1C_4C3A_9E0B_6A1D_5A8E_7C01)
    public static let brightness = BluetoothUUID(long: 0x3B2F_0002_5F1C_4C3A_9E0B_6A1D_5A8E_7C01)
    /// Time after the last command.
    public static let autoOff = Duration.seconds(600)

    /// In percent.
    public private(set) var brightness: UInt8 = 0
    private let host: BluetoothHost
    private var characteristic: PublishedCharacteristic?
    private var timer: BenchTask<Void>?

    public init(on host: BluetoothHost) {
        self.host = host
        var definition = LocalCharacteristic(Self.brightness, [.read, .write, .notify])
        definition.onRead = { [unowned self] _ in [brightness] }
        definition.onWrite = { [unowned self] _, value in try set(value) }
        characteristic = host.publish(LocalService(Self.service, [definition]))[Self.brightness]
    }

    /// Advertises, and again after each connection, until it is cancelled.
    public func run() async throws {
        while true {
            let advertising = try await host.advertise(AdvertisingOptions(name: "Lamp"))
            try await advertising.connection(within: .seconds(86_400)).ended()
        }
    }

    private func set(_ value: [UInt8]) throws {
        guard value.count == 1 else { throw ATTRefusal(.invalidAttributeValueLength) }
        guard value[0] <= 100 else { throw ATTRefusal(.valueNotAllowed) }
        brightness = value[0]
        timer?.cancel()
        timer = host.bench.start { [weak self] in
            try await self?.host.bench.sleep(for: Self.autoOff)
            try await self?.switchOff()
        }
    }

    private func switchOff() async throws {
        brightness = 0
        if let characteristic { try await host.notify([0], of: characteristic) }
    }
}

/// The app: finds a lamp and sets its brightness.
public final class LampRemote {
    public let connection: Connection
    private let brightness: RemoteCharacteristic

    private init(_ connection: Connection, _ brightness: RemoteCharacteristic) {
        (self.connection, self.brightness) = (connection, brightness)
    }

    /// Connects to the first device with the name of a lamp.
    public static func connect(with host: BluetoothHost) async throws -> LampRemote {
        let connection = try await host.connect(to: try await host.find(named: "Lamp"))
        return LampRemote(connection, try await connection.discover().service(Lamp.service).characteristic(Lamp.brightness))
    }

    /// Sets the brightness in percent, and returns what the lamp then has.
    public func set(_ percent: UInt8) async throws -> UInt8? {
        try await connection.write([percent], to: brightness)
        return try await read()
    }

    public func read() async throws -> UInt8? { try await connection.read(brightness).first }

    /// Subscribes to changes that the lamp makes itself.
    public func changes() async throws -> Subscription { try await connection.subscribe(to: brightness) }
}
