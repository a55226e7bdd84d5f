import BBBTP
import BBHost
import BBPackets

/// The user's authorization of clients. Core Vol 3, Part C, 10.5.
final class AuthorizationState {
    enum Mode: UInt8 {
        case refuse = 0
        case grant = 1
        case ask = 2
    }

    var mode = Mode.refuse
    /// The user's answers, by connection.
    private var answers: [ConnectionHandle: Bool] = [:]
    /// Connections about which the user was asked.
    private var asked: Set<ConnectionHandle> = []

    func attach(to server: BTPServer) {
        server.host.database.authorizes = { [weak self, weak server] access in
            guard let self, let server, let link = access.connection else { return .refused }
            switch mode {
            case .refuse: return .refused
            case .grant: return .granted
            case .ask: return ask(link, access.handle, server)
            }
        }
    }

    /// Asks the user once for each connection.
    private func ask(_ link: Connection, _ handle: UInt16, _ server: BTPServer) -> AttributeAuthorization {
        if let answer = answers[link.handle] { return answer ? .granted : .refused }
        if asked.insert(link.handle).inserted {
            server.send(link) { BTPEvents.VendorAuthorizationRequest(addressType: $0, address: $1, handle: handle) }
        }
        return .later
    }

    func answer(_ isGranted: Bool, _ link: Connection) throws {
        guard asked.contains(link.handle) else { throw BTPError.fail }
        answers[link.handle] = isGranted
        link.values.answer()
    }

    func ended(_ link: Connection) {
        answers[link.handle] = nil
        asked.remove(link.handle)
    }
}

extension BTPHandlers {
    /// The vendor service: authorization, for which the protocol has no messages.
    mutating func addAuthorization() {
        does(BTPCommands.VendorSetAuthorization.self) { server, command in
            guard let mode = AuthorizationState.Mode(rawValue: command.authorization) else { throw BTPError.fail }
            server.authorization.mode = mode
        }
        does(BTPCommands.VendorAuthorize.self) { server, command in
            let link = try server.connection(command.addressType, command.address)
            try server.authorization.answer(command.granted != 0, link)
        }
    }
}
