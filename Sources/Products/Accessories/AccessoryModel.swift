import BBHost
import BBPackets
import BBTiming

/// A data model of an accessory: its advertising, its services and the values that it notifies.
struct AccessoryModel: Sendable {
    /// A characteristic that is notified or indicated repeatedly.
    struct Telling: Sendable {
        var characteristic: BluetoothUUID
        var kind: AttributeValueKind
        var period: Microseconds
        /// Returns the value of the n-th notification, counted from 0.
        var value: @Sendable (Int) -> [UInt8]
    }

    /// A value that is sent when another one is written.
    struct Reaction: Sendable {
        var stimulus: DeviceDescription.Stimulus
        var characteristic: BluetoothUUID
        var kind: AttributeValueKind
        var value: [UInt8]
    }

    var name: String
    var appearance: UInt16
    var advertised: [BluetoothUUID]
    /// Advertising data and scan response; nil for those that follow from name, appearance and services.
    var advertising: (data: AdvertisingData, response: AdvertisingData)?
    var services: [ServiceDefinition.Sketch]
    var tellings: [Telling] = []
    /// A value written to the first characteristic is notified by the second.
    var echo: (from: BluetoothUUID, to: BluetoothUUID)?
    var reactions: [Reaction] = []
    /// The SPSM of a credit-based channel that returns each SDU.
    var channel: UInt16?

    init(
        _ kind: AccessoryKind, advertised: [BluetoothUUID], services: [ServiceDefinition.Sketch], tellings: [Telling] = [],
        echo: (from: BluetoothUUID, to: BluetoothUUID)? = nil, channel: UInt16? = nil
    ) {
        (name, appearance, self.channel) = (kind.name, kind.appearance, channel)
        (self.advertised, self.services, self.tellings, self.echo) = (advertised, services, tellings, echo)
    }

    init(name: String, appearance: UInt16, services: [ServiceDefinition.Sketch]) {
        (self.name, self.appearance, self.services, advertised) = (name, appearance, services, [])
    }
}

extension ServiceDefinition {
    /// A service without behaviour.
    struct Sketch: Sendable {
        struct Entry: Sendable {
            var uuid: BluetoothUUID
            var properties: CharacteristicProperties
            var permissions: AttributePermissions?
            var configurationPermissions: AttributePermissions = [.read, .write]
            /// Octets.
            var keySize = 7
            var value: [UInt8] = []
            var maximumLength = 512
            /// Checks a written value; returns the error with which it is refused.
            var accepts: (@Sendable ([UInt8]) -> ATTErrorCode?)?
            var descriptors: [(BluetoothUUID, [UInt8])] = []
        }

        var uuid: BluetoothUUID
        var isPrimary = true
        var entries: [Entry]
    }
}

private typealias Entry = ServiceDefinition.Sketch.Entry

extension AccessoryModel {
    private static let information = ServiceDefinition.Sketch(
        uuid: 0x180A,
        entries: [
            Entry(uuid: 0x2A29, properties: .read, value: Array("Bluebench".utf8)),
            Entry(uuid: 0x2A24, properties: .read, value: Array("Model 1".utf8)),
            Entry(uuid: 0x2A26, properties: .read, value: Array("1.0".utf8)),
            Entry(uuid: 0x2A28, properties: .read, value: Array("1.0".utf8)),
        ])

    private static let battery = ServiceDefinition.Sketch(
        uuid: 0x180F, entries: [Entry(uuid: 0x2A19, properties: [.read, .notify], value: [90])])

    static let heartRate = AccessoryModel(
        .heartRate, advertised: [0x180D],
        services: [
            ServiceDefinition.Sketch(
                uuid: 0x180D,
                entries: [
                    Entry(uuid: 0x2A37, properties: .notify), Entry(uuid: 0x2A38, properties: .read, value: [1]),
                    // Reset Energy Expended is the only command. HRS 1.0, 3.3.
                    Entry(uuid: 0x2A39, properties: .write, accepts: { $0 == [1] ? nil : ATTErrorCode(0x80) }),
                ]), information, battery,
        ],
        tellings: [
            Telling(
                characteristic: 0x2A37, kind: .notification, period: .seconds(1),
                // Sensor contact detected, energy expended and one RR interval in units of 1/1024 s.
                value: { turn in
                    let rate = UInt8(60 + turn % 40)
                    let (energy, interval) = (UInt16(clamping: turn), UInt16(61_440 / Int(rate)))
                    return [0x1E, rate] + [energy, interval].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
                })
        ])

