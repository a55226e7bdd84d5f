import Cases
import Host
import Packets
import Timing

/// What an action works with.
struct ActionContext {
    let action: any NamedAction.Type
    let bench: CaseBench
    let side: Side
    let deadline: Microseconds
    /// The place in the log where the step before it acted: what that brought about may have come already.
    let since: Int
    private let arguments: CaseRecord

    /// - Parameter given: what the step gives; the rest is as declared.
    init(_ action: any NamedAction.Type, _ given: CaseRecord, _ bench: CaseBench, _ side: Side, deadline: Microseconds, since: Int) {
        self.action = action
        self.bench = bench
        self.side = side
        self.deadline = deadline
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

    /// The step's HCI.
    func end() throws(StepFailure) -> Endpoint {
        guard let end = bench.end(side) else { throw StepFailure(.bench, "there is no HCI of the \(side.rawValue) here") }
        return end
    }

    /// Our host at the step's end.
    func driver() throws(StepFailure) -> HostDriver {
        guard let driver = bench.hosts[side] else { throw StepFailure(.bench, "\(action.name) needs a host at the \(side.rawValue)") }
        return driver
    }

    /// The connection after `on:`.
    func link() throws(StepFailure) -> Connection {
        guard let link = try driver().links[try self(.connection).rawValue] else {
            throw StepFailure(.precondition, "\(action.name) needs a connection of the host: what `do: connect` gave")
        }
        return link
    }

    /// The BR/EDR connection after `on:`.
    func classicLink() throws(StepFailure) -> ClassicConnection {
        guard let link = try driver().classicLinks[try self(.connection).rawValue] else {
            throw StepFailure(.precondition, "\(action.name) needs a BR/EDR connection of the host")
        }
        return link
    }

    /// Looks a characteristic up on the connection after `on:`.
    func characteristic(_ uuid: BluetoothUUID) async throws -> RemoteCharacteristic {
        let client = try link().gatt
        for service in try await client.discoverServices() {
            if let found = try await client.discoverCharacteristics(in: service, uuid: uuid).first { return found }
        }
        throw StepFailure(.subject, "the accessory has no characteristic \(uuid)")
    }
}
