// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading the settings from clang-tidy's CheckOptions.
#pragma once

#include <string>
#include <vector>

#include "analyzer/tidy/translation_unit.h"
#include "clang-tidy/ClangTidyOptions.h"

namespace streamsan::analyzer {

/// A value that is not understood is left at its default, with a line in `complaints`.
Settings read_settings(const clang::tidy::ClangTidyOptions::OptionMap& options, std::vector<std::string>& complaints);

/// All options with their values, for --dump-config and --verify-config: those for all checks, and those of one.
void store_settings(const Settings& settings, Check check, clang::tidy::ClangTidyOptions::OptionMap& options);

/// The names read, for clang-tidy to know them: "streamsan.Levels", and those of one check.
std::vector<std::string> setting_names(Check check);

}  // namespace streamsan::analyzer
