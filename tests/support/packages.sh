# Sourced by tests/run.sh and examples/run.sh: `need_packages NAME...` installs the
# Debian packages that are missing, where there is apt and the right to use it, and
# elsewhere says which they are and goes on: what they hold may be there all the same.

missing_packages() {
    for package in "$@"; do
        case $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) in
        *" installed") ;;
        *) printf ' %s' "$package" ;;
        esac
    done
}

need_packages() {
    if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
        echo "no apt here; needed are the equivalents of: $*"
        return 0
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        echo "not root; to install what is missing: apt-get install --no-install-recommends$missing"
        return 0
    fi
    echo "installing:$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq -o DPkg::Lock::Timeout=300 &&
        # shellcheck disable=SC2086 # a list of words
        apt-get install -qq -y --no-install-recommends -o DPkg::Lock::Timeout=300 \
            -o Dpkg::Use-Pty=0 $missing >/dev/null
}

# What building the library and the tool takes.
build_packages="gcc libc6-dev make cmake pkg-config liblua5.4-dev libyaml-dev libcjson-dev"
