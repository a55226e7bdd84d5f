import BBCases
import BBHost
import BBPackets

/// Publishes a characteristic to which the other side can subscribe.
enum OfferValue: NamedAction {
    static let name = "offer a value"
    static let about = "the host publishes a service with one characteristic that notifies and indicates"
    static var arguments: [ActionArgument] { [] }
    static let results = ["value", "cccd"]
    static let needsHost = true

    private static let service: BluetoothUUID = 0xB1B0
    private static let characteristic: BluetoothUUID = 0xB1B1

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let database = try context.driver().host.database
        let published = database.add(
            ServiceDefinition(
                service, characteristics: [CharacteristicDefinition(characteristic, properties: [.read, .notify, .indicate], value: [0])]))
        let found = published[characteristic]
        return CaseRecord([
            ("value", .number(Int(found?.value ?? 0))), ("cccd", .number(Int(found?.configuration ?? 0))),
        ])
    }
}
