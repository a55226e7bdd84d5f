import BBPackets

/// A synchronous connection as seen by the host: a transport of a link, and its voice coding. Core Vol 4, Part E, 5.4.3 and 6.12.
final class SynchronousLinkEnd: HandleHolder {
    let handle: ConnectionHandle
    let acl: ACLLinkEnd
    /// SCO_Handle or eSCO_Handle of the link manager.
    let id: UInt8
    var parameters: SynchronousParameters
    private var coder: VoiceCoder

    init(handle: ConnectionHandle, acl: ACLLinkEnd, id: UInt8, parameters: SynchronousParameters, voiceSetting: VoiceSetting) {
        self.handle = handle
        self.acl = acl
        self.id = id
        self.parameters = parameters
        coder = VoiceCoder(voiceSetting, airMode: parameters.airMode)
    }

    /// Its transport ends with the ACL link.
    func stop() {}

    func send(_ voice: ArraySlice<UInt8>) { acl.link.send(voice: coder.toAir(voice)[...], on: id) }

    /// Converts received voice for the host.
    func received(_ voice: ArraySlice<UInt8>) -> [UInt8] { coder.fromAir(voice) }
}

/// Voice data between host and links. Core Vol 4, Part E, 5.4.3.
extension BREDRController {
    /// - Parameter voiceSetting: voice setting of the local host.
    /// - Returns: the new connection with its own handle; the link manager creates its transport.
    func addSynchronous(_ id: UInt8, _ parameters: SynchronousParameters, voiceSetting: VoiceSetting, on end: ACLLinkEnd)
        -> SynchronousLinkEnd
    {
        let new = SynchronousLinkEnd(
            handle: controller.makeHandle(), acl: end, id: id, parameters: parameters, voiceSetting: voiceSetting)
        synchronousLinks.add(new)
        return new
    }

    func removeSynchronous(_ end: SynchronousLinkEnd) { synchronousLinks.remove(end) }

    func synchronous(_ handle: ConnectionHandle) -> SynchronousLinkEnd? { synchronousEnds.first { $0.handle == handle } }

    /// Handles voice data from the host, which is sent at a constant rate and without flow control.
    func receiveVoice(_ packet: HCIPacket) {
        guard let end = packet.dataHandle.flatMap(synchronous), packet.isWhole else { return }
        let voice = packet.bytes.dropFirst(HCIPacket.Kind.sco.headerLength)
        guard voice.count <= Int(configuration.voiceBuffers.length) else {
            return emit(HCIEvents.DataBufferOverflow(linkType: 0x00))
        }
        end.send(voice)
    }

    func link(_ link: BasebandLink, voice: ArraySlice<UInt8>, isCorrect: Bool, of id: UInt8) {
        guard let end = synchronousEnds.first(where: { $0.acl.link === link && $0.id == id }) else { return }
        let octets = end.received(voice)
        for start in stride(from: 0, to: octets.count, by: Self.longestVoice) {
            let part = octets[start..<min(start + Self.longestVoice, octets.count)]
            var writer = ByteWriter(reserving: part.count + HCIPacket.Kind.sco.headerLength)
            HCIData.SynchronousData(connectionHandle: end.handle, data: Array(part)).encode(into: &writer)
            controller.sendData(HCIPacket(.sco, writer.bytes))
        }
    }

    /// Maximum of the one-octet Data_Total_Length.
    private static let longestVoice = 255
}
