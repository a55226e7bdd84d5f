/* ACL loopback through plain asynchronous libusb: the yardstick for our own transport.
 *
 * Puts a Bluetooth dongle into local loopback mode, sends numbered packets as fast as the controller's buffers allow, checks each that comes back
 * and prints one line: packets/s, packets, lost, damaged, out of order, worst round trip in microseconds.
 *
 *   usb_exerciser BUS-PORT PACKETS OCTETS [serialised]
 *
 * With "serialised" everything is on the bulk endpoints in alternate setting 1, each packet after its indicator.
 *
 * One thread. Transfers are submitted again from their callbacks: eight on each IN pipe, up to eight on bulk OUT, as many as our transport has.
 */
#include <libusb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    IN_PIPES = 8, OUT_PIPES = 8, EVENTS = 0x81, DATA_IN = 0x82, DATA_OUT = 0x02,
    EVENT_SIZE = 16, DATA_SIZE = 1152, LONGEST = 4 + 0xFFFF, MOST_CREDITS = 256,
};

struct pipe_in {
    uint8_t pending[2 * LONGEST];
    size_t filled;
};

static libusb_context *context;
static libusb_device_handle *handle;
static struct libusb_transfer *inputs[2 * IN_PIPES];
static struct libusb_transfer *idle[OUT_PIPES];
static unsigned idle_count;
static struct pipe_in events, data;
static unsigned in_flight, is_ending, has_failed, serialised;

static unsigned link_handle, is_linked, answered, credits;
static uint16_t answer_opcode;
static uint8_t answer[64];
static uint64_t wanted, sent, received, damaged, misordered;
static unsigned octets, buffer_length, buffer_count;
static uint64_t departures[MOST_CREDITS];
static uint64_t began, ended, worst;
static uint32_t checks[256];

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

static void die(const char *what, int status) {
    fprintf(stderr, "usb_exerciser: %s%s%s\n", what, status ? ": " : "", status ? libusb_error_name(status) : "");
    exit(1);
}

static uint32_t check(const uint8_t *bytes, size_t count) {
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < count; i++) crc = checks[(crc ^ bytes[i]) & 0xFF] ^ crc >> 8;
    return ~crc;
}

