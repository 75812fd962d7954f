#!/bin/sh
# Install reassignd as a systemd service, from a wheel: ./install.sh [--extras spark,propose] reassignd-*.whl
# Update it: run it again with the new wheel, then `systemctl restart reassignd`. Remove it: ./install.sh --remove
# PYTHON is the interpreter to use (3.11 or later). DESTDIR is put before all paths, for packages and tests.
# PIP_ARGS has further arguments of pip, such as `--no-index --find-links /media/wheels` without a network.
set -eu

prefix=${DESTDIR:-}/opt/reassignd
unit=${DESTDIR:-}/etc/systemd/system/reassignd.service
settings=${DESTDIR:-}/etc/reassignd/reassignd.properties
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

reload() {
    if [ -z "${DESTDIR:-}" ] && [ -d /run/systemd/system ]; then
        systemctl daemon-reload
    fi
}

if [ "${1:-}" = --remove ]; then
    if [ -z "${DESTDIR:-}" ] && [ -d /run/systemd/system ]; then
        systemctl disable --now reassignd || true
    fi
    rm -rf "$prefix" "$unit"
    reload
    echo "removed; settings are left in $(dirname "$settings"), records in ${DESTDIR:-}/var/lib/reassignd"
    exit 0
fi

extras=
if [ "${1:-}" = --extras ]; then
    extras="[${2:?}]"
    shift 2
fi
[ $# -eq 1 ] || fail "give the wheel: ./install.sh [--extras spark,propose] reassignd-VERSION-py3-none-any.whl"
[ -f "$1" ] || fail "there is no file $1"
if [ -z "${DESTDIR:-}" ] && [ "$(id -u)" -ne 0 ]; then
    fail "must be run as root (sudo)"
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$python is older than 3.11: set PYTHON"

home=$("$python" -c 'import sys; print(sys.base_prefix)')
case ${DESTDIR:-}$home in
    ~root/* | /home/*) fail "the service cannot read $home: set PYTHON to an interpreter outside of home directories" ;;
esac

[ -x "$prefix/bin/python" ] || "$python" -m venv "$prefix" || fail "no venv (Debian: apt-get install python3-venv)"
# shellcheck disable=SC2086 (PIP_ARGS are several words)
"$prefix/bin/python" -m pip --disable-pip-version-check install --quiet --upgrade ${PIP_ARGS:-} "$1$extras"

mkdir -p "$(dirname "$unit")" "$(dirname "$settings")"
install -m 0644 "$here/systemd/reassignd.service" "$unit"
if [ ! -e "$settings" ]; then
    install -m 0644 "$here/systemd/reassignd.properties" "$settings"
fi
reload
"$prefix/bin/reassignd" --version
echo "now set upstream.bootstrap.servers in $settings, then: systemctl enable --now reassignd"
