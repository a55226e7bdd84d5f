"""Where Bumble 0.0.236 reads or writes something else than the Core Specification, with the section that decides.

`skip` leaves the PDU out, `values` the comparison of values, `back` Bumble's own encoding.
"""

KNOWN = {}
