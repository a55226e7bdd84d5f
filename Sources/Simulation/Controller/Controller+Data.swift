import Packets

/// ACL data between host and links. Core Vol 4, Part E, 4.1 and 5.4.2.
extension Controller {
    /// How long an acknowledged packet may wait for company before its buffer is reported free.
    private var reportingDelay: Microseconds { 1_250 }

    func receiveACL(_ bytes: [UInt8]) {
        guard bytes.count >= 4 else { return }
        let word = UInt16(bytes[0]) | UInt16(bytes[1]) << 8
        let length = Int(bytes[2]) | Int(bytes[3]) << 8
        guard let link = links.first(where: { $0.handle.rawValue == word & 0x0FFF }) else { return }
        guard aclInUse < Int(configuration.aclCount), length <= Int(configuration.aclLength) else {
            return emit(HCIEvents.DataBufferOverflow(linkType: 0x01))
        }
        aclInUse += 1
        link.inUse += 1
        let boundary = word >> 12 & 3
        let isBroadcast = word >> 14 != 0
        guard length == bytes.count - 4, length > 0, boundary != 3, !isBroadcast else { return complete(1, link) }
        link.connection.send(bytes[4...], isStart: boundary != 1)
    }

    /// Buffers are free again: told at once when a good part of them is, else a little later with others.
    func complete(_ count: Int, _ link: LinkEnd) {
        link.completed += count
        reportCompletedPackets(of: link.completed)
    }

    /// Reports at once when `completed` packets of one link are worth an event.
    func reportCompletedPackets(of completed: Int) {
        if completed * 4 >= Int(configuration.aclCount) {
            reportCompletedPackets()
        } else {
            scheduleCompletionReport(at: loop.now + reportingDelay)
        }
    }

    func reportCompletedPackets() {
        completedRows.removeAll(keepingCapacity: true)
        for link in links where link.completed > 0 {
            completedRows.append(.init(connectionHandle: link.handle, numCompletedPackets: UInt16(truncatingIfNeeded: link.completed)))
            aclInUse -= link.completed
            link.inUse -= link.completed
            link.completed = 0
        }
        if let row = loopback?.takeCompleted() {
            completedRows.append(row)
            aclInUse -= Int(row.numCompletedPackets)
        }
        guard !completedRows.isEmpty else { return }
        emit(HCIEvents.NumberOfCompletedPackets(handles: completedRows))
    }

    /// An LL data PDU for the host.
    func deliver(_ data: ArraySlice<UInt8>, isStart: Bool, on handle: ConnectionHandle) {
        let word = handle.rawValue | (isStart ? 0x2000 : 0x1000)
        let bytes = buffers.make { packet in
            packet.u16(word)
            packet.u16(UInt16(truncatingIfNeeded: data.count))
            packet.bytes(data)
        }
        emitData(HCIPacket(.acl, bytes))
    }
}
