import BBCases
import BBMisbehaviour
import BBPackets
import BBProducts
import BBTraffic
import BBVirtualDongle

extension Vocabulary {
    /// Returns all declared PDUs, host actions, features and settings.
    ///
    /// - Parameter covers: the public test cases that are accepted; nil for all.
    public static func declared(covers: PublicTests?) -> Vocabulary {
        var vocabulary = declared
        vocabulary.covers = covers
        return vocabulary
    }

    /// All declared names, with all public test-case ids. Fields are read when they are first needed.
    public static let declared: Vocabulary = {
        var pdus = declaredPDUs
        pdus.append(PDU(name: L2CAPFrame.name, layer: .l2cap, fields: L2CAPFrame.fields))
        pdus.append(PDU(name: SynchronousPacket.name, layer: .hciData, fields: SynchronousPacket.fields))
        for (name, fields) in RetransmissionFrames.fields { pdus.append(PDU(name: name, layer: .l2cap, fields: fields)) }
        pdus.append(PDU(name: RFCOMMFrames.name, layer: .rfcommFrames, fields: RFCOMMFrames.fields))
        pdus.append(PDU(name: LinkLayerData.name, layer: .llData, fields: LinkLayerData.fields))
        pdus.append(PDU(name: BasebandPacket.name, layer: .baseband, fields: BasebandPacket.fields))
        var vocabulary = Vocabulary(
            pdus: pdus, alternatives: AlternativeEvents.all, actions: NamedActions.all.map { $0.shape },
            features: Features.names.union(Features.usb),
            commands: Features.commands, covers: nil)
        vocabulary.worlds = .known
        vocabulary.device = DeviceFacts.shape
        return vocabulary
    }()
}

extension WorldSettings {
    /// The quirks of the bench's controllers, hosts and accessories.
    fileprivate static var known: WorldSettings {
        func byName(_ declarations: [QuirkDeclaration]) -> [String: QuirkDeclaration] {
            Dictionary(declarations.map { ($0.name, $0) }) { first, _ in first }
        }
        var settings = WorldSettings()
        settings.controllers = byName(QuirkCatalogue.controllers)
        settings.hosts = byName(QuirkCatalogue.hosts)
        settings.accessories = byName(QuirkCatalogue.accessories)
        settings.usbQuirks = Set(QuirkCatalogue.controllers.filter { $0.part == .usb }.map(\.name))
        settings.chips = { ChipProfile.all.map(\.name) }
        settings.chipMistake = QuirkCatalogue.chipMistake
        settings.defects = QuirkCatalogue.defects
        return settings
    }
}

extension L2CAPFrame {
    static func record(of payload: [UInt8], _ channel: UInt16, _ handle: UInt16) -> CaseRecord {
        CaseRecord([
            (Self.channel, .number(Int(channel))), ("Information_Payload", .octets(payload)), ("Connection_Handle", .number(Int(handle))),
        ])
    }
}

/// Data Physical Channel PDUs on the air without control PDUs. Core Vol 6, Part B, 2.4.
enum LinkLayerData {
    static let name = "LL_Data_PDU"

    static let fields: [Vocabulary.Field] = [
        .init("LLID", .number(0...3), labels: ["Continuation_Or_Empty": 1, "Start_Or_Complete": 2]), .init("Length", .number(0...255)),
        .init("Payload", .octets(atMost: 255)),
    ]

    static func record(of frame: AirFrame) -> CaseRecord {
        guard let pdu = frame.pdu else { return CaseRecord() }
        return CaseRecord([
            ("LLID", .number(Int(pdu.llid))), ("Length", .number(pdu.payload.count)), ("Payload", .octets(Array(frame.bytes[pdu.payload]))),
        ])
    }
}
