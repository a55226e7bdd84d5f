import BBHost
import BBPackets
import Foundation

/// The requests of centrals that a program answers. A central has one request at a time. Core Vol 3, Part F, 3.3.2.
final class PhoneRequests {
    /// The request of one central, with the answers so far: Read Multiple asks for one value after another.
    private struct Pending {
        let link: Connection
        var tokens: [Int: (handle: UInt16, offset: Int)] = [:]
        var values: [UInt16: AttributeReadResult] = [:]
        var decision: AttributeWriteDecision?
    }

    private var pending: [ObjectIdentifier: Pending] = [:]
    private var lastToken = 0
    private unowned let server: PhoneServer

    init(_ server: PhoneServer) { self.server = server }

    func left(_ link: Connection) { pending[ObjectIdentifier(link)] = nil }

    // MARK: From the host

    func read(_ access: AttributeAccess) -> AttributeReadResult {
        guard let link = access.connection, let (port, characteristic) = server.characteristic(access.handle) else {
            return .error(.unlikelyError)
        }
        // A suspended program cannot answer.
        if port.isHeld, !port.isEnded { return .error(.unlikelyError) }
        var state = current(link, access)
        if let answer = state.values[access.handle] { return answer.shifted(by: access.offset) }
        let token = nextToken()
        state.tokens[token] = (access.handle, access.offset)
        pending[ObjectIdentifier(link)] = state
        let (identifier, mtu, offset) = (server.identifier(of: link), link.mtu, access.offset)
        let carried = Carried(characteristic)
        port.deliver { manager in
            let request = CBATTRequest(
                central: manager.central(identifier, mtu: mtu), characteristic: carried.value, offset: offset, value: nil, token: token)
            manager.delegate?.peripheralManager(manager, didReceiveRead: request)
        }
        return .later
    }

    /// Gives all values of one request, or all parts of a queued write, to the program together.
    func write(_ access: AttributeAccess, _ writes: [AttributeWrite]) -> AttributeWriteDecision {
        guard let link = access.connection else { return .proceed }
        var state = current(link, access)
        if let decision = state.decision { return decision }
        let rows = writes.compactMap { write in server.characteristic(write.handle).map { (write, $0.port, $0.characteristic) } }
        guard let port = rows.first?.1 else { return .proceed }
        if port.isHeld, !port.isEnded { return .refuse(handle: rows[0].0.handle, .unlikelyError) }
        let token = nextToken()
        if !access.isCommand {
            state.tokens[token] = (rows[0].0.handle, 0)
            pending[ObjectIdentifier(link)] = state
        }
        let (identifier, mtu) = (server.identifier(of: link), link.mtu)
        let carried = Carried(rows.map { ($0.0, $0.2) })
        port.deliver { manager in
            let central = manager.central(identifier, mtu: mtu)
            let requests = carried.value.map { write, characteristic in
                CBATTRequest(central: central, characteristic: characteristic, offset: write.offset, value: Data(write.value), token: token)
            }
            manager.delegate?.peripheralManager(manager, didReceiveWrite: requests)
        }
        return .later
    }

    private func current(_ link: Connection, _ access: AttributeAccess) -> Pending {
        let known = access.isRepeated ? pending[ObjectIdentifier(link)] : nil
        return known ?? Pending(link: link)
    }

    private func nextToken() -> Int {
        lastToken += 1
        return lastToken
    }

    // MARK: From the program

    /// - Parameter value: for a read, the value from the offset of the request on.
    func answer(_ token: Int, _ value: [UInt8], _ result: CBATTError.Code) {
        guard let (key, state) = pending.first(where: { $0.value.tokens[token] != nil }), let (handle, offset) = state.tokens[token] else {
            return
        }
        let code = UInt8(exactly: result.rawValue).map { ATTErrorCode(rawValue: $0) } ?? .unlikelyError
        pending[key]?.tokens[token] = nil
        pending[key]?.decision = result == .success ? .proceed : .refuse(handle: handle, code)
        let possible = [UInt8](value.prefix(max(0, AttributeValueLength.longest - offset)))
        pending[key]?.values[handle] = result == .success ? .value(possible) : .error(code)
        state.link.values.answer()
    }
}

extension AttributeReadResult {
    /// The server expects the complete value and cuts it at the offset; a program answers with what begins there.
    fileprivate func shifted(by offset: Int) -> AttributeReadResult {
        guard case .value(let value) = self else { return self }
        return .value([UInt8](repeating: 0, count: offset) + value)
    }
}
