#!/bin/sh
# A copy of this machine's files with systemd as its first process, in namespaces of its own: tests/deploy/booted.py runs it.
# It has no network but loopback, and what it writes is gone at its end.
set -eu

# Make the copy in the folder $1, install the release in the folder $2 with this machine's own Python, and boot it.
copy() {
    read -r _ # until this process is in its control groups
    { mount --make-rprivate / && mount -t tmpfs tmpfs "$1"; } || exit $not_permitted
    mkdir "$1/upper" "$1/work" "$1/root"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" || exit $not_permitted
    cd "$1/root"
    cp -r "$2" release
    for name in proc dev; do mount --rbind "/$name" "$name"; done
    chroot . env PYTHON=/usr/bin/python3 sh -c '/release/install.sh /release/*.whl'
    umount --lazy proc dev
    exec unshare --pid --fork --uts --ipc --net --cgroup --kill-child sh "$script" boot
}

boot() {
    pivot_root . mnt
    mount -t proc proc /proc # umount reads it
    umount --lazy /mnt
    mount --bind /proc/sys /proc/sys
    mount -o remount,bind,ro /proc/sys # these are settings of the machine
    mount -t sysfs -o ro sysfs /sys
    for folder in run tmp dev; do mount -t tmpfs tmpfs "/$folder"; done
    device null 1 3
    device zero 1 5
    device full 1 7
    device random 1 8
    device urandom 1 9
    device tty 5 0
    mkdir /dev/pts /dev/shm
    mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts
    mount -t tmpfs tmpfs /dev/shm
    ln -s pts/ptmx /dev/ptmx
    if grep -q name=systemd /proc/self/cgroup; then
        mount -t tmpfs tmpfs /sys/fs/cgroup
        mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
        mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
        mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
    else
        mount -t cgroup2 cgroup2 /sys/fs/cgroup
    fi
    exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target
}

device() {
    mknod -m 0666 "/dev/$1" c "$2" "$3"
}

not_permitted=77
script=$(realpath "$0")
"$@"