    package static let thermometer = AccessoryModel(
        .thermometer, advertised: [0x1809],
        services: [
            ServiceDefinition.Sketch(
                uuid: 0x1809,
                entries: [
                    Entry(uuid: 0x2A1C, properties: .indicate), Entry(uuid: 0x2A1D, properties: .read, value: [2]),
                    Entry(uuid: 0x2A1E, properties: .notify),
                ]), information, battery,
        ],
        tellings: [
            Telling(
                characteristic: 0x2A1C, kind: .indication, period: .seconds(2),
                // The temperature in tenths of a degree Celsius, with the exponent -1.
                value: { turn in [0x00, UInt8(0x6E + turn % 16), 0x01, 0x00, 0xFF] })
        ])

    /// An input report and an output report, whose values are available only to bonded centrals. HOGP 1.0, 5.
    package static let keyboard = AccessoryModel(
        .keyboard, advertised: [0x1812],
        services: [
            ServiceDefinition.Sketch(
                uuid: 0x1812,
                entries: [
                    Entry(uuid: 0x2A4A, properties: .read, permissions: [.read, .readEncrypted], value: [0x11, 0x01, 0x00, 0x02]),
                    Entry(uuid: 0x2A4B, properties: .read, permissions: [.read, .readEncrypted], value: reportMap),
                    Entry(
                        uuid: 0x2A4D, properties: [.read, .notify], permissions: [.read, .readEncrypted],
                        configurationPermissions: [.read, .write, .writeEncrypted], value: [UInt8](repeating: 0, count: 8),
                        descriptors: [(0x2908, [0x00, 0x01])]),
                    Entry(
                        uuid: 0x2A4D, properties: [.read, .write, .writeWithoutResponse],
                        permissions: [.read, .write, .readEncrypted, .writeEncrypted], value: [0], maximumLength: 1,
                        descriptors: [(0x2908, [0x00, 0x02])]),
                    Entry(uuid: 0x2A4C, properties: .writeWithoutResponse),
                ]), information, battery,
        ])

    package static let serial = AccessoryModel(
        .serial, advertised: [],
        services: [
            ServiceDefinition.Sketch(
                uuid: ReferenceAccessory.uuid(0x30),
                entries: [
                    Entry(uuid: ReferenceAccessory.uuid(0x31), properties: [.write, .writeWithoutResponse]),
                    Entry(uuid: ReferenceAccessory.uuid(0x32), properties: .notify),
                    Entry(
                        uuid: ReferenceAccessory.uuid(0x33), properties: [.read, .write], value: Array("115200 8N1".utf8), maximumLength: 64
                    ),
                    Entry(uuid: ReferenceAccessory.uuid(0x34), properties: .indicate),
                    Entry(uuid: .l2capPSM, properties: .read, value: [UInt8(serialSPSM & 0xFF), UInt8(serialSPSM >> 8)]),
                ]), information,
        ], echo: (from: ReferenceAccessory.uuid(0x31), to: ReferenceAccessory.uuid(0x32)), channel: serialSPSM)

    private static let serialSPSM: UInt16 = 0x00A5

    /// The report map of a keyboard with 8-octet reports: modifiers, one reserved octet, six keys; and five LEDs. HID 1.11, B.1.
    private static let reportMap: [UInt8] = [
        0x05, 0x01, 0x09, 0x06, 0xA1, 0x01, 0x05, 0x07, 0x19, 0xE0, 0x29, 0xE7, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x08, 0x81, 0x02,
        0x95, 0x01, 0x75, 0x08, 0x81, 0x01, 0x95, 0x05, 0x75, 0x01, 0x05, 0x08, 0x19, 0x01, 0x29, 0x05, 0x91, 0x02, 0x95, 0x01, 0x75, 0x03,
        0x91, 0x01, 0x95, 0x06, 0x75, 0x08, 0x15, 0x00, 0x25, 0x65, 0x05, 0x07, 0x19, 0x00, 0x29, 0x65, 0x81, 0x00, 0xC0,
    ]
}
