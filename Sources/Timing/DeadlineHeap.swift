import Packets

/// Names one scheduled action; stays valid, and harmless, after the action has run.
public struct Timer: Sendable, Hashable {
    let slot: Int32
    let generation: UInt32
}

/// A binary heap of actions by deadline, first in first out among equals, from which any entry can be removed.
///
/// An entry of the heap has what it is ordered by; its action stays where it is, in a slot that knows the entry's position.
struct DeadlineHeap {
    private struct Entry {
        var deadline: Microseconds
        var order: UInt64
        var slot: Int32

        func precedes(_ other: Entry) -> Bool { deadline == other.deadline ? order < other.order : deadline < other.deadline }
    }

    private struct Slot {
        /// In `entries`; -1 while no deadline is set.
        var position: Int32
        var generation: UInt32
        var action: (() -> Void)?
        /// Whether the action stays for further deadlines.
        var isKept = false
    }

    private var entries: [Entry] = []
    private var slots: [Slot] = []
    private var free: [Int32] = []
    private var nextOrder: UInt64 = 0

    var count: Int { entries.count }
    var earliest: Microseconds? { entries.first?.deadline }

    // MARK: Actions for once

    mutating func insert(at deadline: Microseconds, _ action: @escaping () -> Void) -> Timer {
        let timer = add(action, isKept: false)
        enter(deadline, Int(timer.slot))
        return timer
    }

    /// The action, if it was still waiting.
    mutating func remove(_ timer: Timer) -> (() -> Void)? {
        guard isKnown(timer), slots[Int(timer.slot)].position >= 0 else { return nil }
        leave(Int(timer.slot))
        return forget(Int(timer.slot))
    }

    mutating func popEarliest() -> (deadline: Microseconds, action: () -> Void)? {
        guard let first = entries.first else { return nil }
        let slot = Int(first.slot)
        leave(slot)
        guard let action = slots[slot].isKept ? slots[slot].action : forget(slot) else { return nil }
        return (first.deadline, action)
    }

    // MARK: Actions that stay

    /// An action without a deadline, which stays until it is discarded.
    mutating func keep(_ action: @escaping () -> Void) -> Timer { add(action, isKept: true) }

    /// Sets the deadline of a kept action, in place of one set before.
    mutating func set(_ timer: Timer, at deadline: Microseconds) {
        guard isKnown(timer) else { return }
        let position = Int(slots[Int(timer.slot)].position)
        guard position >= 0 else { return enter(deadline, Int(timer.slot)) }
        entries[position].deadline = deadline
        entries[position].order = nextOrder
        nextOrder &+= 1
        settle(position)
    }

    /// Takes the deadline of a kept action away.
    mutating func unset(_ timer: Timer) {
        if isSet(timer) { leave(Int(timer.slot)) }
    }

    func isSet(_ timer: Timer) -> Bool { isKnown(timer) && slots[Int(timer.slot)].position >= 0 }

    /// The kept action, which is no longer kept.
    mutating func discard(_ timer: Timer) -> (() -> Void)? {
        guard isKnown(timer) else { return nil }
        unset(timer)
        return forget(Int(timer.slot))
    }

    // MARK: Slots and entries

    private func isKnown(_ timer: Timer) -> Bool {
        Int(timer.slot) < slots.count && slots[Int(timer.slot)].generation == timer.generation
    }

    private mutating func add(_ action: @escaping () -> Void, isKept: Bool) -> Timer {
        if let slot = free.popLast() {
            slots[Int(slot)].action = action
            slots[Int(slot)].isKept = isKept
            return Timer(slot: slot, generation: slots[Int(slot)].generation)
        }
        slots.append(Slot(position: -1, generation: 0, action: action, isKept: isKept))
        return Timer(slot: Int32(slots.count - 1), generation: 0)
    }

    private mutating func forget(_ slot: Int) -> (() -> Void)? {
        let action = slots[slot].action
        slots[slot].action = nil
        slots[slot].generation &+= 1
        free.append(Int32(slot))
        return action
    }

    private mutating func enter(_ deadline: Microseconds, _ slot: Int) {
        entries.append(Entry(deadline: deadline, order: nextOrder, slot: Int32(slot)))
        nextOrder &+= 1
        settle(entries.count - 1)
    }

    private mutating func leave(_ slot: Int) {
        let position = Int(slots[slot].position)
        slots[slot].position = -1
        let last = entries.removeLast()
        guard position < entries.count else { return }
        entries[position] = last
        settle(position)
    }

    /// Moves the entry at `start` up or down to where it belongs.
    private mutating func settle(_ start: Int) {
        entries.withUnsafeMutableBufferPointer { entries in
            slots.withUnsafeMutableBufferPointer { slots in
                let entry = entries[start]
                var position = start
                while position > 0, entry.precedes(entries[(position - 1) / 2]) {
                    let parent = (position - 1) / 2
                    entries[position] = entries[parent]
                    slots[Int(entries[position].slot)].position = Int32(position)
                    position = parent
                }
                while let child = Self.earlierChild(of: position, entries), entries[child].precedes(entry) {
                    entries[position] = entries[child]
                    slots[Int(entries[position].slot)].position = Int32(position)
                    position = child
                }
                entries[position] = entry
                slots[Int(entry.slot)].position = Int32(position)
            }
        }
    }

    private static func earlierChild(of position: Int, _ entries: UnsafeMutableBufferPointer<Entry>) -> Int? {
        let child = 2 * position + 1
        guard child < entries.count else { return nil }
        return child + 1 < entries.count && entries[child + 1].precedes(entries[child]) ? child + 1 : child
    }
}
