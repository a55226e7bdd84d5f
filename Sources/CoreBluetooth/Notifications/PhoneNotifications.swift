import BBHost
import BBPackets
import Foundation

/// The Apple Notification Center Service of a phone. Accessories read notifications through it once they are bonded and the user has
/// permitted it for them.
final class PhoneNotifications {
    static let service = BluetoothUUID(long: 0x7905_F431_B5CE_4E99_A40F_4B1E_122D_00D0)
    private static let source = BluetoothUUID(long: 0x9FBF_120D_6301_42D9_8C58_25E6_99A2_1DBD)
    private static let controlPoint = BluetoothUUID(long: 0x69D1_D8F3_45E1_49A8_9821_9BBD_FDAA_D9D9)
    private static let data = BluetoothUUID(long: 0x22EA_C6E9_24D6_4BB5_BE44_B36A_CE7C_7BFB)

    /// Errors of the control point.
    private enum Refusal {
        static let unknownCommand = ATTErrorCode(rawValue: 0xA0)
        static let invalidCommand = ATTErrorCode(rawValue: 0xA1)
        static let invalidParameter = ATTErrorCode(rawValue: 0xA2)
    }

    private enum Event: UInt8 { case added, modified, removed }

    private var shown: [UInt32: CBPhoneNotification] = [:]
    private var handles: (source: UInt16, data: UInt16)?
    /// Connections with an enabled notification source.
    private var readers: [Connection] = []
    /// The answer that the user gives when asked.
    var permits = true
    /// Actions that accessories have performed.
    var onAction: ((UInt32, Bool) -> Void)?
    private unowned let phone: CBPhone

    init(_ phone: CBPhone) { self.phone = phone }

    func publish() {
        var source = CharacteristicDefinition(Self.source, properties: .notify)
        source.configurationPermissions = [.read, .write, .writeEncrypted, .writeAuthorized]
        source.onSubscribe = { [unowned self] access, bits in subscribed(access.connection, isOn: bits != 0) }
        var control = CharacteristicDefinition(
            Self.controlPoint, properties: .write, permissions: [.write, .writeEncrypted, .writeAuthorized])
        control.onWrite = { [unowned self] access, value in command(value, on: access.connection) }
        var data = CharacteristicDefinition(Self.data, properties: .notify)
        data.configurationPermissions = source.configurationPermissions
        let service = phone.host.database.add(ServiceDefinition(Self.service, characteristics: [source, control, data]))
        phone.host.database.authorizes = { [unowned self] access in
            guard let link = access.connection else { return .refused }
            return phone.directory.readsNotifications(phone.directory.identifier(of: link.peer)) ? .granted : .refused
        }
        if let source = service[Self.source]?.value, let data = service[Self.data]?.value { handles = (source, data) }
    }

    // MARK: Permission

    /// Asks the user once a device is paired, if a program requires it.
    func paired(_ peer: PhonePeer) {
        guard let link = peer.link, link.isEncrypted else { return }
        for port in peer.needingNotifications { answered(permits, peer.identifier, port) }
    }

    private func answered(_ isPermitted: Bool, _ identifier: UUID, _ port: CentralPort) {
        phone.directory.permit(isPermitted, identifier)
        port.deliver(to: identifier) { peripheral in
            guard let manager = peripheral.manager else { return }
            manager.delegate?.centralManager(manager, didUpdateANCSAuthorizationFor: peripheral)
        }
    }

    /// The user changes the permission in the settings.
    func permit(_ isPermitted: Bool, _ identifier: UUID) {
        for port in phone.connecting.peer(identifier)?.needingNotifications ?? [] { answered(isPermitted, identifier, port) }
        phone.directory.permit(isPermitted, identifier)
    }

    // MARK: Notifications

    func show(_ notification: CBPhoneNotification, as identifier: UInt32) {
        let event = shown.updateValue(notification, forKey: identifier) == nil ? Event.added : .modified
        for link in readers { send(event, identifier, notification, to: link) }
    }

