import BBBTP
import BBHost
import BBPackets

extension BTPHandlers {
    /// Enhanced ATT bearers, of the services GATT and L2CAP, and notifications of several values.
    mutating func addEnhancedBearers() {
        does(BTPCommands.GATTEATTConnect.self) { server, command in
            let link = try server.connection(command.addressType, command.address)
            guard (1...5).contains(command.numChannels), link.security > .none else { throw BTPError.fail }
            server.start { try await link.openEnhancedBearers(Int(command.numChannels)) }
        }
        does(BTPCommands.L2CAPDisconnectEATT.self) { server, command in
            let bearers = try server.connection(command.addressType, command.address).enhancedBearers
            guard bearers.count >= Int(command.numChannels) else { throw BTPError.fail }
            for bearer in bearers.suffix(Int(command.numChannels)) { bearer.close() }
        }
        does(BTPCommands.GATTNotifyMultiple.self) { server, command in
            let link = try server.connection(command.addressType, command.address)
            let values = try command.attributeIDs.map { handle in
                guard let value = server.host.database[handle] else { throw BTPError.fail }
                return (characteristic: handle, value: value)
            }
            server.start { try await link.notify(values) }
        }
    }
}
