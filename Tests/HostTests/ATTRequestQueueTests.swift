import BBPackets
import Testing

@testable import BBHost

@Suite struct ATTRequestQueueTests {
    @Test func oneRequestAtATime() {
        var queue = ATTRequestQueue()
        #expect(queue.submit(id: 1, [0x0A, 3, 0]) == [.startTimer, .send([0x0A, 3, 0])])
        #expect(queue.submit(id: 2, [0x0A, 4, 0]) == [])
        #expect(queue.received([0x0B, 9]) == [.stopTimer, .finish(id: 1, .success([0x0B, 9])), .startTimer, .send([0x0A, 4, 0])])
        let error = HostError.peer(.att(request: .attReadReq, handle: 4, .readNotPermitted))
        #expect(queue.received([1, 0x0A, 4, 0, 2]) == [.stopTimer, .finish(id: 2, .failure(error))])
        #expect(queue.received([0x0B]) == [])
    }

    /// Core Vol 3, Part F, 3.4.2.2: the smaller of both values, but at least 23.
    @Test func aResponseAgreesOnTheMTU() {
        var queue = ATTRequestQueue()
        #expect(queue.agreedMTU(by: [3, 0x05, 0x02]) == nil)
        _ = queue.submit(id: 1, [0x02, 0xF7, 0])
        let agreed = [[3, 0x05, 0x02], [3, 100, 0], [3, 5, 0], [3, 5], [1, 0x02, 0, 0, 6]].map { queue.agreedMTU(by: $0) }
        #expect(agreed == [247, 100, 23, nil, nil])
    }

    @Test func aResponseToSomethingElseIsAFault() {
        var queue = ATTRequestQueue()
        _ = queue.submit(id: 1, [0x0A, 3, 0])
        let actions = queue.received([0x0D, 9])
        guard case .finish(id: 1, .failure(.peer(.malformed(_)))) = actions.last else {
            Issue.record("\(actions)")
            return
        }
    }

    @Test func afterATimeOutTheBearerIsDead() {
        var queue = ATTRequestQueue()
        _ = queue.submit(id: 1, [0x0A, 3, 0])
        _ = queue.submit(id: 2, [0x0A, 3, 0])
        let late = HostError.peer(.timedOut(.attResponse))
        #expect(queue.close(late) == [.stopTimer, .finish(id: 1, .failure(late)), .finish(id: 2, .failure(late))])
        guard case .finish(id: 3, .failure(.peer(.timedOut(_)))) = queue.submit(id: 3, [0x0A, 3, 0]).first else {
            Issue.record("a dead bearer took a request")
            return
        }
    }
}
