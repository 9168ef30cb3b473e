#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The first process inside the user-mode kernel: siw_lines=N (the kernel's command line) serial lines are
# served once siw0 is there. It prints errors on the console; when this process ends,
# the kernel ends, too.
set -u
: "${siw_lines:?}" "${siw_address:?}" "${siw_address6:?}"
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

give_up() {
    echo "siw: $*"
    exit 1
}

mount -t proc none /proc || exit 1
mount -t sysfs none /sys || give_up "no sysfs"
mount -t devtmpfs none /dev || give_up "no devtmpfs"
mkdir -p /dev/pts /dev/shm
mount -t devpts none /dev/pts
mount -t tmpfs -o mode=1777 none /dev/shm || give_up "no tmpfs"
mount -t tmpfs -o mode=755 none /run
ln -s /proc/self/fd /dev/fd
hostname siw

# Station and peer meet on lo: with Ethernet's MTU their segments are those of a real network.
ip link set lo mtu 1500 up || give_up "no loopback"
{ ip link set dummy0 up && ip addr add "$siw_address/24" dev dummy0 &&
    ip addr add "$siw_address6/64" dev dummy0 nodad; } || give_up "no dummy0"
rdma link add siw0 type siw netdev dummy0 || give_up "no siw0"
rdma link show siw0/1 | grep -q 'state ACTIVE' || give_up "siw0 is not active: $(rdma link show)"
[ -e /dev/infiniband/rdma_cm ] || give_up "no /dev/infiniband/rdma_cm"

/usr/bin/python3 -IS "${0%/*}/channel.py" serve "$siw_lines"
give_up "the command channels have ended"
