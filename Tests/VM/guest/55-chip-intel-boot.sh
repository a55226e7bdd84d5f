# dongles: --chip intel-boot --write-firmware build/vm/share/firmware
# Linux's btintel takes the chip for an AX200 in its boot loader, sends our made image and starts it.
. "$(dirname "$0")/firmware.bash"

attach 1-1
wait_for is_new || fail "no adapter"
check "Found device firmware: intel/ibt-20-1-3.sfi" "btintel reads the file for the controller"
check "Firmware loaded in" "the boot loader accepts the image"
check "Device booted in" "the firmware starts"
is_controller
detach
exit $failed
