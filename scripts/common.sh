# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
#
# Sourced by the other scripts: where things are, and what a fresh Debian 12 or Ubuntu 24.04 machine still needs.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${STREAMSAN_BUILD:-$root/build}

say() { printf '\n== %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

# The newest llvm-N-tools of this machine (lit, FileCheck); empty if there is none.
llvm_tools() {
  local version
  for version in 22 21 20 19 18 17 16 15 14; do
    if [ -x "/usr/lib/llvm-$version/bin/FileCheck" ]; then
      printf '/usr/lib/llvm-%s/bin' "$version"
      return
    fi
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

have_package() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

can_install() { apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [0-9]'; }

# The names are those that testsuite/html/browser.py looks for.
have_browser() {
  local name
  for name in "${STREAMSAN_CHROMIUM:-chromium}" chromium-browser google-chrome google-chrome-stable chrome; do
    ! command -v "$name" >/dev/null || return 0
  done
  return 1
}

# Installs what is missing of what the build and the tests need. Nothing is fetched when nothing is missing.
install_packages() {
  local wanted=(g++ cmake ninja-build python3 binutils libcli11-dev nlohmann-json3-dev libgtest-dev libbenchmark-dev
    libzstd-dev liblz4-dev)
  # What streamsan-tidy is built from and tested with. Where the distribution does not have it, it is not built.
  local analyzer=(libclang-22-dev llvm-22-dev clang-22 clang-tidy-22 clang-tools-22)
  # What shows the HTML report in its tests. Where the distribution has none as a package, they are skipped.
  local browser=chromium
  local missing=() package version
  for package in "${wanted[@]}"; do
    have_package "$package" || missing+=("$package")
  done
  local without_analyzer=${#missing[@]}
  for package in "${analyzer[@]}"; do
    have_package "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ] || [ -z "$(llvm_tools)" ] || { ! have_browser && can_install "$browser"; }; then
    command -v apt-get >/dev/null || die "this script installs with apt-get; elsewhere install ${wanted[*]} and lit with FileCheck"
    say "Installing what is missing"
    as_root apt-get update -qq
    if [ ${#missing[@]} -gt "$without_analyzer" ] && ! can_install libclang-22-dev; then
      say "This distribution has no libclang-22-dev: streamsan-tidy is not built"
      missing=("${missing[@]:0:$without_analyzer}")
    fi
    if ! have_browser && can_install "$browser"; then
      missing+=("$browser" fonts-dejavu-core)
    fi
    if [ -z "$(llvm_tools)" ]; then
      for version in 22 21 20 19 18 17 16 15 14; do
        if can_install "llvm-$version-tools"; then
          missing+=("llvm-$version-tools" "llvm-$version")
          break
        fi
      done
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
  fi
}

# Puts nvcc on the PATH: CUDA Toolkit 13.0 or later, from where toolkits usually are, from apt, or from pip.
find_cuda() {
  local candidate
  for candidate in "${CUDA_PATH:-}" "${CUDA_HOME:-}" /usr/local/cuda "$root/.cache/cuda/nvidia/cu13"; do
    if [ -n "$candidate" ] && [ -x "$candidate/bin/nvcc" ]; then
      export CUDA_PATH=$candidate
      export PATH=$candidate/bin:$PATH
      break
    fi
  done
  command -v nvcc >/dev/null || return 1
  local version
  version=$(nvcc --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
  [ "$version" -ge 13 ] || die "nvcc is of CUDA $version; StreamSan is built against the headers of CUDA 13.0 or later (set CUDA_PATH)"
}

need_cuda() {
  find_cuda && return
  if can_install cuda-minimal-build-13-0; then
    say "Installing the CUDA compiler"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends cuda-minimal-build-13-0 cuda-driver-dev-13-0
  elif command -v pip3 >/dev/null; then
    say "Installing the CUDA compiler as Python wheels into .cache/cuda"
    pip3 install --quiet --target "$root/.cache/cuda" 'nvidia-cuda-nvcc==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-nvvm==13.0.*' \
      'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cccl==13.0.*' ||
      die "could not install the CUDA compiler; install CUDA Toolkit 13.0 or later and set CUDA_PATH"
  fi
  find_cuda || die "CUDA Toolkit 13.0 or later not found; install it, or set CUDA_PATH to where it is"
}

configure_and_build() {
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo "$@"
  cmake --build "$build"
}
