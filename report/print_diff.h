// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A diff for people and for programs.
#pragma once

#include <optional>
#include <string>

#include "report/diff.h"
#include "report/text.h"

namespace streamsan::report {

struct DiffNames {
  std::string before;
  std::string after;
};

/// Findings less severe than `least` are counted only. New and worse ones stand as whole reports, the others in a line.
std::string diff_text(const Diff& diff, const DiffNames& names, Severity least, const TextOptions& options);

/// `fail_on`: nothing: no finding fails the comparison.
std::string diff_json(const Diff& diff, const DiffNames& names, std::optional<Severity> fail_on);

}  // namespace streamsan::report
