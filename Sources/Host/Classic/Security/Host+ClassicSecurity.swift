import BBHCI
import BBPackets

/// HCI events about the security of BR/EDR links. Core Vol 4, Part E, 7.7.
extension Host {
    /// Events that the host enables.
    static let classicSecurityEvents: [any HCIEvent.Type] = [
        HCIEvents.AuthenticationComplete.self, HCIEvents.LinkKeyRequest.self, HCIEvents.LinkKeyNotification.self,
        HCIEvents.PINCodeRequest.self, HCIEvents.IOCapabilityRequest.self, HCIEvents.IOCapabilityResponse.self,
        HCIEvents.UserConfirmationRequest.self, HCIEvents.UserPasskeyRequest.self, HCIEvents.UserPasskeyNotification.self,
        HCIEvents.RemoteOOBDataRequest.self, HCIEvents.SimplePairingComplete.self,
    ]

    /// Handles a security event, if the host has enabled it itself.
    func receivedSecurity(_ packet: HCIPacket) throws(PDUError) {
        guard classicSetup.isPrepared else { return }
        if let address = try Self.questioner(of: packet) {
            guard let connection = path.classicConnection(to: address) else { return refuse(packet, to: address) }
            return try connection.security.received(packet)
        }
        if let handle = try Self.securedHandle(of: packet) { try path.classicConnection(handle)?.security.received(packet) }
    }

    /// BD_ADDR of an event that contains one.
    private static func questioner(of packet: HCIPacket) throws(PDUError) -> BDADDR? {
        switch packet.eventCode {
        case HCIEvents.LinkKeyRequest.code: try packet.event(as: HCIEvents.LinkKeyRequest.self).bdADDR
        case HCIEvents.LinkKeyNotification.code: try packet.event(as: HCIEvents.LinkKeyNotification.self).bdADDR
        case HCIEvents.PINCodeRequest.code: try packet.event(as: HCIEvents.PINCodeRequest.self).bdADDR
        case HCIEvents.IOCapabilityRequest.code: try packet.event(as: HCIEvents.IOCapabilityRequest.self).bdADDR
        case HCIEvents.IOCapabilityResponse.code: try packet.event(as: HCIEvents.IOCapabilityResponse.self).bdADDR
        case HCIEvents.UserConfirmationRequest.code: try packet.event(as: HCIEvents.UserConfirmationRequest.self).bdADDR
        case HCIEvents.UserPasskeyRequest.code: try packet.event(as: HCIEvents.UserPasskeyRequest.self).bdADDR
        case HCIEvents.UserPasskeyNotification.code: try packet.event(as: HCIEvents.UserPasskeyNotification.self).bdADDR
        case HCIEvents.RemoteOOBDataRequest.code: try packet.event(as: HCIEvents.RemoteOOBDataRequest.self).bdADDR
        case HCIEvents.SimplePairingComplete.code: try packet.event(as: HCIEvents.SimplePairingComplete.self).bdADDR
        default: nil
        }
    }

    /// Connection handle of an event that contains one.
    private static func securedHandle(of packet: HCIPacket) throws(PDUError) -> ConnectionHandle? {
        switch packet.eventCode {
        case HCIEvents.AuthenticationComplete.code: try packet.event(as: HCIEvents.AuthenticationComplete.self).connectionHandle
        case HCIEvents.EncryptionChange.code: try packet.event(as: HCIEvents.EncryptionChange.self).connectionHandle
        case HCIEvents.EncryptionChangeV2.code: try packet.event(as: HCIEvents.EncryptionChangeV2.self).connectionHandle
        case HCIEvents.EncryptionKeyRefreshComplete.code:
            try packet.event(as: HCIEvents.EncryptionKeyRefreshComplete.self).connectionHandle
        default: nil
        }
    }

    /// Responds to a peer that authenticates before the connection is established, as in security mode 3, with the stored key; does not
    /// pair.
    private func refuse(_ packet: HCIPacket, to address: BDADDR) {
        var machine = BREDRSecurity(nil, known: keys.linkKey(of: address))
        guard let actions = try? machine.received(packet) else { return }
        for action in actions {
            guard let command = action.command(for: address, on: 0), let opcode = command.commandOpcode else { continue }
            commands.submit(opcode: opcode, command) { _ in }
        }
    }
}
