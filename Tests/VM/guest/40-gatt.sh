# BlueZ's GATT server on the second dongle; bluebench drives the first one over libusb and hands it back to the kernel.
. "$(dirname "$0")/bluez.bash"
check() { if grep -qE "$2" <<<"$1"; then ok "$3"; else bad "$3"; echo "$1"; fi; }

devices=$($bench devices 2>&1)
echo "$devices"
check "$devices" "$first" "bluebench devices lists the first dongle"
check "$devices" "$second" "and the second"
check "$devices" "LE and BR/EDR" "and asked them for what they are"
wait_for held_by_kernel $first && wait_for held_by_kernel $second && ok "btusb has both again" || bad "btusb has both again"

start_bluez
serve_values
result=$($bench gatt "$dongle" --peer $theirs/public --mtu 185 --write $value=626C756562656E6368 --subscribe $stream=5 --read $value --seconds 20 2>&1)
code=$?
echo "$result"; cat /tmp/server.txt
[ $code = 0 ] && ok "bluebench ends with 0" || bad "bluebench ends with $code"
check "$result" "^service $service," "the service of BlueZ's server is discovered"
check "$result" "characteristic $value, handle [0-9]+: 6F6620426C75655A  'of BlueZ'$" "its value is read"
check "$(cat /tmp/server.txt)" "^written 626c756562656e6368$" "written"
check "$result" "^read $value: 626C756562656E6368  'bluebench'$" "and read back"
count=$(grep -c "^value of $stream: 0[0-9A-F]626C756562656E6368$\|^value of $stream: 0[0-9A-F]6F6620426C75655A$" <<<"$result")
[ "$count" = 5 ] && ok "five notifications came" || bad "five notifications came: $count"
wait_for held_by_kernel $first && ok "btusb has the dongle again: $(basename "$(adapter_of $first)")" || bad "btusb has the dongle again"
[ $failed = 0 ] || cat /tmp/bluetoothd.txt
exit $failed
