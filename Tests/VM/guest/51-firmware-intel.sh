# dongles: --boot intel --write-firmware build/vm/share/firmware
# Linux's btintel finds a boot loader, sends our made image through the bulk pipe, starts it and writes its settings.
. "$(dirname "$0")/firmware.bash"

attach 1-1
wait_for is_new || fail "no adapter"
check "Found device firmware: intel/ibt-20-1-3.sfi" "btintel reads the file for the controller"
check "Firmware loaded in" "the boot loader accepts the image"
check "Device booted in" "the firmware starts"
check "Applying Intel DDC parameters completed" "it takes its settings"
is_controller
detach
exit $failed
