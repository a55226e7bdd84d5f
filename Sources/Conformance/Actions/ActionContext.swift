import BBCases
import BBHost
import BBPackets
import BBTiming

/// The parameters and the environment of an action.
struct ActionContext {
    let action: any NamedAction.Type
    let bench: CaseBench
    let side: Side
    let limit: ActionLimit
    var deadline: Microseconds { limit.deadline }
    /// The position in the log at which the previous step acted; its results may already have been received.
    let since: Int
    private let arguments: CaseRecord

    /// - Parameter given: the step's arguments; omitted ones have their default values.
    init(_ action: any NamedAction.Type, _ given: CaseRecord, _ bench: CaseBench, _ side: Side, limit: ActionLimit, since: Int) {
        self.action = action
        self.bench = bench
        self.side = side
        self.limit = limit
        self.since = since
        var arguments = given
        for argument in action.arguments where arguments[argument.name] == nil { arguments[argument.name] = argument.initial }
        self.arguments = arguments
    }

    func callAsFunction<Value>(_ argument: TypedArgument<Value>) throws(StepFailure) -> Value {
        let declaration = argument.declaration
        guard let value = arguments[declaration.name], declaration.kind.accepts(value), let read = argument.read(value) else {
            throw StepFailure(.precondition, "\(action.name) needs \(declaration.kind) after \(declaration.name):")
        }
        return read
    }

    /// Returns the endpoint of the step's side.
    func end() throws(StepFailure) -> Endpoint {
        guard let end = bench.end(side) else { throw StepFailure(.bench, "there is no HCI of the \(side.rawValue) here") }
        return end
    }

    /// Returns the host of the step's side.
    func driver() throws(StepFailure) -> HostDriver {
        guard let driver = bench.hosts[side] else { throw StepFailure(.bench, "\(action.name) needs a host at the \(side.rawValue)") }
        return driver
    }

    /// Returns the connection of `on:`.
    func link() throws(StepFailure) -> Connection {
        guard let link = try driver().links[try self(.connection).rawValue] else {
            throw StepFailure(.precondition, "\(action.name) needs a connection of the host: what `do: connect` gave")
        }
        return link
    }

    /// Returns the BR/EDR connection of `on:`.
    func classicLink() throws(StepFailure) -> ClassicConnection {
        guard let link = try driver().classicLinks[try self(.connection).rawValue] else {
            throw StepFailure(.precondition, "\(action.name) needs a BR/EDR connection of the host")
        }
        return link
    }

    /// Finds a characteristic on the connection of `on:`.
    func characteristic(_ uuid: BluetoothUUID) async throws -> RemoteCharacteristic {
        let client = try link().gatt
        for service in try await client.discoverServices() {
            if let found = try await client.discoverCharacteristics(in: service, uuid: uuid).first { return found }
        }
        throw StepFailure(.subject, "the accessory has no characteristic \(uuid)")
    }
}
