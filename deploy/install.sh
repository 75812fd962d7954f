#!/bin/sh
# Install reassignd as a systemd service, from a wheel: ./install.sh [--extras spark,propose] [--requirements FILE] WHEEL
# --requirements installs the versions of FILE, with their hashes, such as requirements/run.txt; nothing else is fetched.
# Update it: run it again with the new wheel, then `systemctl restart reassignd`. Remove it: ./install.sh --remove
# PYTHON is the interpreter to use (3.11 or later). DESTDIR is put before all paths, for tests only: what is installed there
# has the path in it, and works at no other place.
# PIP_ARGS has further arguments of pip, such as `--no-index --find-links /media/wheels` without a network.
set -eu

prefix=${DESTDIR:-}/opt/reassignd
command=$prefix/bin/reassignd
link=${DESTDIR:-}/usr/local/bin/reassignd
unit=${DESTDIR:-}/etc/systemd/system/reassignd.service
settings=${DESTDIR:-}/etc/reassignd/reassignd.properties
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

usage() {
    sed -n '/^set /q; s/^# //p' "$0"
}

reload() {
    if [ -z "${DESTDIR:-}" ] && [ -d /run/systemd/system ]; then
        systemctl daemon-reload
    fi
}

linked() {
    [ "$(readlink "$link")" = "$command" ]
}

case ${1:-} in
    -h | --help)
        usage
        exit 0
        ;;
esac

if [ "${1:-}" = --remove ]; then
    if [ -z "${DESTDIR:-}" ] && [ -d /run/systemd/system ]; then
        systemctl disable --now reassignd || true
    fi
    if linked; then
        rm "$link"
    fi
    rm -rf "$prefix" "$unit"
    reload
    echo "removed; settings are left in $(dirname "$settings"), records in ${DESTDIR:-}/var/lib/reassignd"
    exit 0
fi

extras='' requirements=''
while [ $# -gt 1 ]; do
    case $1 in
        --extras) extras="[$2]" ;;
        --requirements) requirements=$2 ;;
        *) break ;;
    esac
    shift 2
done
[ $# -eq 1 ] || fail "give the wheel: ./install.sh [--extras spark,propose] [--requirements FILE] reassignd-VERSION-py3-none-any.whl"
wheel=$1
case $wheel in
    -*) fail "unknown option $wheel; see ./install.sh --help" ;;
esac
if [ ! -f "$wheel" ]; then
    built=$(dirname "$here")/dist/$(basename "$wheel")
    [ ! -f "$built" ] || fail "there is no file $wheel; give $built"
    fail "there is no file $wheel"
fi
[ -z "$requirements" ] || [ -f "$requirements" ] || fail "there is no file $requirements"
if [ -z "${DESTDIR:-}" ] && [ "$(id -u)" -ne 0 ]; then
    fail "must be run as root (sudo)"
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$python is older than 3.11: set PYTHON"

home=$("$python" -c 'import sys; print(sys.base_prefix)')
case ${DESTDIR:-}$home in
    ~root/* | /home/*) fail "the service cannot read $home: set PYTHON to an interpreter outside of home directories, such as /usr/bin/python3" ;;
esac

pip_install() {
    "$prefix/bin/python" -m pip --disable-pip-version-check install --quiet "$@"
}

updated=''
if [ -e "$unit" ]; then
    updated=yes
fi
[ -x "$prefix/bin/python" ] || "$python" -m venv "$prefix" || fail "no venv (Debian: apt-get install python3-venv)"
if [ -n "$requirements" ]; then
    # shellcheck disable=SC2086 (PIP_ARGS are several words)
    pip_install ${PIP_ARGS:-} --no-deps --require-hashes --requirement "$requirements"
    pip_install --no-index "$wheel$extras" || fail "$requirements lacks packages that the wheel needs"
else
    # shellcheck disable=SC2086
    pip_install --upgrade ${PIP_ARGS:-} "$wheel$extras"
fi
# pip keeps an installed package of the same version, even if the wheel differs.
pip_install --no-index --no-deps --force-reinstall "$wheel"

mkdir -p "$(dirname "$unit")" "$(dirname "$settings")" "$(dirname "$link")"
install -m 0644 "$here/systemd/reassignd.service" "$unit"
if [ ! -e "$settings" ]; then
    install -m 0644 "$here/systemd/reassignd.properties" "$settings"
fi
if [ -e "$link" ] || [ -L "$link" ] && ! linked; then
    echo "$link is another program and is left; run $command"
else
    ln -sf "$command" "$link"
fi
reload
"$command" --version
if [ -n "$updated" ]; then
    echo "updated; to run it: systemctl restart reassignd"
else
    echo "now set upstream.bootstrap.servers in $settings, then: systemctl enable --now reassignd"
fi
