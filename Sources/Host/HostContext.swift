import BBHCI
import BBMisbehaviour
import BBPackets
import BBTiming
import BBTransport

/// State shared by all connections of a host.
final class HostContext {
    let loop: RunLoop
    let scheduler: ACLScheduler
    let server: GATTServer
    var counters = HostCounters()
    var quirks = HostQuirks()
    var workarounds = ControllerWorkarounds()
    var knowledge: ControllerKnowledge?
    var learned = LearnedConductList()
    var classicChoices = ClassicChoices()
    var keys = KeyStore()
    /// Services by SPSM.
    var services: [UInt16: ChannelService] = [:]
    /// Services by SPSM, for channels over BR/EDR.
    var classicCreditServices: [UInt16: ChannelService] = [:]
    /// Enhanced ATT bearers that peers may open; nil for none.
    var enhancedBearers: EnhancedBearerSettings?
    /// Services by PSM.
    var classicServices: [UInt16: ClassicService] = [:]
    /// Service records for peers on BR/EDR.
    var discovery = SDPServer()
    /// Serial ports by RFCOMM server channel.
    var serialServices: [UInt8: SerialService] = [:]
    /// Offered profiles; by default those of a phone without any.
    var profileOffer = ProfileOffer(role: .phone)
    /// Handles of the service records for GATT services on BR/EDR.
    var attributeRecords: [UInt32] = []

    init(loop: RunLoop, scheduler: ACLScheduler, server: GATTServer) {
        self.loop = loop
        self.scheduler = scheduler
        self.server = server
    }

    /// Replacement PDUs of the first matching rule for an outgoing PDU; nil if there is none.
    func rewrites(of payload: [UInt8], cid: UInt16) -> [PacketRules.Replacement]? {
        Layer(channel: cid).flatMap { quirks.rewrites.replacements(of: payload, $0) }
    }

    /// Replacement PDUs of the first matching rule for an incoming PDU; nil if there is none.
    func rewrites(ofReceived payload: [UInt8], cid: UInt16) -> [PacketRules.Replacement]? {
        Layer(channel: cid).flatMap { quirks.receivedRewrites.replacements(of: payload, $0) }
    }
}
