// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of the launcher and of `check`: from STREAMSAN_OPTIONS ("key=value" separated by space, comma, colon or
// line end) and from flags (--key=value), which win. The rows are in options.def.
//
// An unknown key in the environment is a warning, because the environment may be meant for another version; an unknown
// flag, or a value that makes no sense, is an error.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace streamsan::cli {

enum Where : unsigned { Run = 1, Check = 2, Guest = 4, Report = 8, Diff = 16 };
enum class OptionType : std::uint8_t { Bool, Number, Text };

struct OptionRow {
  OptionType type;
  std::string_view name;
  std::string_view default_value;
  unsigned where;
  std::string_view description;
};

std::span<const OptionRow> option_rows();

struct Options {
  using Bool = bool;
  using Number = std::uint32_t;
  using Text = std::string;
#define SS_OPTION(type, name, default_value, where, description) type name = default_value;
#include "cli/options.def"
#undef SS_OPTION
};

/// Sets one option from text. Returns what is wrong; empty: nothing.
std::string set_option(Options& options, std::string_view name, std::string_view value);

/// Applies a value of STREAMSAN_OPTIONS. Returns what is wrong (the first fault); unknown keys are added to `warnings`.
std::string apply_environment(Options& options, std::string_view text, std::vector<std::string>& warnings);

/// The known name nearest to a misspelt one.
std::string_view nearest_option(std::string_view name);

/// The table as `streamsan help options` prints it, and as docs/options.md has it.
std::string options_help();
std::string options_markdown();

}  // namespace streamsan::cli
