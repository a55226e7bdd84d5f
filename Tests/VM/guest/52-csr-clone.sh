# dongles: --chip csr-clone
# Linux's btusb tells a clone of a CSR dongle by its numbers, leaves out what locks it up, and has a controller.
. "$(dirname "$0")/firmware.bash"

attach 1-1
wait_for is_new || fail "no adapter"
check "CSR: Unbranded CSR clone detected" "btusb takes the clone for one"
is_controller
detach
exit $failed
