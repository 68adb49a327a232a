# Set-up steps that docs/quickstart, tests/run and .ci/run share. Sourced by bash, run from the
# project's root.
# shellcheck shell=bash disable=SC2034  # the variables are for those that source this

# Packages that a build needs, on Debian 12, Ubuntu 22.04 and 24.04.
build_packages=(g++ dpkg-dev ninja-build pkg-config libdnnl-dev zlib1g-dev nlohmann-json3-dev libcli11-dev libsodium-dev libgloo-dev libstb-dev dataset-fashion-mnist)
# The tests of bindings and docs need a compiler per language, packages that users of Python have,
# and a browser.
binding_packages=(rustc cargo golang-go mono-mcs mono-runtime libmono-system-core4.0-cil libmono-system-windows-forms4.0-cil
                  xvfb xauth cmake python3-numpy python3-torch python3-torchvision python3-nbclient python3-ipykernel chromium)
# Packages that build Debian packages; bindings/packages/debian/control has the same list.
debian_packages=(debhelper dh-python lintian python3-all python3-setuptools libopenmpi-dev mono-mcs)
# A compiler for Windows, and what it needs.
windows_packages=(g++-mingw-w64-x86-64-posix libz-mingw-w64-dev mingw-w64-tools)
minimum_meson=1.1

# Else ccache keeps nothing that is compiled with a precompiled header.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}

say() { printf '== %s\n' "$*"; }

fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Installs the packages that are missing. If none is missing, apt is not called.
ensure_packages() {
  local package missing=()
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null || fail "these packages are missing, and there is no apt-get to install them: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "run me as root, or install first: ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update -qq &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
       } </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install: ${missing[*]}"
  fi
  rm -f "$log"
}

# Installs those packages of a list that the distribution has. Tests that need others are skipped.
ensure_optional_packages() {
  local package known=()
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] && continue
    if [ -n "$(apt-cache show "$package" 2>/dev/null)" ]; then known+=("$package"); else say "there is no package $package"; fi
  done
  [ ${#known[@]} -eq 0 ] || (ensure_packages "${known[@]}") || say "the tests that need these are skipped"
}

# Whether version $1 is at least version $2.
is_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Sets `meson` to a command of a version that is new enough: the one on the PATH or else the
# distribution's. If both are too old (Ubuntu 22.04), a wheel is installed in a virtual environment
# in build/tools.
ensure_meson() {
  meson=meson
  command -v meson >/dev/null && is_at_least "$(meson --version)" "$minimum_meson" && return
  meson=$PWD/build/tools/bin/meson
  [ -x "$meson" ] && return
  local candidate
  candidate=$(apt-cache policy meson 2>/dev/null | sed -n 's/^ *Candidate: //p')
  if [ -n "$candidate" ] && [ "$candidate" != '(none)' ] && is_at_least "$candidate" "$minimum_meson"; then
    ensure_packages meson
    meson=meson
    return
  fi
  say "installing meson into build/tools"
  ensure_packages python3-venv
  python3 -m venv build/tools
  build/tools/bin/python -m pip install --quiet --disable-pip-version-check "meson>=$minimum_meson,<2" ||
    fail "pip could not install meson $minimum_meson; install meson $minimum_meson or later yourself and run me again"
}

# Sets `cuda_options` to the options that meson needs to build the CUDA plug-in. If a toolkit has
# cuDNN and NCCL but no headers of cudnn-frontend, installs these from their wheel into build/tools.
# If that fails, the plug-in is not built.
ensure_cuda_headers() {
  cuda_options=()
  local nvcc include=
  nvcc=$(command -v nvcc) || return 0
  include=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include
  [ -f "$include/cudnn.h" ] && [ -f "$include/nccl.h" ] && [ ! -f "$include/cudnn_frontend.h" ] || return 0
  local folder=$PWD/build/tools/cudnn_frontend
  if [ ! -f "$folder/include/cudnn_frontend.h" ]; then
    say "installing the headers of cudnn-frontend into build/tools"
    ensure_packages python3-venv
    { [ -x build/tools/bin/python ] || python3 -m venv build/tools; } &&
      build/tools/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target "$folder" \
        'nvidia-cudnn-frontend>=1.32,<2' || { say "pip could not install them; the CUDA plug-in is not built"; return 0; }
  fi
  cuda_options=(-Dcudnn_frontend_path="$folder/include")
}

# ensure_arm64_root DIR: unpacks the libraries that arm64 programs need.
ensure_arm64_root() {
  [ -f "$1/complete" ] && return
  say "unpacking libraries of arm64 into $1"
  rm -rf "$1"
  python3 bindings/packages/sysroot.py arm64 "$1" libdnnl-dev zlib1g-dev libsodium-dev libgloo-dev libgtest-dev \
    nlohmann-json3-dev libcli11-dev "libstdc++-$(aarch64-linux-gnu-gcc -dumpversion)-dev" ||
    fail "the libraries of arm64 could not be unpacked"
  touch "$1/complete"
}

# Collects the libraries that a compiler for Windows needs in build/windows-root.
ensure_windows_root() {
  [ -f build/windows-root/lib/libdnnl.dll.a ] && return
  say "collecting libraries for Windows in build/windows-root"
  ensure_packages python3-venv
  [ -x build/packaging/bin/python ] || python3 -m venv build/packaging
  build/packaging/bin/python bindings/packages/windows_root.py build/windows-root || fail "the libraries for Windows cannot be had"
}

# configure_build DIR [MESON OPTION...]: sets up a build folder, once. Later calls only change the
# options that they name.
configure_build() {
  local folder=$1
  shift
  if [ ! -f "$folder/build.ninja" ]; then
    say "configuring $folder"
    mkdir -p "$folder"
    "$meson" setup "$folder" . "$@" >"$folder/configure.log" 2>&1 ||
      { tail -n 20 "$folder/configure.log" >&2; fail "meson setup failed; see $folder/configure.log"; }
  elif [ $# -gt 0 ]; then
    "$meson" configure "$folder" "$@" >>"$folder/configure.log" 2>&1 ||
      { tail -n 20 "$folder/configure.log" >&2; fail "meson configure failed; see $folder/configure.log"; }
  fi
}

# compile_build DIR [TARGET...]: compiles a build folder. If that fails, prints errors from the log.
compile_build() {
  local folder=$1
  shift
  say "compiling in $folder"
  "$meson" compile -C "$folder" "$@" >"$folder/compile.log" 2>&1 ||
    { grep -iE -A 12 'error|FAILED' "$folder/compile.log" | head -n 60 >&2 || true; fail "the build failed; see $folder/compile.log"; }
}
