/* Sessions with Bulk Serialization mode through plain synchronous libusb, written from Core Vol 4, Part B alone: an opinion beside our own host.
 *
 * Each session puts the controller into local loopback mode, sends commands and data of random lengths, changes the mode while their echoes are
 * pending, and reads them in the new mode. Every echo must come once, unchanged and in order, one packet a transfer in the serialised mode, and what
 * the text wants refused must stall. Prints one line: sessions, commands, data packets, switches, stalls, and a sum over all that was received.
 *
 *   serialised_peer BUS-PORT SESSIONS SEED
 */
#include <libusb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMAND = 1, DATA = 2, EVENT = 4, /* the indicators of section 7 */
    EVENTS = 0x81, BULK_IN = 0x82, BULK_OUT = 0x02, LONGEST = 1 + 4 + 0xFFFF, MOST_PENDING = 64,
};

struct packet {
    uint8_t kind;
    unsigned length;
    uint8_t bytes[1200];
};

static libusb_device_handle *handle;
static int is_serialised;
static uint64_t state;
static uint8_t buffer[LONGEST];
static struct packet expected[2][MOST_PENDING];
static unsigned first[2], last[2];
static unsigned link_handle, buffer_length, buffer_count, credits;
static unsigned long commands, packets, switches, stalls;
static uint32_t sums[2] = {1, 1}; /* of commands and of data; which of both comes first depends on the time */

static void die(const char *what, int status) {
    fprintf(stderr, "serialised_peer: %s%s%s, %s mode\n", what, status ? ": " : "", status ? libusb_error_name(status) : "",
            is_serialised ? "serialised" : "legacy");
    exit(1);
}

static unsigned draw(unsigned below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((state >> 33) % below);
}

static void add(const struct packet *packet, unsigned queue) {
    for (unsigned i = 2; i < packet->length; i++) sums[queue] = sums[queue] * 31 + packet->bytes[i];
}

/* Table 2.1: commands on the control endpoint, data on the bulk endpoints. Section 7: all on the bulk endpoints, after the indicator. */
static void send(const struct packet *packet) {
    int status, moved = 0;
    if (is_serialised) {
        uint8_t transfer[1 + sizeof packet->bytes];
        transfer[0] = packet->kind;
        memcpy(transfer + 1, packet->bytes, packet->length);
        status = libusb_bulk_transfer(handle, BULK_OUT, transfer, (int)packet->length + 1, &moved, 2000);
    } else if (packet->kind == COMMAND) {
        status = libusb_control_transfer(handle, 0x20, 0, 0, 0, (uint8_t *)packet->bytes, (uint16_t)packet->length, 2000);
        if (status >= 0) status = 0;
    } else {
        status = libusb_bulk_transfer(handle, BULK_OUT, (uint8_t *)packet->bytes, (int)packet->length, &moved, 2000);
    }
    if (status) die("a packet was not taken", status);
}

/* A packet of this endpoint in the legacy mode, in as many reads as it needs; 0 if there is none. */
static int read_legacy(struct packet *packet, uint8_t kind, unsigned time_out) {
    unsigned header = kind == EVENT ? 2 : 4, filled = 0;
    for (;;) {
        int moved = 0;
        int status = kind == EVENT ? libusb_interrupt_transfer(handle, EVENTS, buffer, 16, &moved, filled ? 2000 : time_out)
                                   : libusb_bulk_transfer(handle, BULK_IN, buffer, 1152, &moved, filled ? 2000 : time_out);
        if (status == LIBUSB_ERROR_TIMEOUT && !moved && !filled) return 0;
        if (status && status != LIBUSB_ERROR_TIMEOUT) die("a read failed", status);
        if (filled + (unsigned)moved > sizeof packet->bytes) die("a packet is too long", 0);
        memcpy(packet->bytes + filled, buffer, (size_t)moved);
        filled += (unsigned)moved;
        if (filled < header) continue;
        packet->length = header + (kind == EVENT ? packet->bytes[1] : packet->bytes[2] + 256u * packet->bytes[3]);
        if (filled > packet->length) die("octets behind a packet", 0);
        packet->kind = kind;
        if (filled == packet->length) return 1;
    }
}

