# Conformance cases over the usbfs of a real kernel: tester and subject are both taken from btusb and given back.
bench=/share/bluebench
adapters() { ls -d /sys/bus/usb/devices/1-[12]:1.0/bluetooth/hci* 2>/dev/null | wc -l; }
output=$(timeout 100 $bench run --cases /share/Conformance --tester usb:1-1 --subject usb:1-2 --report /tmp/report \
    hci/encrypt hci/reset-while-connected gap-adv/connectable-is-found gap-conn/data-both-ways 2>&1)
code=$?
echo "$output"
tail -1 <<<"$output" | sed 's/^/= /'
[ $code = 0 ] || exit 1
end=$((SECONDS + 20))
until [ "$(adapters)" = 2 ]; do
    [ $SECONDS -lt $end ] || { echo "= NOT OK: btusb has $(adapters) of two dongles again"; exit 1; }
    sleep 0.1
done
echo "= ok: btusb has both again"
