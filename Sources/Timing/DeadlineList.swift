import BBPackets

/// Identifies a scheduled action; stays valid, without effect, after the action has run.
public struct Timer: Sendable, Hashable {
    let slot: Int32
    let generation: UInt32
}

/// Actions ordered by deadline, first in first out for equal deadlines, with removal of any action.
///
/// Deadlines are stored in an array, the earliest last. There are few, and a new one is mostly the earliest: it is inserted after one or
/// two comparisons, where a heap would reorder itself. Other positions are found by binary search, and later entries are moved in one
/// block. Actions stay in their slots.
struct DeadlineList {
    private struct Entry {
        var deadline: Microseconds
        var slot: Int32
    }

    private struct Slot {
        var deadline: Microseconds
        var generation: UInt32
        var isSet = false
        /// True if the action is kept for further deadlines.
        var isKept: Bool
        var action: (() -> Void)?
    }

    private var entries: [Entry] = []
    private var slots: [Slot] = []
    private var free: [Int32] = []

    var count: Int { entries.count }
    var earliest: Microseconds? { entries.last?.deadline }

    // MARK: One-shot actions

    mutating func insert(at deadline: Microseconds, _ action: @escaping () -> Void) -> Timer {
        let timer = add(action, isKept: false)
        enter(deadline, timer.slot)
        return timer
    }

    /// Removes an action and returns it if it was still pending.
    mutating func remove(_ timer: Timer) -> (() -> Void)? {
        guard isSet(timer) else { return nil }
        leave(timer.slot)
        return forget(timer.slot)
    }

    mutating func popEarliest() -> (deadline: Microseconds, action: () -> Void)? {
        guard let first = entries.popLast() else { return nil }
        let slot = Int(first.slot)
        slots[slot].isSet = false
        guard let action = slots[slot].isKept ? slots[slot].action : forget(first.slot) else { return nil }
        return (first.deadline, action)
    }

    // MARK: Kept actions

    /// Adds an action without a deadline, which is kept until it is discarded.
    mutating func keep(_ action: @escaping () -> Void) -> Timer { add(action, isKept: true) }

    /// Sets the deadline of a kept action and replaces an earlier one.
    mutating func set(_ timer: Timer, at deadline: Microseconds) {
        guard isKnown(timer) else { return }
        if slots[Int(timer.slot)].isSet { leave(timer.slot) }
        enter(deadline, timer.slot)
    }

    /// Clears the deadline of a kept action.
    mutating func unset(_ timer: Timer) {
        if isSet(timer) { leave(timer.slot) }
    }

    func isSet(_ timer: Timer) -> Bool { isKnown(timer) && slots[Int(timer.slot)].isSet }

    /// Removes a kept action and returns it.
    mutating func discard(_ timer: Timer) -> (() -> Void)? {
        guard isKnown(timer) else { return nil }
        unset(timer)
        return forget(timer.slot)
    }

    // MARK: Slots

    private func isKnown(_ timer: Timer) -> Bool {
        Int(timer.slot) < slots.count && slots[Int(timer.slot)].generation == timer.generation
    }

    private mutating func add(_ action: @escaping () -> Void, isKept: Bool) -> Timer {
        if let slot = free.popLast() {
            slots[Int(slot)].action = action
            slots[Int(slot)].isKept = isKept
            return Timer(slot: slot, generation: slots[Int(slot)].generation)
        }
        slots.append(Slot(deadline: .never, generation: 0, isKept: isKept, action: action))
        return Timer(slot: Int32(slots.count - 1), generation: 0)
    }

    private mutating func forget(_ slot: Int32) -> (() -> Void)? {
        let action = slots[Int(slot)].action
        slots[Int(slot)].action = nil
        slots[Int(slot)].generation &+= 1
        free.append(slot)
        return action
    }

    // MARK: Entries

    /// Number of entries that are searched linearly, beginning with the earliest; the others are searched by halves.
    private static let nearby = 8

    private mutating func enter(_ deadline: Microseconds, _ slot: Int32) {
        slots.withUnsafeMutableBufferPointer { slots in
            slots[Int(slot)].deadline = deadline
            slots[Int(slot)].isSet = true
        }
        let entry = Entry(deadline: deadline, slot: slot)
        var place = entries.count
        let nearest = max(0, place - Self.nearby)
        while place > nearest, entries[place - 1].deadline <= deadline { place -= 1 }
        guard place > nearest || nearest == 0 else { return entries.insert(entry, at: firstPlace(of: deadline, within: nearest)) }
        entries.append(entry)
        entries.withUnsafeMutableBufferPointer { entries in
            for later in stride(from: entries.count - 1, to: place, by: -1) { entries[later] = entries[later - 1] }
            entries[place] = entry
        }
    }

    private mutating func leave(_ slot: Int32) {
        slots[Int(slot)].isSet = false
        var place = entries.count - 1
        let nearest = max(0, place - Self.nearby)
        while place > nearest, entries[place].slot != slot { place -= 1 }
        if entries[place].slot != slot {
            place = firstPlace(of: slots[Int(slot)].deadline, within: place)
            while entries[place].slot != slot { place += 1 }
        }
        if place == entries.count - 1 { entries.removeLast() } else { entries.remove(at: place) }
    }

    /// Binary search among the first `count` entries: the first one not due later than the deadline, or `count`.
    private func firstPlace(of deadline: Microseconds, within count: Int) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].deadline <= deadline { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