static void put32(uint8_t *to, uint32_t value) {
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get32(const uint8_t *from) {
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

/* Sends while there are packets left, buffers in the controller and transfers. */
static void send_data(void) {
    while (is_linked && sent < wanted && credits > 0 && idle_count > 0) {
        struct libusb_transfer *transfer = idle[--idle_count];
        uint8_t *bytes = transfer->buffer + serialised;
        transfer->buffer[0] = 2;
        bytes[0] = (uint8_t)link_handle;
        bytes[1] = (uint8_t)(link_handle >> 8);
        bytes[2] = (uint8_t)octets;
        bytes[3] = (uint8_t)(octets >> 8);
        put32(bytes + 4, (uint32_t)sent);
        memset(bytes + 8, (uint8_t)sent, octets - 8);
        put32(bytes + octets, check(bytes + 4, octets - 4));
        transfer->length = (int)(serialised + 4 + octets);
        departures[sent % MOST_CREDITS] = now();
        sent++;
        credits--;
        int status = libusb_submit_transfer(transfer);
        if (status) die("bulk OUT", status);
        in_flight++;
    }
}

static void take_event(const uint8_t *bytes) {
    switch (bytes[0]) {
    case 0x0E:
        answer_opcode = (uint16_t)(bytes[3] | bytes[4] << 8);
        memcpy(answer, bytes + 5, bytes[1] - 3u < sizeof answer ? bytes[1] - 3u : sizeof answer);
        answered = 1;
        break;
    case 0x0F:
        answer_opcode = (uint16_t)(bytes[4] | bytes[5] << 8);
        answer[0] = bytes[2];
        answered = 1;
        break;
    case 0x03:
        if (bytes[2] == 0 && bytes[11] == 1) {
            link_handle = (bytes[3] | (unsigned)bytes[4] << 8) & 0x0FFF;
            is_linked = 1;
        }
        break;
    case 0x13:
        for (unsigned i = 0; i < bytes[2]; i++) credits += bytes[5 + 4 * i] | (unsigned)bytes[6 + 4 * i] << 8;
        send_data();
        break;
    }
}

static void take_data(const uint8_t *bytes) {
    unsigned length = bytes[2] | (unsigned)bytes[3] << 8;
    if (length != octets || get32(bytes + octets) != check(bytes + 4, octets - 4)) {
        damaged++;
        return;
    }
    uint32_t number = get32(bytes + 4);
    if (number != (uint32_t)received) misordered++;
    received++;
    ended = now();
    uint64_t trip = ended - departures[number % MOST_CREDITS];
    if (trip > worst) worst = trip;
}

static void take(struct pipe_in *pipe, const uint8_t *bytes, size_t count, size_t header) {
    memcpy(pipe->pending + pipe->filled, bytes, count);
    pipe->filled += count;
    size_t start = 0;
    while (pipe->filled - start >= header) {
        const uint8_t *packet = pipe->pending + start;
        size_t length = header == 2 ? 2u + packet[1] : 4u + (packet[2] | (size_t)packet[3] << 8);
        if (pipe->filled - start < length) break;
        if (header == 2) take_event(packet); else take_data(packet);
        start += length;
    }
    pipe->filled -= start;
    memmove(pipe->pending, pipe->pending + start, pipe->filled);
}

static void LIBUSB_CALL arrived(struct libusb_transfer *transfer) {
    in_flight--;
    if (transfer->status == LIBUSB_TRANSFER_CANCELLED) return;
    if (transfer->status != LIBUSB_TRANSFER_COMPLETED) {
        has_failed = 1;
        return;
    }
    int is_event = transfer->endpoint == EVENTS;
    if (serialised) {
        if (transfer->buffer[0] == 4) take_event(transfer->buffer + 1);
        else if (transfer->buffer[0] == 2) take_data(transfer->buffer + 1);
        else has_failed = 1;
    } else take(is_event ? &events : &data, transfer->buffer, (size_t)transfer->actual_length, is_event ? 2 : 4);
    if (is_ending) return;
    int status = libusb_submit_transfer(transfer);
    if (status) die("IN", status);
    in_flight++;
}

static void LIBUSB_CALL departed(struct libusb_transfer *transfer) {
    in_flight--;
    if (transfer->status != LIBUSB_TRANSFER_COMPLETED) has_failed = 1;
    idle[idle_count++] = transfer;
    send_data();
}

static void handle_events(void) {
    struct timeval timeOut = {1, 0};
    int status = libusb_handle_events_timeout_completed(context, &timeOut, NULL);
    if (status && status != LIBUSB_ERROR_INTERRUPTED) die("events", status);
}

static void command(uint16_t opcode, uint8_t parameter, uint8_t count) {
    uint8_t bytes[5] = {1, (uint8_t)opcode, (uint8_t)(opcode >> 8), count, parameter};
    answered = 0;
    int moved, status = serialised ? libusb_bulk_transfer(handle, DATA_OUT, bytes, 4 + count, &moved, 1000)
                                   : libusb_control_transfer(handle, 0x20, 0, 0, 0, bytes + 1, 3u + count, 1000);
    if (status < 0) die("command", status);
    uint64_t deadline = now() + 2000000;
    while (!answered || answer_opcode != opcode) {
        if (now() > deadline) die("a command was not answered", 0);
        handle_events();
    }
    if (answer[0]) die("a command was refused", 0);
}

static void open_dongle(const char *place) {
    libusb_device **list;
    ssize_t count = libusb_get_device_list(context, &list);
    for (ssize_t i = 0; i < count && !handle; i++) {
        char name[32];
        snprintf(name, sizeof name, "%u-%u", libusb_get_bus_number(list[i]), libusb_get_port_number(list[i]));
        if (strcmp(name, place) == 0) {
            int status = libusb_open(list[i], &handle);
            if (status) die(place, status);
        }
    }
    libusb_free_device_list(list, 1);
    if (!handle) die("no such dongle", 0);
    libusb_set_auto_detach_kernel_driver(handle, 1);
    for (int interface = 0; interface < 2; interface++) {
        int status = libusb_claim_interface(handle, interface);
        if (status) die("claim", status);
    }
    int status = serialised ? libusb_set_interface_alt_setting(handle, 0, 1) : 0;
    if (status) die("setting 1", status);
}

static void start_transfers(void) {
    for (unsigned i = 0; i < 2 * IN_PIPES; i++) {
        int is_event = i < IN_PIPES && !serialised;
        int size = is_event ? EVENT_SIZE : DATA_SIZE;
        inputs[i] = libusb_alloc_transfer(0);
        uint8_t *buffer = malloc((size_t)size);
        if (is_event) {
            libusb_fill_interrupt_transfer(inputs[i], handle, EVENTS, buffer, size, arrived, NULL, 0);
        } else {
            libusb_fill_bulk_transfer(inputs[i], handle, DATA_IN, buffer, size, arrived, NULL, 0);
        }
        int status = libusb_submit_transfer(inputs[i]);
        if (status) die("IN", status);
        in_flight++;
    }
    for (unsigned i = 0; i < OUT_PIPES; i++) {
        idle[i] = libusb_alloc_transfer(0);
        libusb_fill_bulk_transfer(idle[i], handle, DATA_OUT, malloc(LONGEST), 0, departed, NULL, 0);
    }
    idle_count = OUT_PIPES;
}

static void stop_transfers(void) {
    is_ending = 1;
    for (unsigned i = 0; i < 2 * IN_PIPES; i++) libusb_cancel_transfer(inputs[i]);
    while (in_flight > 0) handle_events();
    for (unsigned i = 0; i < 2 * IN_PIPES; i++) {
        free(inputs[i]->buffer);
        libusb_free_transfer(inputs[i]);
    }
    for (unsigned i = 0; i < OUT_PIPES; i++) {
        free(idle[i]->buffer);
        libusb_free_transfer(idle[i]);
    }
}

int main(int count, char **arguments) {
    serialised = count == 5 && strcmp(arguments[4], "serialised") == 0;
    if (count != 4 && !serialised) die("usage: usb_exerciser BUS-PORT PACKETS OCTETS [serialised]", 0);
    wanted = strtoull(arguments[2], NULL, 10);
    octets = (unsigned)strtoul(arguments[3], NULL, 10);
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
        checks[i] = crc;
    }
    int status = libusb_init(&context);
    if (status) die("libusb", status);
    open_dongle(arguments[1]);
    start_transfers();
    command(0x0C03, 0, 0);
    command(0x1005, 0, 0);
    buffer_length = answer[1] | (unsigned)answer[2] << 8;
    buffer_count = answer[4] | (unsigned)answer[5] << 8;
    if (octets < 8 || octets > buffer_length) die("OCTETS must be 8 to the controller's buffer length", 0);
    if (buffer_count > MOST_CREDITS) buffer_count = MOST_CREDITS;
    command(0x1802, 1, 1);
    while (!is_linked) handle_events();
    credits = buffer_count;
    began = now();
    send_data();
    uint64_t seen = 0, last = began;
    while (received + damaged < wanted && !has_failed) {
        handle_events();
        if (received != seen) {
            seen = received;
            last = now();
        }
        if (now() - last > 5000000) break;
    }
    double seconds = (double)(ended - began) / 1e6;
    command(0x1802, 0, 1);
    stop_transfers();
    for (int interface = 0; interface < 2; interface++) libusb_release_interface(handle, interface);
    libusb_close(handle);
    libusb_exit(context);
    printf(
        "%.0f packets/s %llu packets %llu lost %llu damaged %llu misordered %llu us worst\n", (double)received / seconds,
        (unsigned long long)sent, (unsigned long long)(sent - received - damaged), (unsigned long long)damaged,
        (unsigned long long)misordered, (unsigned long long)worst);
    return received == wanted && !misordered ? 0 : 1;
}