    func withdraw(_ identifier: UInt32) {
        guard let notification = shown.removeValue(forKey: identifier) else { return }
        for link in readers { send(.removed, identifier, notification, to: link) }
    }

    private func subscribed(_ link: Connection?, isOn: Bool) {
        guard let link else { return }
        readers.removeAll { $0 === link || !$0.isConnected }
        guard isOn else { return }
        readers.append(link)
        for (identifier, notification) in shown.sorted(by: { $0.key < $1.key }) {
            send(.added, identifier, notification, isOld: true, to: link)
        }
    }

    private func send(_ event: Event, _ identifier: UInt32, _ notification: CBPhoneNotification, isOld: Bool = false, to link: Connection) {
        guard let handles else { return }
        var writer = ByteWriter()
        writer.u8(event.rawValue)
        writer.u8(notification.flags | (isOld ? 0x04 : 0))
        writer.u8(notification.category.rawValue)
        writer.u8(UInt8(clamping: shown.values.count { $0.category == notification.category }))
        writer.u32(identifier)
        let octets = writer.bytes
        _ = phone.loop.start { try? await link.notify(handles.source, octets) }
    }

    // MARK: Control point

    private func command(_ value: RawSpan, on link: Connection?) -> ATTErrorCode? {
        guard let link else { return Refusal.invalidCommand }
        var reader = ByteReader(value)
        do {
            let code = try reader.u8("CommandID")
            switch code {
            case 0: return try attributes(&reader, on: link)
            case 2:
                let identifier = try reader.u32("NotificationUID")
                let action = try reader.u8("ActionID")
                guard shown[identifier] != nil, action <= 1 else { return Refusal.invalidParameter }
                onAction?(identifier, action == 0)
                withdraw(identifier)
                return nil
            default: return Refusal.unknownCommand
            }
        } catch {
            return Refusal.invalidCommand
        }
    }

    private func attributes(_ reader: inout ByteReader, on link: Connection) throws -> ATTErrorCode? {
        guard let handles else { return Refusal.invalidCommand }
        let identifier = try reader.u32("NotificationUID")
        guard let notification = shown[identifier] else { return Refusal.invalidParameter }
        var writer = ByteWriter()
        writer.u8(0)
        writer.u32(identifier)
        while reader.remaining > 0 {
            let attribute = try reader.u8("AttributeID")
            guard let text = notification.attribute(attribute) else { return Refusal.invalidParameter }
            // Title, subtitle and message are cut to a length.
            let most = (1...3).contains(attribute) ? Int(try reader.u16("Length")) : Int(UInt16.max)
            let octets = [UInt8](text.utf8.prefix(most))
            writer.u8(attribute)
            writer.u16(UInt16(clamping: octets.count))
            writer.bytes(octets)
        }
        let response = writer.bytes
        _ = phone.loop.start {
            // A long response comes in several notifications.
            var rest = response[...]
            while !rest.isEmpty {
                let part = [UInt8](rest.prefix(link.values.longest))
                try await link.notify(handles.data, part)
                rest = rest.dropFirst(part.count)
            }
        }
        return nil
    }
}

/// The notifications of a simulated phone. Callable from the thread of the bench.
extension CBPhone {
    /// Shows a notification, or changes it.
    public func show(_ notification: CBPhoneNotification, as identifier: UInt32) {
        enter { self.notifications.show(notification, as: identifier) }
    }

    /// Removes a notification that was read or dismissed.
    public func withdraw(_ identifier: UInt32) { enter { self.notifications.withdraw(identifier) } }

    /// The answer of the user when asked whether an accessory may read notifications; by default yes.
    public func answerNotifications(permits: Bool) { enter { self.notifications.permits = permits } }

    /// Changes the permission of an accessory in the settings.
    public func permitNotifications(_ isPermitted: Bool, for identifier: UUID) {
        enter { self.notifications.permit(isPermitted, identifier) }
    }

    /// Called when an accessory performs an action of a notification; true for the positive one.
    public func onNotificationAction(_ handler: @escaping (UInt32, Bool) -> Void) { enter { self.notifications.onAction = handler } }
}
