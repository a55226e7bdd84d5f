# The kernel's L2CAP channels over LE, in both credit-based modes: it opens channels to our echo, and returns what we send.
. "$(dirname "$0")/bluez.bash"
mgmt() { timeout 20 script -qec "btmgmt --index ${theirs_at#hci} $*" /dev/null 2>&1 </dev/null | sed 's/\x1b\[[0-9;]*[a-zA-Z]//g'; }
theirs_at=$(basename "$(adapter_of $second)")
echo Y >/sys/module/bluetooth/parameters/enable_ecred
mgmt power off; mgmt le on; mgmt connectable on; mgmt power on
socket() { timeout 60 /usr/bin/python3 "$here/channel_socket.py" "$@" 2>&1; }

$bench l2cap "$dongle" --mtu 400 --mps 64 --credits 3 --seconds 200 >/tmp/echo.txt 2>&1 &
echo=$!
wait_for grep -q "advertising as" /tmp/echo.txt || cat /tmp/echo.txt
at=$(grep -oE -m1 "([0-9A-F]{2}:){5}[0-9A-F]{2}" /tmp/echo.txt)
for mode in le enhanced; do
    result=$(socket client $mode $theirs $at)
    grep -q "MTU 400: 8 SDUs, 1435 octets came back" <<<"$result" && ok "the kernel's client, $mode: $result" || { bad "the kernel's client, $mode: $result"; cat /tmp/echo.txt; }
done
kill -INT $echo; wait $echo
wait_for held_by_kernel $first

mgmt advertising on
long=$(printf '%02x' $(seq 1 250))
for mode in le enhanced; do
    socket server $mode $theirs >/tmp/server.txt &
    wait_for grep -q listening /tmp/server.txt
    enhanced=$([ $mode = enhanced ] && echo "--enhanced 1")
    result=$($bench l2cap "$dongle" --peer $theirs/public --spsm 133 $enhanced --send 01 --send $long --send 020304 --seconds 40 2>&1)
    code=$?
    [ $code = 0 ] && grep -qi "$long" <<<"$result" && grep -q "020304" <<<"$result" && ok "the kernel's server, $mode: three SDUs came back" \
        || { bad "the kernel's server, $mode: exit $code, $result"; cat /tmp/server.txt; }
    wait_for held_by_kernel $first
    mgmt advertising on
done
mgmt advertising off; mgmt connectable off; mgmt power off
echo N >/sys/module/bluetooth/parameters/enable_ecred
exit $failed
