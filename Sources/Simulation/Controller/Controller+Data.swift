import Packets

/// ACL data between host and links. Core Vol 4, Part E, 4.1 and 5.4.2.
extension Controller {
    func receiveACL(_ packet: HCIPacket) {
        guard let header = packet.aclHeader, let link = links.first(where: { $0.handle == header.handle }) else { return }
        let data = packet.bytes[ACLHeader.octets...]
        let length = Int(header.length)
        guard aclInUse < Int(configuration.aclCount), length <= Int(configuration.aclLength) else {
            return emit(HCIEvents.DataBufferOverflow(linkType: 0x01))
        }
        aclInUse += 1
        link.inUse += 1
        guard length == data.count, length > 0, header.boundary != .complete, header.broadcast == 0 else { return complete(1, link) }
        link.connection.send(data, isStart: header.boundary != .continuing)
        if configuration.quirks.creditsAtOnce { reportEarly(link) }
    }

    /// A credit for what has not gone out yet, as a faulty controller gives it.
    private func reportEarly(_ link: LinkEnd) {
        emit(HCIEvents.NumberOfCompletedPackets(handles: [.init(connectionHandle: link.handle, numCompletedPackets: 1)]))
    }

    /// Buffers are free again: told at once when a good part of them is, else a little later with others.
    func complete(_ count: Int, _ link: LinkEnd) {
        link.completed += count
        reportCompletedPackets(of: link.completed)
    }

    /// Reports at once when `completed` packets of one link are worth an event.
    func reportCompletedPackets(of completed: Int) {
        let batch = configuration.choices.creditBatch ?? (Int(configuration.aclCount) + 3) / 4
        if completed >= batch {
            reportCompletedPackets()
        } else {
            scheduleCompletionReport(at: loop.now + configuration.choices.creditDelay)
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
        guard !completedRows.isEmpty, !configuration.quirks.creditsAtOnce else { return }
        emit(HCIEvents.NumberOfCompletedPackets(handles: completedRows))
    }

    /// An LL data PDU for the host, cut to its buffers where it has told of them.
    func deliver(_ data: ArraySlice<UInt8>, isStart: Bool, on handle: ConnectionHandle) {
        guard hostFlow.isOn, data.count > hostFlow.length else { return deliverWhole(data, isStart: isStart, on: handle) }
        for start in stride(from: data.startIndex, to: data.endIndex, by: hostFlow.length) {
            let part = data[start..<min(start + hostFlow.length, data.endIndex)]
            deliverWhole(part, isStart: isStart && start == data.startIndex, on: handle)
        }
    }

    private func deliverWhole(_ data: ArraySlice<UInt8>, isStart: Bool, on handle: ConnectionHandle) {
        let header = ACLHeader(handle: handle, boundary: isStart ? .first : .continuing, length: UInt16(truncatingIfNeeded: data.count))
        let bytes = buffers.make { packet in
            header.encode(into: &packet)
            packet.bytes(data)
        }
        emitData(HCIPacket(.acl, bytes))
    }
}
