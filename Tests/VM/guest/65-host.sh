# The kernel's Bluetooth host judged by cases for hosts: it drives our virtual controller over /dev/vhci; btp_linux.py is its upper tester.
# judged by: host-gap/general-discoverable host-gap/not-connectable host-gap/is-connected host-gap/leaves host-gap/connects host-gap/discovers[peer=general] host-l2cap/accepts host-l2cap/is-refused host-l2cap/refused[request=needs-encryption] host-sm/asks-for-security host-sm/numeric-comparison-refused host-sm/passkey-wrong[io=entered,method=legacy] host-sm/passkey-wrong[io=entered,method=secure-connections] host-sm/pdu-of-other-method[pdu=random-before-confirm] --slack 1000
here=$(dirname "$0")
own=/share/$(basename "$0")
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
wait_for() { local end=$((SECONDS + ${limit:-40})); while [ $SECONDS -lt $end ]; do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done; echo "no: $*"; return 1; }
wait_for test -s $own.controller || exit 1
/usr/bin/python3 "$here/vhci.py" 10.0.2.2 "$(cat $own.controller)" >/tmp/adapter.txt 2>&1 &
wait_for test -s $own.btp && wait_for grep -q "^hci" /tmp/adapter.txt || { cat /tmp/adapter.txt; exit 1; }
/usr/bin/python3 "$here/btp_linux.py" "$(head -1 /tmp/adapter.txt)" 10.0.2.2 "$(cat $own.btp)" >/tmp/upper.txt 2>&1 &
limit=1200 wait_for test -s $own.ended
/usr/bin/python3 "$here/host_verdicts.py" $own.json 17
code=$?
[ $code = 0 ] || cat /tmp/upper.txt
exit $code