static int read_packet(struct packet *packet, unsigned time_out) {
    if (!is_serialised) return read_legacy(packet, EVENT, 2) || read_legacy(packet, DATA, time_out);
    int moved = 0;
    int status = libusb_bulk_transfer(handle, BULK_IN, buffer, LONGEST / 64 * 64, &moved, time_out);
    if (status == LIBUSB_ERROR_TIMEOUT && !moved) return 0;
    if (status) die("a read failed", status);
    packet->kind = buffer[0];
    packet->length = (unsigned)moved - 1;
    if (packet->kind != EVENT && packet->kind != DATA) die("an indicator that is neither event nor data", 0);
    if (packet->length > sizeof packet->bytes) die("a packet is too long", 0);
    memcpy(packet->bytes, buffer + 1, packet->length);
    unsigned length = packet->kind == EVENT ? 2u + packet->bytes[1] : 4u + packet->bytes[2] + 256u * packet->bytes[3];
    if (length != packet->length) die("a transfer is not one packet", 0);
    return 1;
}

static void expect(const struct packet *packet) {
    unsigned queue = packet->kind == DATA;
    expected[queue][last[queue]++ % MOST_PENDING] = *packet;
}

/* Echoes come in the order in which their originals were sent, each kind for itself. */
static void check(const struct packet *packet) {
    unsigned queue = packet->kind == DATA;
    if (first[queue] == last[queue]) die("a packet that was not sent", 0);
    const struct packet *wanted = &expected[queue][first[queue]++ % MOST_PENDING];
    unsigned header = queue ? 0 : 2; /* Loopback_Command: the command behind the event's header */
    if (packet->length != wanted->length + header) die("an echo of another length", 0);
    /* In an echo, the flags of the data's handle may differ. */
    unsigned from = queue ? 2 : 0;
    if (memcmp(packet->bytes + header + from, wanted->bytes + from, wanted->length - from)) die("an echo with other octets", 0);
    add(packet, queue);
}

static void take(const struct packet *packet) {
    if (packet->kind == DATA || packet->bytes[0] == 0x19) return check(packet);
    if (packet->bytes[0] != 0x13) die("an event that no one asked for", 0);
    for (unsigned i = 0; i < packet->bytes[2]; i++) credits += packet->bytes[5 + 4 * i] + 256u * packet->bytes[6 + 4 * i];
}

/* Sends a command that is not echoed and waits for its Command Complete. */
static void ask(unsigned opcode, int parameter, uint8_t *answer) {
    struct packet packet = {COMMAND, parameter < 0 ? 3 : 4, {(uint8_t)opcode, (uint8_t)(opcode >> 8), parameter >= 0, (uint8_t)parameter}};
    send(&packet);
    for (int tries = 0; tries < 200; tries++) {
        if (!read_packet(&packet, 20)) continue;
        if (packet.kind == EVENT && packet.bytes[0] == 3 && packet.bytes[11] == 1) link_handle = packet.bytes[3] + 256u * packet.bytes[4];
        if (packet.kind != EVENT || packet.bytes[0] != 0x0E || packet.bytes[3] + 256u * packet.bytes[4] != opcode) continue;
        if (packet.bytes[5]) die("a command failed", 0);
        if (answer) memcpy(answer, packet.bytes + 5, packet.length - 5);
        return;
    }
    die("a command was not answered", 0);
}

static void select_mode(int serialised) {
    int status = libusb_set_interface_alt_setting(handle, 0, serialised);
    if (status) die("the mode was not changed", status);
    is_serialised = serialised;
    switches++;
}

/* A control request that must stall. */
static void must_stall(uint8_t type, uint8_t request, uint16_t value, uint16_t index, uint16_t length, const char *what) {
    static uint8_t reset[3] = {3, 12, 0};
    int status = libusb_control_transfer(handle, type, request, value, index, length ? reset : NULL, length, 1000);
    if (status != LIBUSB_ERROR_PIPE) die(what, status);
    stalls++;
}

/* Section 1.1. */
static void check_refusals(void) {
    if (is_serialised) {
        must_stall(0x20, 0, 0, 0, 3, "a command on the control endpoint was not refused");
        must_stall(0x01, 11, 1, 1, 0, "a voice setting was not refused");
        return;
    }
    if (libusb_set_interface_alt_setting(handle, 1, 1)) die("a voice setting was refused", 0);
    must_stall(0x01, 11, 1, 0, 0, "a switch in a voice setting was not refused");
    if (libusb_set_interface_alt_setting(handle, 1, 0)) die("setting 0 of voice was refused", 0);
}

