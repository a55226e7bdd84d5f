import Packets

/// Names one scheduled action; stays valid, and harmless, after the action has run.
public struct Timer: Sendable, Hashable {
    let slot: Int32
    let generation: UInt32
}

/// A binary heap of actions by deadline, first in first out among equals, from which any entry can be removed.
struct DeadlineHeap {
    private struct Slot {
        var deadline: Microseconds
        var order: UInt64
        var position: Int32
        var generation: UInt32
        var action: (() -> Void)?
    }

    private var slots: [Slot] = []
    private var free: [Int32] = []
    private var heap: [Int32] = []
    private var nextOrder: UInt64 = 0

    var count: Int { heap.count }
    var earliest: Microseconds? { heap.first.map { slots[Int($0)].deadline } }

    mutating func insert(at deadline: Microseconds, _ action: @escaping () -> Void) -> Timer {
        let slot = free.popLast() ?? Int32(slots.count)
        let position = Int32(heap.count)
        if Int(slot) == slots.count {
            slots.append(Slot(deadline: deadline, order: nextOrder, position: position, generation: 0, action: action))
        } else {
            slots[Int(slot)].deadline = deadline
            slots[Int(slot)].order = nextOrder
            slots[Int(slot)].position = position
            slots[Int(slot)].action = action
        }
        nextOrder &+= 1
        heap.append(slot)
        siftUp(Int(position))
        return Timer(slot: slot, generation: slots[Int(slot)].generation)
    }

    /// The action, if it was still waiting.
    mutating func remove(_ timer: Timer) -> (() -> Void)? {
        guard Int(timer.slot) < slots.count, slots[Int(timer.slot)].generation == timer.generation, slots[Int(timer.slot)].action != nil
        else { return nil }
        return take(at: Int(slots[Int(timer.slot)].position))
    }

    mutating func popEarliest() -> (deadline: Microseconds, action: () -> Void)? {
        guard let slot = heap.first else { return nil }
        let deadline = slots[Int(slot)].deadline
        guard let action = take(at: 0) else { return nil }
        return (deadline, action)
    }

    private mutating func take(at position: Int) -> (() -> Void)? {
        let slot = heap[position]
        let last = heap.removeLast()
        if position < heap.count {
            place(last, at: position)
            siftDown(position)
            siftUp(position)
        }
        let action = slots[Int(slot)].action
        slots[Int(slot)].action = nil
        slots[Int(slot)].generation &+= 1
        free.append(slot)
        return action
    }

    private mutating func place(_ slot: Int32, at position: Int) {
        heap[position] = slot
        slots[Int(slot)].position = Int32(position)
    }

    private func precedes(_ a: Int32, _ b: Int32) -> Bool {
        let x = slots[Int(a)].deadline
        let y = slots[Int(b)].deadline
        return x == y ? slots[Int(a)].order < slots[Int(b)].order : x < y
    }

    private mutating func siftUp(_ start: Int) {
        var position = start
        let slot = heap[position]
        while position > 0 {
            let parent = (position - 1) / 2
            guard precedes(slot, heap[parent]) else { break }
            place(heap[parent], at: position)
            position = parent
        }
        place(slot, at: position)
    }

    private mutating func siftDown(_ start: Int) {
        var position = start
        let slot = heap[position]
        while true {
            var child = 2 * position + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, precedes(heap[child + 1], heap[child]) { child += 1 }
            guard precedes(heap[child], slot) else { break }
            place(heap[child], at: position)
            position = child
        }
        place(slot, at: position)
    }
}
