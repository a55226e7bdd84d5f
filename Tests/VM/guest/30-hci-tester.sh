# BlueZ's tester of controllers, on both dongles through user channels: everything passes.
timeout 120 hci-tester 2>&1 | sed 's/\x1b\[[0-9;]*m//g' >/tmp/hci-tester.txt
table=$(sed -n '/^Test Summary/,$p' /tmp/hci-tester.txt | sed 's/Not Run *$/Not Run /' | grep -E ' (Passed|Failed|Timed out|Not Run) ' | grep -v '^Total' | sed 's/^/= /')
echo "$table"
passed=$(grep -c ' Passed ' <<<"$table")
echo "= $passed passed"
[ "$passed" = 18 ] && ! grep -v ' Passed ' <<<"$table" && exit 0
cat /tmp/hci-tester.txt
exit 1
