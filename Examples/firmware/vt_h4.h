/*
 * H4 to a controller in the virtual time of `bluebench dongle --virtual-time`: docs/design/virtual-time.md.
 *
 * The program is one client with one controller. It shares the simulation's clock: time stands still while it works, and vt_wait lets
 * it pass. C99 and POSIX sockets; no thread, no signal.
 *
 *     struct vt *vt = vt_open("127.0.0.1:7001", "firmware", 1);
 *     while (vt_wait(vt, timer_due(), received, context) == 0) run_timers(vt_now(vt));
 *     fprintf(stderr, "%s\n", vt_error(vt));
 *     vt_close(vt);
 */
#ifndef VT_H4_H
#define VT_H4_H

#include <stddef.h>
#include <stdint.h>

struct vt;

/* A wait without a timer. */
#define VT_FOREVER UINT64_MAX

/* A packet from the controller: H4 indicator, then the packet (Core Vol 4, Part A, 2). It is valid during the call. */
typedef void vt_received(void *context, const uint8_t *packet, size_t length);

/*
 * Connects to a controller and joins the world.
 *
 * where: HOST:PORT, or the path of a Unix socket. name: of the program in messages, at most 64 octets. clients: number of programs in
 * the world, 1 to 64; no time passes before all are there. Returns NULL without memory; every other fault is in vt_error.
 */
struct vt *vt_open(const char *where, const char *name, uint8_t clients);

/* The fault that ended the connection, or NULL. */
const char *vt_error(const struct vt *vt);

/* The present time in nanoseconds since the start of the run. */
uint64_t vt_now(const struct vt *vt);

/* Stores a packet with its H4 indicator; the next vt_wait sends it. Returns 0, or -1 after a fault. */
int vt_send(struct vt *vt, const uint8_t *packet, size_t length);

/*
 * Lets time pass until `until` (nanoseconds, at most 24 h ahead, or VT_FOREVER) or until the controller sends packets, and calls
 * `received` for each of them. Returns 0, or -1 after a fault. A time in the past counts as the present.
 */
int vt_wait(struct vt *vt, uint64_t until, vt_received *received, void *context);

/* Leaves the world and releases everything. */
void vt_close(struct vt *vt);

#endif
