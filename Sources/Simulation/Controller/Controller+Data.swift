import BBPackets

/// ACL packets from the host in the controller's buffers, and the report of those that were sent.
struct PacketCompletions {
    /// Number of unacknowledged packets, of LE links or of all that share buffers.
    var inUse = 0
    /// Rows of the last Number_Of_Completed_Packets, kept to reuse the storage.
    var rows: [HCIEvents.NumberOfCompletedPackets.Handle] = []
}

/// ACL data between host and links. Core Vol 4, Part E, 4.1 and 5.4.2.
extension Controller {
    func receiveACL(_ packet: HCIPacket) {
        guard let header = packet.aclHeader, let link = hostLink(header.handle) else { return }
        let data = packet.bytes[ACLHeader.octets...]
        let length = Int(header.length)
        guard takeBuffer(for: length, of: link) else { return emit(HCIEvents.DataBufferOverflow(linkType: 0x01)) }
        link.inUse += 1
        guard length == data.count, length > 0, header.boundary != .complete, header.broadcast == 0 else { return complete(1, link) }
        link.send(data, isStart: header.boundary != .continuing)
        if configuration.quirks.creditsAtOnce { reportEarly(link) }
    }

    /// BR/EDR links have separate buffers, unless LE shares them. Core Vol 4, Part E, 4.1.1.
    private func hasOwnBuffers(_ link: any HostLink) -> Bool { link.isBREDR && !configuration.choices.sharesBuffers }

    private func takeBuffer(for length: Int, of link: any HostLink) -> Bool {
        if hasOwnBuffers(link) {
            guard bredr.buffersInUse < Int(configuration.bredrACLCount), length <= Int(configuration.bredrACLLength) else { return false }
            bredr.buffersInUse += 1
        } else {
            guard completions.inUse < Int(configuration.aclCount), length <= Int(configuration.aclLength) else { return false }
            completions.inUse += 1
        }
        return true
    }

    private func freeBuffers(_ count: Int, of link: any HostLink) {
        if hasOwnBuffers(link) { bredr.buffersInUse -= count } else { completions.inUse -= count }
        link.inUse -= count
    }

    /// Frees the buffers of a link that has ended.
    func forget(_ link: any HostLink) {
        freeBuffers(link.inUse, of: link)
        hostFlow.close(link.handle)
        sendWaitingData()
    }

    /// Reports packets as completed before they were sent, to inject a fault.
    private func reportEarly(_ link: any HostLink) {
        emit(HCIEvents.NumberOfCompletedPackets(handles: [.init(connectionHandle: link.handle, numCompletedPackets: 1)]))
    }

    /// Frees buffers and reports them: at once if enough are free, otherwise a little later.
    func complete(_ count: Int, _ link: any HostLink) {
        link.completed += count
        reportCompletedPackets(of: link.completed)
    }

    /// Reports completed packets at once if the link has reached the batch size.
    func reportCompletedPackets(of completed: Int) {
        let batch = configuration.choices.creditBatch ?? (Int(configuration.aclCount) + 3) / 4
        if completed >= batch {
            reportCompletedPackets()
        } else {
            scheduleCompletionReport(at: loop.now + configuration.choices.creditDelay)
        }
    }

    func reportCompletedPackets() {
        completions.rows.removeAll(keepingCapacity: true)
        for link in links where link.completed > 0 { addCompletedRow(link) }
        for link in bredr.links where link.completed > 0 { addCompletedRow(link) }
        if let row = loopback?.takeCompleted() {
            completions.rows.append(row)
            completions.inUse -= Int(row.numCompletedPackets)
        }
        guard !completions.rows.isEmpty, !configuration.quirks.creditsAtOnce else { return }
        emit(HCIEvents.NumberOfCompletedPackets(handles: completions.rows))
    }

    private func addCompletedRow(_ link: any HostLink) {
        completions.rows.append(.init(connectionHandle: link.handle, numCompletedPackets: UInt16(truncatingIfNeeded: link.completed)))
        freeBuffers(link.completed, of: link)
        link.completed = 0
    }

    /// Sends an LL data PDU to the host, fragmented to the host's buffers if it has reported them.
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
