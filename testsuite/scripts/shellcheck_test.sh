#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: shellcheck_test.sh ROOT-OF-THE-SOURCES. Every shell script of the project passes shellcheck. Exit code 77
# (skipped) where that is not installed. Shell scripts are the files that say so in their first two lines.
set -euo pipefail
cd "$1"
command -v shellcheck >/dev/null || exit 77
scripts=()
while IFS= read -r -d '' file; do
  first='' second=''
  { IFS= read -r first && IFS= read -r second; } <"$file" 2>/dev/null || true
  case $first$second in
    '#!/bin/sh'* | '#!/usr/bin/env bash'* | '#!/bin/bash'* | *'# shellcheck shell='*) scripts+=("$file") ;;
  esac
done < <(find .ci scripts testsuite packaging -type f ! -name '*.xz' ! -name '*.gz' ! -name '*.png' -print0)
[ ${#scripts[@]} -gt 5 ] || { echo "only ${#scripts[@]} shell scripts found" >&2; exit 1; }
shellcheck -x "${scripts[@]}"
echo "${#scripts[@]} scripts"
