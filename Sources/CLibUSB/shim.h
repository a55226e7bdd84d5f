#include <libusb.h>

/* The descriptors of a transfer's isochronous packets lie behind it, in an array that Swift cannot see. */
static inline struct libusb_iso_packet_descriptor *bluebench_iso_packet(struct libusb_transfer *transfer, int index) {
    return &transfer->iso_packet_desc[index];
}
