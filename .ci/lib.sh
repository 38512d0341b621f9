# Shared by the scripts beside it; sourced, never run. Needs nothing but a POSIX shell.
# Sets: root (the checkout), jobs (processors to use).

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
jobs=${TRK_JOBS:-$(nproc 2>/dev/null || echo 2)}
export CTEST_PARALLEL_LEVEL="${CTEST_PARALLEL_LEVEL:-$jobs}"

# stage NAME COMMAND...: run it, say how many seconds it took, end everything when it fails.
stage()
{
    stage_name=$1
    shift
    stage_start=$(date +%s)
    echo "== $stage_name"
    # No `||` and no `if` around the command: a shell that is being tested ignores its own `set -e`.
    set +e
    (
        set -eu
        "$@"
    )
    stage_rc=$?
    set -e
    stage_seconds=$(($(date +%s) - stage_start))
    if [ "$stage_rc" != 0 ]; then
        echo "== $stage_name: FAILED with $stage_rc after $stage_seconds s" >&2
        exit "$stage_rc"
    fi
    echo "== $stage_name: $stage_seconds s"
}

# packages NAME...: install what is missing, from Debian. Asks for root only when it must.
packages()
{
    missing=
    for package in "$@"; do
        if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q ' ok installed$'; then
            missing="$missing $package"
        fi
    done
    if [ -z "$missing" ]; then
        return 0
    fi
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "no apt-get here; make sure that these are installed:$missing" >&2
        return 0
    fi
    as_root='env DEBIAN_FRONTEND=noninteractive'
    if [ "$(id -u)" != 0 ]; then
        as_root="sudo $as_root"
    fi
    echo "installing:$missing"
    # shellcheck disable=SC2086 # both are lists of words
    $as_root apt-get update -q >"${TMPDIR:-/tmp}/trk-apt.$$" 2>&1 &&
        $as_root apt-get install -q -y --no-install-recommends $missing \
            >>"${TMPDIR:-/tmp}/trk-apt.$$" 2>&1 || {
        cat "${TMPDIR:-/tmp}/trk-apt.$$" >&2
        rm -f "${TMPDIR:-/tmp}/trk-apt.$$"
        return 1
    }
    rm -f "${TMPDIR:-/tmp}/trk-apt.$$"
}

packages_build='gcc g++ libc6-dev cmake ninja-build pkg-config libzstd-dev libcjson-dev libxxhash-dev libsqlite3-dev
    libvulkan-dev libvulkan1 mesa-vulkan-drivers'
packages_test='libcriterion-dev libzydis-dev zstd scdoc vulkan-validationlayers glslang-tools'
packages_check='git clang libclang-rt-14-dev clang-tools clang-tidy clang-format cppcheck python3'

# configure PRESET OPTION...: into the preset's folder, below the checkout.
configure()
{
    preset=$1
    shift
    (cd "$root" && cmake --preset "$preset" --log-level=WARNING "$@")
}

build()
{
    (cd "$root" && cmake --build --preset "$1" --parallel "$jobs" -- --quiet)
}

# Prefix for programs under a sanitizer: newer kernels spread mappings further than the sanitizers'
# run-time libraries of Debian 12 know; a fixed layout suits both. Empty where it is not allowed.
fixed_layout=
if setarch "$(uname -m)" -R true 2>/dev/null; then
    fixed_layout="setarch $(uname -m) -R"
fi
