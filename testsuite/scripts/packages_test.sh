#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tests scripts/packages.sh: which packages are found missing, installed, or named as not to be had. dpkg-query,
# apt-cache and apt-get are stand-ins that read two files: `installed` and `offered`, a package in each line. They print
# far more than a pipe holds, as the real ones may: a check that stopped reading early would fail here.
#
# Usage: packages_test.sh ROOT-OF-THE-SOURCES [TEST]
# Each test runs in a process of its own: in a function that is called as a condition, bash goes on after a command that
# failed, and only the last one would count.
set -euo pipefail
sources=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A machine with these packages installed ($1) and on offer ($2), both in words.
machine() {
  rm -rf "$work/machine"
  mkdir -p "$work/machine/bin"
  cd "$work/machine"
  tr ' ' '\n' <<<"$1" >installed
  tr ' ' '\n' <<<"$2" >offered
  cat >bin/dpkg-query <<'S'
#!/bin/sh
for last; do :; done
grep -qx "$last" installed || exit 1
echo 'install ok installed'
seq 30000
S
  cat >bin/apt-cache <<'S'
#!/bin/sh
if grep -qx "$2" offered; then echo "  Candidate: 1.0"; else echo "  Candidate: (none)"; fi
seq 30000
S
  cat >bin/apt-get <<'S'
#!/bin/sh
echo "apt-get $*" >>log
S
  printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
  chmod +x bin/*
  : >log
  PATH=$work/machine/bin:$PATH
  # shellcheck source=scripts/common.sh
  . "$sources/scripts/common.sh"
  # shellcheck source=scripts/packages.sh
  . "$sources/scripts/packages.sh"
  python_tools=$work/machine/tools
}

fails() { ! "$@"; }
# contains TEXT PART
contains() {
  [[ $1 == *"$2"* ]] || {
    printf 'no <%s> in <%s>\n' "$2" "$1"
    return 1
  }
}

test_have_package() {
  machine "g++ cmake" ""
  have_package g++
  fails have_package ninja-build
}

# Forty times, as the fault that this guards against came and went with the speed of two processes.
test_can_install_is_steady() {
  machine "" "lit g++"
  for _ in $(seq 40); do can_install g++; done
  fails can_install nothing
}

test_nothing_is_asked_when_nothing_is_missing() {
  machine "g++ cmake" ""
  want "build" g++ cmake
  install_wanted
  [ ! -s log ]
}

test_missing_packages_are_installed_in_one_go() {
  machine "g++" "cmake ninja-build libgtest-dev"
  want "build" g++ cmake ninja-build
  want "test" libgtest-dev
  install_wanted
  local log
  log=$(cat log)
  [ "$(grep -c update log)" = 1 ]
  contains "$log" "install -y -q --no-install-recommends cmake ninja-build libgtest-dev"
  fails contains "$log" "g++"
}

test_a_package_that_cannot_be_had_is_named() {
  machine "g++" "cmake"
  local output status=0
  output=$(want "build streamsan" g++ cmake ninja-build 2>&1) || status=$?
  [ "$status" = 2 ]
  contains "$output" "no package ninja-build for this system, which is needed to build streamsan"
}

test_a_part_that_cannot_be_had_is_left_out_and_said() {
  machine "g++" "clang-22"
  fails want_if_there "streamsan-tidy is not built" clang-22 libclang-22-dev
  contains "$(say_left_out)" "left out: streamsan-tidy is not built (no package libclang-22-dev for this system)"
  [ ${#to_install[@]} = 0 ]
}

test_a_part_that_can_be_had_is_installed() {
  machine "g++" "clang-22 libclang-22-dev"
  want_if_there "streamsan-tidy is not built" clang-22 libclang-22-dev
  install_wanted
  contains "$(cat log)" "clang-22 libclang-22-dev"
  [ -z "$(say_left_out)" ]
}

test_without_root_a_needed_package_is_named_and_the_rest_goes_on() {
  machine "g++" "cmake"
  # shellcheck disable=SC2317 # called by the functions under test
  can_install_packages() { return 1; }
  local output
  output=$(want "build streamsan" g++ cmake 2>&1)
  contains "$output" "Needed to build streamsan, by Debian's names: cmake"
  [ ! -s log ]
}

test_without_root_an_optional_package_is_left_out() {
  machine "g++" "shellcheck"
  # shellcheck disable=SC2317 # called by the functions under test
  can_install_packages() { return 1; }
  fails want_if_there "the scripts are not checked" shellcheck
  contains "$(say_left_out)" "left out: the scripts are not checked (not installed: shellcheck)"
  [ ! -s log ]
}

test_an_incomplete_toolkit_of_wheels_is_passed_over() {
  machine "" ""
  unset CUDA_PATH CUDA_HOME
  cache=$PWD/cache cuda_wheels=$PWD/cache/cuda/nvidia/cu13
  mkdir -p "$cuda_wheels/bin"
  printf '#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13.0.88"\n' >"$cuda_wheels/bin/nvcc"
  chmod +x "$cuda_wheels/bin/nvcc"
  ! find_cuda || [ "$CUDA_PATH" != "$cuda_wheels" ]
  echo "${cuda_parts[*]}" >"$cache/cuda/made-of"
  # Where the machine has a toolkit of its own that one comes first.
  find_cuda
}

test_an_old_nvcc_that_was_asked_for_is_refused() {
  machine "" ""
  mkdir -p old/bin
  printf '#!/bin/sh\necho "Cuda compilation tools, release 12.4, V12.4.1"\n' >old/bin/nvcc
  chmod +x old/bin/nvcc
  local output status=0
  output=$(CUDA_PATH=$PWD/old find_cuda 2>&1) || status=$?
  [ "$status" = 2 ]
  contains "$output" "CUDA 12; CUDA 13.0 or later is needed"
}

test_a_named_toolkit_that_is_not_there_is_refused() {
  machine "" ""
  local output status=0
  output=$(CUDA_PATH=$PWD/none find_cuda 2>&1) || status=$?
  [ "$status" = 2 ]
  contains "$output" "there is no $PWD/none/bin/nvcc"
}

test_a_newer_nvcc_is_taken() {
  machine "" ""
  mkdir -p new/bin
  printf '#!/bin/sh\necho "Cuda compilation tools, release 13.2, V13.2.1"\n' >new/bin/nvcc
  chmod +x new/bin/nvcc
  CUDA_PATH=$PWD/new
  find_cuda
  [ "$(command -v nvcc)" = "$PWD/new/bin/nvcc" ]
}

if [ $# -gt 1 ]; then
  "$2"
  exit
fi
passed=0 failed=0
for each in $(declare -F | sed -n 's/^declare -f \(test_.*\)/\1/p'); do
  if output=$(bash -x "$0" "$sources" "$each" 2>&1); then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED %s\n%s\n' "$each" "$(tail -n 15 <<<"$output")"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
