# Examples/bleak: an app over BlueZ's adapter finds the accessory that bluebench plays on the other dongle.
. "$(dirname "$0")/bluez.bash"
checkout=$(cat /share/checkout)
forget_bonds
start_bluez
$bench advertise "$dongle" --as heart-rate >/tmp/accessory.txt 2>&1 &
wait_for grep -q "^advertising" /tmp/accessory.txt && ok "the accessory advertises" || bad "the accessory advertises"
said=$(cd "$checkout" && timeout 150 .venv/bin/python -B Examples/bleak/app.py 2>&1)
echo "$said"
grep -q "^worn at the chest$" <<<"$said" && ok "the app reads where it is worn" || bad "the app reads where it is worn"
[ "$(grep -cE "^[0-9]+ beats per minute$" <<<"$said")" = 3 ] && ok "and three heart rates" || bad "and three heart rates"
[ $failed = 0 ] || cat /tmp/bluetoothd.txt /tmp/accessory.txt
exit $failed