static void send_something(void) {
    struct packet packet = {0};
    if (draw(3) == 0) {
        packet.kind = COMMAND;
        packet.bytes[0] = (uint8_t)draw(256);
        packet.bytes[1] = 0xFC;
        packet.bytes[2] = (uint8_t)draw(253);
        packet.length = 3u + packet.bytes[2];
        for (unsigned i = 3; i < packet.length; i++) packet.bytes[i] = (uint8_t)draw(256);
        commands++;
    } else {
        if (!credits) return;
        unsigned length = draw(8) ? draw(buffer_length + 1) : 59 + draw(3);
        if (length > buffer_length) length = buffer_length;
        packet.kind = DATA;
        packet.bytes[0] = (uint8_t)link_handle;
        packet.bytes[1] = (uint8_t)(link_handle >> 8);
        packet.bytes[2] = (uint8_t)length;
        packet.bytes[3] = (uint8_t)(length >> 8);
        packet.length = 4 + length;
        for (unsigned i = 4; i < packet.length; i++) packet.bytes[i] = (uint8_t)draw(256);
        credits--;
        packets++;
    }
    send(&packet);
    expect(&packet);
}

static void session(void) {
    uint8_t answer[256];
    ask(0x0C03, -1, NULL);
    ask(0x1005, -1, answer);
    buffer_length = answer[1] + 256u * answer[2];
    buffer_count = answer[4] + 256u * answer[5];
    if (buffer_length > 1024) buffer_length = 1024;
    if (buffer_count > 8) buffer_count = 8;
    ask(0x1802, 1, NULL);
    struct packet packet;
    while (read_packet(&packet, 20))
        if (packet.kind == EVENT && packet.bytes[0] == 3 && packet.bytes[11] == 1) link_handle = packet.bytes[3] + 256u * packet.bytes[4];
    credits = buffer_count;
    for (unsigned round = 1 + draw(6); round > 0; round--) {
        for (unsigned count = 1 + draw(6); count > 0; count--) send_something();
        if (draw(2)) select_mode(!is_serialised);
        if (draw(4) == 0) check_refusals();
        if (draw(3) == 0) select_mode(!is_serialised);
        for (int quiet = 0; quiet < 100 && (first[0] != last[0] || first[1] != last[1] || credits < buffer_count);) {
            if (read_packet(&packet, 20)) take(&packet); else quiet++;
        }
        if (first[0] != last[0] || first[1] != last[1]) die("an echo is missing", 0);
    }
    ask(0x1802, 0, NULL);
    while (read_packet(&packet, 20)) {}
}

int main(int count, char **arguments) {
    if (count != 4) die("usage: serialised_peer BUS-PORT SESSIONS SEED", 0);
    unsigned long sessions = strtoul(arguments[2], NULL, 10);
    state = strtoull(arguments[3], NULL, 10);
    libusb_context *context;
    libusb_device **list;
    if (libusb_init(&context)) die("libusb", 0);
    ssize_t devices = libusb_get_device_list(context, &list);
    for (ssize_t i = 0; i < devices && !handle; i++) {
        char name[32];
        snprintf(name, sizeof name, "%u-%u", libusb_get_bus_number(list[i]), libusb_get_port_number(list[i]));
        if (strcmp(name, arguments[1]) == 0 && libusb_open(list[i], &handle)) die("open", 0);
    }
    libusb_free_device_list(list, 1);
    if (!handle) die("no such dongle", 0);
    for (int interface = 0; interface < 2; interface++)
        if (libusb_claim_interface(handle, interface)) die("claim", 0);
    for (unsigned long i = 0; i < sessions; i++) session();
    if (is_serialised) select_mode(0);
    for (int interface = 0; interface < 2; interface++) libusb_release_interface(handle, interface);
    libusb_close(handle);
    libusb_exit(context);
    printf("%lu sessions %lu commands %lu packets %lu switches %lu stalls %08x\n", sessions, commands, packets, switches, stalls, sums[0] * 31 + sums[1]);
    return 0;
}
