# dongles: --chip csr8510
# A genuine CSR8510 has the same identifiers: btusb does not take it for a clone.
. "$(dirname "$0")/firmware.bash"

attach 1-1
wait_for is_new || fail "no adapter"
is_controller
if said "CSR: Unbranded CSR clone detected"; then fail "btusb takes it for a clone"; else echo "= ok: btusb does not take it for a clone"; fi
detach
exit $failed
