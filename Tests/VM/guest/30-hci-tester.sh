# BlueZ's tester of controllers, on both dongles through user channels.
timeout 110 hci-tester >/tmp/hci-tester.txt 2>&1
cat /tmp/hci-tester.txt | sed 's/\x1b\[[0-9;]*m//g' >/tmp/plain.txt
sed -n '/Test Summary/,$p' /tmp/plain.txt | sed 's/^/= /'
grep -q "Passed: 1[678]" /tmp/plain.txt || { cat /tmp/plain.txt; exit 1; }
