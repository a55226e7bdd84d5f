import BBHost
import BBPackets
import Foundation

/// Services that a phone itself offers to a bonded accessory: Battery, Current Time, Device Information.
struct SystemServices {
    /// Seconds since 1 January 2001 at the begin of the clock of a bench: 1 January 2026.
    private static let begin: TimeInterval = 788_918_400
    private static let protected: AttributePermissions = [.read, .readEncrypted]

    static func publish(on phone: CBPhone) {
        func value(_ uuid: BluetoothUUID, _ octets: [UInt8]) -> CharacteristicDefinition {
            CharacteristicDefinition(uuid, properties: .read, permissions: protected, value: octets)
        }
        let information = [value(0x2A29, [UInt8]("Bluebench".utf8)), value(0x2A24, [UInt8](phone.name.utf8))]
        var level = CharacteristicDefinition(0x2A19, properties: [.read, .notify], permissions: protected, value: [100])
        level.configurationPermissions = [.read, .write, .writeEncrypted]
        var time = CharacteristicDefinition(0x2A2B, properties: [.read, .notify], permissions: protected)
        time.configurationPermissions = level.configurationPermissions
        time.onRead = { [unowned phone] _ in .value(currentTime(Double(phone.loop.now.halfMicroseconds) / 2_000_000)) }
        // Time zone in units of 15 minutes, daylight saving time: both 0 for UTC. CTS 1.1, 3.2.
        let zone = value(0x2A0F, [0, 0])
        let database = phone.host.database
        database.add(ServiceDefinition(0x180A, characteristics: information))
        database.add(ServiceDefinition(0x180F, characteristics: [level]))
        database.add(ServiceDefinition(0x1805, characteristics: [time, zone]))
    }

    /// Exact Time 256 and Adjust Reason, which a phone leaves at 0. CTS 1.1, 3.1.
    static func currentTime(_ elapsed: TimeInterval) -> [UInt8] {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
        let parts = calendar.dateComponents(
            [.year, .month, .day, .hour, .minute, .second, .weekday], from: Date(timeIntervalSinceReferenceDate: begin + elapsed))
        // Monday is 1; Foundation's Sunday is 1.
        let weekday = ((parts.weekday ?? 1) + 5) % 7 + 1
        var writer = ByteWriter()
        writer.u16(UInt16(clamping: parts.year ?? 0))
        for number in [parts.month, parts.day, parts.hour, parts.minute, parts.second, weekday] { writer.u8(UInt8(clamping: number ?? 0)) }
        writer.u8(UInt8(clamping: Int(saturating: elapsed.truncatingRemainder(dividingBy: 1) * 256)))
        writer.u8(0)
        return writer.bytes
    }
}
