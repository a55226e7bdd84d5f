import Bluebench
import Testing

/// Pairing, and what needs it.
@Suite struct PairingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var phone: PairingOptions
        var sensor: PairingOptions
        var model: String
        var level: SecurityLevel

        var testDescription: String { "\(phone.ioCapability) with \(sensor.ioCapability): \(model)" }
    }

    /// Core Vol 3, Part H, table 2.8.
    static let rows: [Row] = {
        var legacy = PairingOptions(.keyboardDisplay)
        legacy.supportsSecureConnections = false
        var fixed = PairingOptions(.displayOnly)
        fixed.passkey = 123_456
        return [
            Row(phone: PairingOptions(), sensor: PairingOptions(), model: "Just Works", level: .encrypted),
            Row(phone: PairingOptions(.keyboardDisplay), sensor: PairingOptions(), model: "Just Works", level: .encrypted),
            Row(
                phone: PairingOptions(.displayYesNo), sensor: PairingOptions(.displayYesNo), model: "Numeric Comparison",
                level: .secureConnections),
            Row(phone: PairingOptions(.keyboardDisplay), sensor: fixed, model: "Passkey Entry", level: .secureConnections),
            Row(phone: legacy, sensor: fixed, model: "Passkey Entry", level: .authenticated),
        ]
    }()

    @Test(arguments: rows) func twoDevicesPair(row: Row) throws {
        try Pair.run { pair in
            var (shown, compared): (UInt32?, [UInt32]) = (nil, [])
            var user = PairingUser()
            user.showPasskey = { shown = $0 }
            user.enterPasskey = { shown ?? row.sensor.passkey }
            user.compare = {
                compared.append($0)
                return true
            }
            pair.sensor.acceptPairing(row.sensor, user: user)
            let result = try await pair.connection.pair(row.phone, user: user)
            #expect((result.model, result.level, result.isBonded) == (row.model, row.level, true))
            #expect(result.isSecureConnections == row.phone.supportsSecureConnections)
            #expect(pair.connection.security == row.level && pair.other?.security == row.level)
            // The last key goes to the sensor.
            try await pair.bench.wait(within: .seconds(1)) { !pair.sensor.bonds.isEmpty }
            #expect(pair.phone.bonds == [pair.sensor.address] && pair.sensor.bonds == [pair.phone.address])
            #expect(Set(compared).count == (row.model == "Numeric Comparison" ? 1 : 0))
        }
    }

    /// A read is refused until the link is as secure as it has to be.
    @Test(arguments: [SecurityLevel.encrypted, .authenticated, .secureConnections])
    func aProtectedValueIsReadAfterPairing(level: SecurityLevel) throws {
        var characteristic = LocalCharacteristic(.value, .read, value: [42])
        characteristic.readSecurity = level
        try Pair.run(publishing: [LocalService(.service, [characteristic])]) { pair in
            pair.sensor.acceptPairing(PairingOptions(.displayYesNo))
            let found = try await pair.connection.discover().characteristic(.value)
            let refused = await reason { _ = try await pair.connection.read(found) }
            #expect(refused?.reason == .att(.insufficientAuthentication, handle: found.handle))
            try await pair.connection.pair(PairingOptions(.displayYesNo))
            #expect(try await pair.connection.read(found) == [42])
        }
    }

    /// Either user may say no, and a host may refuse every pairing.
    @Test(arguments: [0, 1, 2]) func aPairingIsRefused(how: Int) throws {
        try Pair.run { pair in
            var refusing = PairingUser()
            refusing.compare = { _ in false }
            pair.sensor.acceptPairing(how == 2 ? nil : PairingOptions(.displayYesNo), user: how == 1 ? refusing : PairingUser())
            let user = how == 0 ? refusing : PairingUser()
            let error = await reason { try await pair.connection.pair(PairingOptions(.displayYesNo), user: user) }
            #expect(error?.origin == .peer && error?.reason == .pairingFailed)
            #expect(pair.connection.security == .none && pair.phone.bonds.isEmpty)
        }
    }

    @Test func aBondedPeerIsForgotten() throws {
        try Pair.run { pair in
            try await pair.connection.pair()
            #expect(pair.phone.forget(pair.sensor.address))
            #expect(!pair.phone.forget(pair.sensor.address) && pair.phone.bonds.isEmpty)
        }
    }
}
