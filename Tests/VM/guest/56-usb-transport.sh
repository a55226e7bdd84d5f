# dongles: --count 2 --chip serialised
# read by: usb_capture.py usb.pcapng
# Linux's btusb knows the legacy mode only, and uses dongles that offer Bulk Serialization mode in it. Then the suite for the USB side judges one of
# them over USB/IP and this kernel's usbfs, while usbmon records it.
. "$(dirname "$0")/firmware.bash"

attach 1-1
wait_for is_new || fail "no adapter"
is_controller
attach 1-2
wait_for is_new || fail "no second adapter"
dumpcap -q -i usbmon1 -w /tmp/usb.pcapng 2>/dev/null & capture=$!
wait_for test -s /tmp/usb.pcapng || fail "no capture of usbmon"
output=$(timeout 100 /share/bluebench run usb-transport --cases /share/Conformance --subject usb:1209:0002/02BB00000001 \
    --tester usb:1209:0002/02BB00000002 --slack 1000 --report /tmp/report 2>&1)
code=$?
kill -INT $capture
wait $capture
cp /tmp/usb.pcapng /share/
echo "$output"
grep -E '^[0-9]+ PASS' <<<"$output" | sed 's/^/= /'
[ $code = 0 ] || fail "the suite ends with $code"
detach
exit $failed
