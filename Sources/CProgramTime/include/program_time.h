#pragma once

#include <stdbool.h>
#include <stdint.h>

#if defined(__linux__)

/// The steady clock, delays and tasks of a program in virtual time, in nanoseconds.
///
/// It belongs to the threads that enter it, and to what these start: blocks of dispatch queues and Swift tasks enter it while they run. On
/// other threads everything is as without it.
struct program_time;

/// Called on any thread that has entered the clock.
struct program_time_receiver {
    void *context;
    /// A retained item is to be passed to `program_time_start` after a delay.
    void (*after)(void *context, int64_t delay, void *item);
};

struct program_time *program_time_create(struct program_time_receiver receiver);
/// Ends it: all threads have the clock of the system again, and the receiver is not called any more.
void program_time_end(struct program_time *time);
void program_time_release(struct program_time *time);

/// Sets the nanoseconds since it was created.
void program_time_set(struct program_time *time, int64_t now);
/// Makes it the clock of this thread, or with null that of the system; returns the one before, retained, for `program_time_leave`.
struct program_time *program_time_enter(struct program_time *time);
void program_time_leave(struct program_time *before);
/// Lets the timers of run loops that are due expire; true if there were any.
bool program_time_expire(struct program_time *time);
/// Items that were added to queues and have not ended; those of the main queue apart.
long program_time_items(struct program_time *time, bool is_main);
/// Waits until at most a number of items is left; false after a limit in nanoseconds of the system's clock.
bool program_time_settle(struct program_time *time, bool is_main, long left, int64_t limit);
/// Adds an item that is due to its queue.
void program_time_start(void *item);

#endif
