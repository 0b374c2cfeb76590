# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with the scripts that source this file, and with common.sh
#
# Sourced by scripts/demo and scripts/test: installs what this machine lacks, and names what cannot be had and what is
# left out because of it.
#
# Three sources: Debian packages with apt-get, then PyPI for what no package has (the CUDA toolkit, lit), each of them
# asked only when something is missing. What comes from PyPI goes into .cache/ of this checkout, nothing else does.
#
# No test here reads from a pipe that its reader may leave early (`producer | grep -q`): under pipefail the producer's
# SIGPIPE turns "yes" into "no" whenever the reader is faster. Output is captured first and looked at then.
# testsuite/scripts/packages_test.sh tests these functions with stand-ins for apt-get, apt-cache and dpkg-query.

cache=$root/.cache
cuda_wheels=$cache/cuda/nvidia/cu13

# What `streamsan run` is built with.
packages_to_run=(g++ cmake ninja-build libcli11-dev nlohmann-json3-dev libzstd-dev liblz4-dev)
# What the tests need on top.
packages_to_test=(python3 libgtest-dev binutils make)
# Parts that can be left out: streamsan-tidy and its tests, the tests of the HTML report, and those of the scripts'
# style.
packages_of_analyzer=(libclang-22-dev llvm-22-dev clang-22 clang-tidy-22 clang-tools-22)
packages_of_browser=(chromium fonts-dejavu-core)
packages_to_lint=(shellcheck)

