#if defined(__linux__)
#define _GNU_SOURCE

#include "program_time.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>

// Functions of the system that this file takes the place of, for all libraries of the program. Weak, so that a program that is linked
// statically keeps those of the system.
#define REPLACEMENT __attribute__((weak, visibility("default")))

enum { billion = 1000000000 };

struct program_time {
    struct program_time_receiver receiver;
    int64_t base;
    _Atomic int64_t now;
    // Of the run loop's timers, the earliest.
    _Atomic int64_t deadline;
    _Atomic bool is_over;
    _Atomic long references;
    pthread_rwlock_t use;
    // Items that have not ended: those of the main queue, and the others.
    _Atomic long items[2];
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

struct item {
    struct program_time *time;
    void *queue;
    // A block, or the argument of a function: jobs of Swift tasks are such.
    void *block;
    void *argument;
    void (*work)(void *);
    bool is_main;
    // It waits for a group, and so for what only the passing of time may bring.
    bool is_uncounted;
    void *group;
};

static _Thread_local struct program_time *current;

extern void *_Block_copy(const void *block);
extern void _Block_release(const void *block);
extern char _dispatch_main_q;
extern char _dispatch_queue_attr_concurrent;
extern void *dispatch_queue_create(const char *label, void *attributes);
extern const char *dispatch_queue_get_label(void *queue);
extern void dispatch_group_enter(void *group);
extern void dispatch_group_leave(void *group);
extern void dispatch_group_notify_f(void *group, void *queue, void *context, void (*work)(void *));
extern void dispatch_retain(void *object);
extern void dispatch_release(void *object);

// A function of the system by its name.
#define SYSTEM(type, name)                                              \
    static type _Atomic found;                                          \
    type system_function = atomic_load(&found);                         \
    if (!system_function) {                                             \
        system_function = (type)dlsym(RTLD_NEXT, name);                 \
        atomic_store(&found, system_function);                          \
    }

typedef int (*clock_function)(clockid_t, struct timespec *);
typedef int (*timer_function)(int, int, const struct itimerspec *, struct itimerspec *);
typedef void (*after_function)(uint64_t, void *, void *);
typedef void (*work_function)(void *);
typedef void (*after_work_function)(uint64_t, void *, void *, work_function);
typedef void (*async_function)(void *, void *);
typedef void (*async_work_function)(void *, void *, work_function);
typedef void (*group_function)(void *, void *, void *);
typedef void (*source_function)(void *, uint64_t, uint64_t, uint64_t);

static int system_clock(clockid_t clock, struct timespec *time) {
    SYSTEM(clock_function, "clock_gettime")
    return system_function(clock, time);
}

static int64_t system_now(clockid_t clock) {
    struct timespec time;
    system_clock(clock, &time);
    return (int64_t)time.tv_sec * billion + time.tv_nsec;
}

static int64_t now_of(struct program_time *time) { return time->base + atomic_load(&time->now); }

// The clock of this thread, if it has one.
static struct program_time *mine(void) { return current && !atomic_load(&current->is_over) ? current : NULL; }

// MARK: Life

static void forget_timers(struct program_time *time);

static struct program_time *retained(struct program_time *time) {
    if (time) atomic_fetch_add(&time->references, 1);
    return time;
}

void program_time_release(struct program_time *time) {
    if (!time || atomic_fetch_sub(&time->references, 1) != 1) return;
    pthread_rwlock_destroy(&time->use);
    pthread_cond_destroy(&time->changed);
    pthread_mutex_destroy(&time->lock);
    free(time);
}

struct program_time *program_time_enter(struct program_time *time) {
    struct program_time *before = current;
    current = retained(time);
    return before;
}

void program_time_leave(struct program_time *before) {
    program_time_release(current);
    current = before;
}

void program_time_set(struct program_time *time, int64_t now) { atomic_store(&time->now, now); }

void program_time_end(struct program_time *time) {
    pthread_rwlock_wrlock(&time->use);
    atomic_store(&time->is_over, true);
    pthread_rwlock_unlock(&time->use);
    forget_timers(time);
}

static void count(struct program_time *time, bool is_main, long change) {
    pthread_mutex_lock(&time->lock);
    atomic_fetch_add(&time->items[is_main], change);
    pthread_cond_broadcast(&time->changed);
    pthread_mutex_unlock(&time->lock);
}

long program_time_items(struct program_time *time, bool is_main) { return atomic_load(&time->items[is_main]); }

bool program_time_settle(struct program_time *time, bool is_main, long left, int64_t limit) {
    int64_t end = system_now(CLOCK_MONOTONIC) + limit;
    struct timespec deadline = {.tv_sec = end / billion, .tv_nsec = end % billion};
    pthread_mutex_lock(&time->lock);
    int result = 0;
    while (atomic_load(&time->items[is_main]) > left && !result) {
        result = pthread_cond_clockwait(&time->changed, &time->lock, CLOCK_MONOTONIC, &deadline);
    }
    bool is_settled = atomic_load(&time->items[is_main]) <= left;
    pthread_mutex_unlock(&time->lock);
    return is_settled;
}

// MARK: Items

static void system_async(void *queue, void *context, work_function work) {
    SYSTEM(async_work_function, "dispatch_async_f")
    system_function(queue, context, work);
}

static void perform(void *pointer) {
    struct item *item = pointer;
    struct program_time *before = program_time_enter(item->time);
    if (item->block) {
        // The function of a block follows its class and two numbers.
        ((void (*)(void *))((void **)item->block)[2])(item->block);
        _Block_release(item->block);
    } else {
        item->work(item->argument);
    }
    program_time_leave(before);
    if (!item->is_uncounted) count(item->time, item->is_main, -1);
    if (item->group) {
        dispatch_group_leave(item->group);
        dispatch_release(item->group);
    }
    program_time_release(item->time);
    dispatch_release(item->queue);
    free(item);
}

// Swift tasks run on queues with as many threads as the system has processors. A test that blocks its thread in a run of a bench leaves them
// none, so tasks of programs run on a queue without that limit.
static void *queue_without_limit(void *queue) {
    static void *tasks;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (queue == (void *)&_dispatch_main_q || strcmp(dispatch_queue_get_label(queue), "Swift global concurrent queue")) return queue;
    pthread_mutex_lock(&lock);
    if (!tasks) tasks = dispatch_queue_create("tasks in virtual time", &_dispatch_queue_attr_concurrent);
    pthread_mutex_unlock(&lock);
    return tasks;
}

static struct item *make_item(struct program_time *time, void *queue, const void *block, void *argument, work_function work) {
    struct item *item = calloc(1, sizeof *item);
    if (!item) abort();
    queue = queue_without_limit(queue);
    item->time = retained(time);
    item->queue = queue;
    dispatch_retain(queue);
    item->is_main = queue == (void *)&_dispatch_main_q;
    item->block = block ? _Block_copy(block) : NULL;
    item->argument = argument;
    item->work = work;
    return item;
}

void program_time_start(void *pointer) {
    struct item *item = pointer;
    count(item->time, item->is_main, 1);
    system_async(item->queue, item, perform);
}

static void add_later(int64_t delay, struct item *item) {
    struct program_time *time = item->time;
    pthread_rwlock_rdlock(&time->use);
    bool is_over = atomic_load(&time->is_over);
    if (!is_over) time->receiver.after(time->receiver.context, delay > 0 ? delay : 0, item);
    pthread_rwlock_unlock(&time->use);
    if (is_over) program_time_start(item);
}

// MARK: Clocks and timers of run loops

static bool is_steady(clockid_t clock) {
    return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME;
}

REPLACEMENT int clock_gettime(clockid_t clock, struct timespec *time) {
    struct program_time *own = mine();
    if (!own || !is_steady(clock)) return system_clock(clock, time);
    int64_t now = now_of(own);
    time->tv_sec = now / billion;
    time->tv_nsec = now % billion;
    return 0;
}

enum { most_timers = 4096 };
static struct {
    struct program_time *owner;
    int64_t deadline;
} timers[most_timers];
static pthread_mutex_t timers_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct itimerspec soon = {{0, 0}, {0, 1}};
static const struct itimerspec never = {{0, 0}, {0, 0}};

static int system_timer(int descriptor, int flags, const struct itimerspec *value, struct itimerspec *old) {
    SYSTEM(timer_function, "timerfd_settime")
    return system_function(descriptor, flags, value, old);
}

static void find_earliest(struct program_time *time) {
    int64_t earliest = INT64_MAX;
    for (int index = 0; index < most_timers; index++) {
        if (timers[index].owner == time && timers[index].deadline < earliest) earliest = timers[index].deadline;
    }
    atomic_store(&time->deadline, earliest);
}

REPLACEMENT int timerfd_settime(int descriptor, int flags, const struct itimerspec *value, struct itimerspec *old) {
    if (descriptor < 0 || descriptor >= most_timers) return system_timer(descriptor, flags, value, old);
    struct program_time *own = mine();
    pthread_mutex_lock(&timers_lock);
    struct program_time *before = timers[descriptor].owner;
    timers[descriptor].owner = NULL;
    const struct itimerspec *set = value;
    int64_t deadline = (int64_t)value->it_value.tv_sec * billion + value->it_value.tv_nsec;
    if (own && deadline && (flags & TFD_TIMER_ABSTIME)) {
        bool is_due = deadline <= now_of(own);
        if (!is_due) {
            timers[descriptor].owner = own;
            timers[descriptor].deadline = deadline;
            find_earliest(own);
        }
        set = is_due ? &soon : &never;
        flags = 0;
    }
    if (before && before != own) find_earliest(before);
    int result = system_timer(descriptor, flags, set, old);
    pthread_mutex_unlock(&timers_lock);
    return result;
}

static void forget_timers(struct program_time *time) {
    pthread_mutex_lock(&timers_lock);
    for (int index = 0; index < most_timers; index++) {
        if (timers[index].owner == time) timers[index].owner = NULL;
    }
    pthread_mutex_unlock(&timers_lock);
}

bool program_time_expire(struct program_time *time) {
    int64_t now = now_of(time);
    if (atomic_load(&time->deadline) > now) return false;
    pthread_mutex_lock(&timers_lock);
    for (int index = 0; index < most_timers; index++) {
        if (timers[index].owner != time || timers[index].deadline > now) continue;
        timers[index].owner = NULL;
        system_timer(index, 0, &soon, NULL);
    }
    find_earliest(time);
    pthread_mutex_unlock(&timers_lock);
    return true;
}

// MARK: Dispatch

// The two highest bits of a time tell its clock: 00 and 01 are the one without, 10 the one with the time of a sleeping system, which are
// the same here, and 11 is that of the wall.
static bool is_of_the_wall(uint64_t when) { return when >> 62 == 3; }
static const uint64_t clock_bit = 1ULL << 63;

// Nanoseconds until a time of a steady clock; 0 stands for now.
static int64_t delay_until(uint64_t when, struct program_time *time) {
    int64_t delay = when ? (int64_t)(when & ~clock_bit) - now_of(time) : 0;
    return delay > 0 ? delay : 0;
}

REPLACEMENT void dispatch_after(uint64_t when, void *queue, void *block) {
    SYSTEM(after_function, "dispatch_after")
    struct program_time *own = mine();
    if (!own || is_of_the_wall(when)) return system_function(when, queue, block);
    add_later(delay_until(when, own), make_item(own, queue, block, NULL, NULL));
}

REPLACEMENT void dispatch_after_f(uint64_t when, void *queue, void *context, work_function work) {
    SYSTEM(after_work_function, "dispatch_after_f")
    struct program_time *own = mine();
    if (!own || is_of_the_wall(when)) return system_function(when, queue, context, work);
    add_later(delay_until(when, own), make_item(own, queue, NULL, context, work));
}

REPLACEMENT void dispatch_async(void *queue, void *block) {
    struct program_time *own = mine();
    if (own) return program_time_start(make_item(own, queue, block, NULL, NULL));
    SYSTEM(async_function, "dispatch_async")
    system_function(queue, block);
}

REPLACEMENT void dispatch_async_f(void *queue, void *context, work_function work) {
    struct program_time *own = mine();
    if (own) return program_time_start(make_item(own, queue, NULL, context, work));
    system_async(queue, context, work);
}

REPLACEMENT void dispatch_group_async(void *group, void *queue, void *block) {
    struct program_time *own = mine();
    if (own) {
        struct item *item = make_item(own, queue, block, NULL, NULL);
        item->group = group;
        dispatch_retain(group);
        dispatch_group_enter(group);
        return program_time_start(item);
    }
    SYSTEM(group_function, "dispatch_group_async")
    system_function(group, queue, block);
}

REPLACEMENT void dispatch_group_notify(void *group, void *queue, void *block) {
    struct program_time *own = mine();
    if (own) {
        struct item *item = make_item(own, queue, block, NULL, NULL);
        item->is_uncounted = true;
        return dispatch_group_notify_f(group, queue, item, perform);
    }
    SYSTEM(group_function, "dispatch_group_notify")
    system_function(group, queue, block);
}

// A source runs in wall time: its start is moved to the clock of the system.
REPLACEMENT void dispatch_source_set_timer(void *source, uint64_t start, uint64_t interval, uint64_t leeway) {
    SYSTEM(source_function, "dispatch_source_set_timer")
    struct program_time *own = mine();
    if (own && start && !is_of_the_wall(start)) {
        // Both steady clocks of the system, as it has slept or not.
        clockid_t clock = start & clock_bit ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
        start = (start & clock_bit) | (uint64_t)(system_now(clock) + delay_until(start, own));
    }
    system_function(source, start, interval, leeway);
}

// MARK: Creation

struct program_time *program_time_create(struct program_time_receiver receiver) {
    struct program_time *time = calloc(1, sizeof *time);
    if (!time) abort();
    time->receiver = receiver;
    time->base = system_now(CLOCK_MONOTONIC);
    atomic_init(&time->references, 1);
    atomic_init(&time->deadline, INT64_MAX);
    pthread_rwlock_init(&time->use, NULL);
    pthread_mutex_init(&time->lock, NULL);
    pthread_cond_init(&time->changed, NULL);
    return time;
}

#endif
