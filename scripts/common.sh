# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
#
# Sourced by the other scripts: where things are, how they speak, and how StreamSan is configured and built. What a
# fresh machine still needs is in packages.sh.
#
# One build tree serves all scripts: scripts/demo builds a part of it, scripts/test the rest, nothing twice. Therefore
# both configure with the same preset, and differ only in options that add targets and never change a compiler flag.
#
#   STREAMSAN_BUILD    the build tree (default: build)
#   STREAMSAN_PRESET   the preset of CMakePresets.json (default: default; CI: ci)

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${STREAMSAN_BUILD:-$root/build}
preset=${STREAMSAN_PRESET:-default}

# The time beside each step: where a slow machine spends its minutes is the first thing that people ask.
say() { printf '\n== %s [%dm%02ds]\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

# configure OPTION...: the build tree, with these options on top of the preset's.
configure() {
  # A preset names its build tree; -B takes another one.
  # What CMake found of one toolkit is not mixed with what it finds of another.
  local toolkit=()
  if [ "$(cat "$build/toolkit" 2>/dev/null || true)" != "${CUDA_PATH:-}" ]; then
    toolkit=(-UCUDAToolkit_* -UCUDA_* -USTREAMSAN_NVCC -USTREAMSAN_*_INCLUDE -USTREAMSAN_LIBCUDA_STUB)
  fi
  (cd "$root" && cmake --preset "$preset" -B "$build" "${toolkit[@]}" "$@")
  printf '%s\n' "${CUDA_PATH:-}" >"$build/toolkit"
}