# Whether packages can be installed at all: with apt-get, by root or with sudo.
can_install_packages() {
  command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

have_package() {
  local status
  status=$(dpkg-query -W -f='${Status}\n' "$1" 2>/dev/null) && [[ $status == *'ok installed'* ]]
}

can_install() {
  local policy
  policy=$(apt-cache policy "$1" 2>/dev/null) && [[ $policy == *'Candidate: '[0-9]* ]]
}

# missing_of PACKAGE...: those that are not installed, one in a line.
missing_of() {
  local package
  for package in "$@"; do
    have_package "$package" || printf '%s\n' "$package"
  done
}

# The lists are read once, and only when something is missing.
package_lists_read=false
read_package_lists() {
  ! $package_lists_read || return 0
  package_lists_read=true
  as_root apt-get update -q || echo "warning: apt-get update failed; going on with the package lists that are here" >&2
}

# Wanted by the caller; installed at once by install_wanted.
to_install=()

# want PURPOSE PACKAGE...: all of them or the end. PURPOSE completes "... is needed to". Where packages cannot be
# installed what they bring may be there all the same, from other packages or built by hand: CMake names what is not.
want() {
  local purpose=$1 missing package
  shift
  mapfile -t missing < <(missing_of "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! can_install_packages; then
    echo "warning: cannot install packages here (that takes apt-get, and root or sudo). Needed to $purpose, by Debian's names: ${missing[*]}" >&2
    return 0
  fi
  read_package_lists
  for package in "${missing[@]}"; do
    can_install "$package" || die "no package $package for this system, which is needed to $purpose"
  done
  to_install+=("${missing[@]}")
}

# want_if_there CONSEQUENCE PACKAGE...: all of them or none; without them CONSEQUENCE is said and 1 returned.
want_if_there() {
  local consequence=$1 missing package
  shift
  mapfile -t missing < <(missing_of "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! can_install_packages; then
    left_out "$consequence (not installed: ${missing[*]})"
    return 1
  fi
  read_package_lists
  for package in "${missing[@]}"; do
    if ! can_install "$package"; then
      left_out "$consequence (no package $package for this system)"
      return 1
    fi
  done
  to_install+=("${missing[@]}")
}

# What this machine cannot have, said at once and again at the end of a script.
left_out=()
left_out() {
  left_out+=("$1")
  printf 'left out: %s\n' "$1"
}

say_left_out() {
  local each
  for each in "${left_out[@]}"; do printf 'left out: %s\n' "$each"; done
}

install_wanted() {
  [ ${#to_install[@]} -gt 0 ] || return 0
  say "Installing with apt-get: ${to_install[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${to_install[@]}" ||
    die "apt-get could not install: ${to_install[*]}"
  to_install=()
}

# A Python environment of this checkout's own, as systems keep theirs closed to pip.
python_tools=$cache/tools
need_python_tools() {
  [ ! -x "$python_tools/bin/pip" ] || return 0
  if ! python3 -c 'import ensurepip, venv' 2>/dev/null && can_install_packages; then
    want "get from PyPI what no package has" python3 python3-venv
    install_wanted
  fi
  python3 -m venv "$python_tools" || die "could not make a Python environment in $python_tools"
}

# ---- CUDA

nvcc_major() {
  local text
  text=$("$1" --version 2>/dev/null) || return 1
  [[ $text =~ release\ ([0-9]+)\. ]] && printf '%s\n' "${BASH_REMATCH[1]}"
}

# Puts nvcc on the PATH if this machine has one: what CUDA_PATH or CUDA_HOME name (then nothing else will do), what is
# on the PATH, where toolkits usually are, or what need_cuda brought earlier.
find_cuda() {
  local named=${CUDA_PATH:-${CUDA_HOME:-}} candidate major
  if [ -n "$named" ] && [ ! -x "$named/bin/nvcc" ]; then
    die "CUDA_PATH or CUDA_HOME is $named, and there is no $named/bin/nvcc"
  fi
  for candidate in "$named" "$(dirname "$(dirname "$(command -v nvcc || echo /none/none/nvcc)")")" /usr/local/cuda "$cuda_wheels"; do
    [ "$candidate" != "$cuda_wheels" ] || [ "$(cat "$cache/cuda/made-of" 2>/dev/null)" = "${cuda_parts[*]}" ] || continue
    if [ -z "$candidate" ] || [ ! -x "$candidate/bin/nvcc" ]; then continue; fi
    major=$(nvcc_major "$candidate/bin/nvcc") || die "$candidate/bin/nvcc --version did not tell a version"
    if [ "$major" -lt 13 ]; then
      [ -z "$named" ] || die "nvcc of $named is of CUDA $major; CUDA 13.0 or later is needed"
      echo "passing over $candidate: CUDA $major, and 13.0 or later is needed"
      continue
    fi
    export CUDA_PATH=$candidate PATH=$candidate/bin:$PATH
    return 0
  done
  return 1
}

# The parts of the toolkit that are used here, as wheels: 0.4 GB instead of 5. `made-of` is written last: a folder
# without it, or of other parts, is made again.
# curand is for its headers, which clang includes in every CUDA source.
cuda_parts=(cuda-nvcc cuda-crt nvvm cuda-runtime cuda-profiler-api cuda-cccl cuda-cupti nvtx cuda-sanitizer-api curand)
install_cuda_wheels() {
  need_python_tools
  say "Installing the CUDA compiler from PyPI into .cache/cuda"
  rm -rf "$cache/cuda"
  local wheels=("${cuda_parts[@]/#/nvidia-}")
  wheels=("${wheels[@]/%/==13.0.*}")
  wheels=("${wheels[@]/nvidia-curand==13.0/nvidia-curand==10.4}")
  "$python_tools/bin/pip" install --quiet --target "$cache/cuda" "${wheels[@]}" ||
    die "could not install the CUDA compiler; install CUDA Toolkit 13.0 or later and set CUDA_PATH"
  # The wheels lack the links that compilers and CMake look for.
  ln -sfn lib "$cuda_wheels/lib64"
  ln -sf libcudart.so.13 "$cuda_wheels/lib/libcudart.so"
  echo "${cuda_parts[*]}" >"$cache/cuda/made-of"
}

need_cuda() {
  find_cuda && return
  install_cuda_wheels
  find_cuda || die "CUDA Toolkit 13.0 or later not found; install it, or set CUDA_PATH to where it is"
}

# Where sanitizer.h is, as an option of CMake's; the agent that measures footprints is built with it. Toolkits have it
# in their compute-sanitizer folder, where CMake finds it; those made of wheels may not.
sanitizer_option=()
need_sanitizer_header() {
  local folder
  for folder in "$CUDA_PATH"/compute-sanitizer/include "$CUDA_PATH"/extras/compute-sanitizer/include "$CUDA_PATH"/include; do
    [ ! -e "$folder/sanitizer.h" ] || return 0
  done
  local wheel=$cache/sanitizer/nvidia/cu13/include
  if [ ! -e "$wheel/sanitizer.h" ]; then
    need_python_tools
    say "Installing the header of NVIDIA's Sanitizer API from PyPI into .cache/sanitizer"
    if ! "$python_tools/bin/pip" install --quiet --no-deps --upgrade --target "$cache/sanitizer" 'nvidia-cuda-sanitizer-api==13.0.*'; then
      left_out "the agent that measures footprints is not built (no sanitizer.h)"
      return 0
    fi
  fi
  sanitizer_option=(-DSTREAMSAN_SANITIZER_INCLUDE="$wheel")
}

# ---- lit and FileCheck

# Whose lit and FileCheck will do, newest first.
llvm_versions=(22 21 20 19 18 17 16 15 14)

# The folders of LLVM's programs, newest first.
llvm_folders() {
  local version
  for version in "${llvm_versions[@]}"; do
    printf '/usr/lib/llvm-%s/bin\n' "$version"
  done
}

# have_program NAME...: on the PATH, or in one of LLVM's folders.
have_program() {
  local name folder
  for name in "$@"; do
    ! command -v "$name" >/dev/null || return 0
    while read -r folder; do
      [ ! -x "$folder/$name" ] || return 0
    done < <(llvm_folders)
  done
  return 1
}

want_filecheck() {
  ! have_program FileCheck || return 0
  can_install_packages || die "FileCheck is needed to run the tests; it comes with LLVM's tools"
  read_package_lists
  local version
  for version in "${llvm_versions[@]}"; do
    if can_install "llvm-$version-tools"; then
      to_install+=("llvm-$version-tools")
      return 0
    fi
  done
  die "no package llvm-N-tools for this system; its FileCheck is needed to run the tests"
}

# After install_wanted: not each version's package has lit as a program.
need_lit() {
  ! have_program lit llvm-lit || return 0
  [ ! -x "$python_tools/bin/lit" ] || return 0
  need_python_tools
  say "Installing lit from PyPI into .cache/tools"
  "$python_tools/bin/pip" install --quiet lit || die "could not install lit, LLVM's test runner"
}

# For the tests of the plugin for pytest, which look here.
need_pytest() {
  [ ! -x "$python_tools/bin/pytest" ] || return 0
  need_python_tools
  say "Installing pytest from PyPI into .cache/tools"
  "$python_tools/bin/python3" -m pip install --quiet pytest pytest-xdist ||
    left_out "the tests of the plugin for pytest do not run (no pytest)"
}

# The names are those that testsuite/html/browser.py looks for.
have_browser() {
  local name
  for name in "${STREAMSAN_CHROMIUM:-chromium}" chromium-browser google-chrome google-chrome-stable chrome; do
    ! command -v "$name" >/dev/null || return 0
  done
  return 1
}
