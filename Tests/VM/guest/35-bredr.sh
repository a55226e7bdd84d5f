# Two adapters of the kernel over BR/EDR: inquiry, pairing, stored keys, channels; then BlueZ's own testers of L2CAP and RFCOMM on the same bond.
here=$(dirname "$0")
failed=0
ok() { echo "= ok: $1"; }
bad() { echo "= NOT OK: $1"; failed=1; cat /tmp/listener.txt 2>/dev/null; }
wait_for() { local end=$((SECONDS + 20)); while [ $SECONDS -lt $end ]; do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done; echo "no: $*"; return 1; }
peer=$(hciconfig hci1 | sed -n 's/.*BD Address: \([0-9A-F:]*\).*/\1/p')
echo N >/sys/module/bluetooth/parameters/disable_ertm
/usr/bin/python3 "$here/bredr_pair.py" || failed=1
# NAME OCTETS LISTENER... -- SENDER...: this many octets of the sender arrive at the listener.
traffic() {
    local name=$1 count=$2 listener=()
    shift 2
    while [ "$1" != -- ]; do listener+=("$1"); shift; done
    shift
    timeout 60 "${listener[@]}" >/tmp/listener.txt 2>&1 &
    local listening=$!
    wait_for grep -q "Waiting for connection" /tmp/listener.txt
    # A link that is about to end, as the one before may be, takes no channel.
    for _ in 1 2 3; do
        timeout 60 "$@" >/tmp/sender.txt 2>&1 && break
        cat /tmp/sender.txt
        grep -q "Can't connect" /tmp/sender.txt || break
        sleep 2
    done
    wait_for grep -q "Disconnect: \|Read failed" /tmp/listener.txt
    kill $listening 2>/dev/null
    local bytes
    bytes=$(awk '/ bytes in / { sum += $2 } END { print sum + 0 }' /tmp/listener.txt)
    [ "$bytes" -ge "$count" ] && ok "$name: $bytes octets" || bad "$name: $bytes octets of $count"
}
# The kernel of the side that answers ends a link on which it has no channel after four seconds.
timeout 60 l2ping -i hci0 -c 3 $peer && ok "l2ping: three answers" || bad "l2ping: three answers"
traffic "l2test, basic mode" 33600 l2test -r -i hci1 -P 4113 -I 672 -- l2test -s -i hci0 -P 4113 -O 672 -b 672 -N 50 -g 500 $peer
traffic "rctest" 6350 rctest -r -i hci1 -P 7 -- rctest -s -i hci0 -P 7 -b 127 -N 50 $peer
for index in 0 1; do hciconfig hci$index down; done
exit $failed
