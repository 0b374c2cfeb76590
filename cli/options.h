// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of the launcher and of `check`: from STREAMSAN_OPTIONS ("key=value" separated by space, comma, colon or
// line end; a value may be quoted, see interposer/option_entries.h) and from flags (--key=value), which win. The rows
// are in options.def.
//
// An unknown key in the environment is a warning, because the environment may be meant for another version; an unknown
// flag, or a value that makes no sense, is an error.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/common/words.h"

namespace streamsan::cli {

#define SS_WORDS(Enum) enum class Enum : std::uint8_t {
#define SS_WORD(enumerator, word) enumerator,
#define SS_WORDS_END \
  }                  \
  ;
#include "cli/choices.def"
#undef SS_WORDS
#undef SS_WORD
#undef SS_WORDS_END

}  // namespace streamsan::cli

#define SS_WORDS(Enum)                                    \
  template <>                                             \
  struct streamsan::report::Words<streamsan::cli::Enum> { \
    static constexpr const char* kAll[] = {
#define SS_WORD(enumerator, word) word,
#define SS_WORDS_END \
  }                  \
  ;                  \
  }                  \
  ;
#include "cli/choices.def"
#undef SS_WORDS
#undef SS_WORD
#undef SS_WORDS_END

namespace streamsan::cli {

enum Where : unsigned { Run = 1, Check = 2, Guest = 4, Report = 8, Diff = 16 };
enum class OptionType : std::uint8_t { Bool, Number, Text, Output };

struct OptionRow {
  OptionType type;
  std::string_view name;
  std::string_view default_value;
  unsigned where;
  std::string_view description;
};

std::span<const OptionRow> option_rows();

/// "run, check": who reads the option.
std::string option_readers(const OptionRow& row);

struct Options {
  using Bool = bool;
  using Number = std::uint32_t;
  using Text = std::string;
  using Output = std::string;  ///< a file to write; see outputs.h
#define SS_OPTION(type, name, default_value, where, description) type name = default_value;
#include "cli/options.def"
#undef SS_OPTION
};

/// The enumerator of an option that takes one of a few words; set_option() has let no other word in.
template <report::Worded Enum>
Enum choice(const std::string& value) {
  return report::find<Enum>(value).value_or(Enum{});
}

/// Sets one option from text. Returns what is wrong; empty: nothing.
std::string set_option(Options& options, std::string_view name, std::string_view value);

/// Applies a value of STREAMSAN_OPTIONS. Returns what is wrong (the first fault); unknown keys are added to `warnings`.
std::string apply_environment(Options& options, std::string_view text, std::vector<std::string>& warnings);

/// The value as STREAMSAN_OPTIONS may have it: in quotes where it has to be.
std::string quoted_option(std::string_view value);

/// What to say behind a flag that the command does not take: who takes it, which name may have been meant, or nothing.
std::string about_unknown_flag(std::string_view name);

/// The known name that a misspelt one begins or is near to; empty: none is.
std::string_view nearest_option(std::string_view name);

/// The word that a misspelt one is near to; empty: none is.
std::string_view nearest_word(std::string_view misspelt, std::span<const std::string_view> words);

/// The table as `streamsan help options` prints it.
std::string options_help();
/// docs/options.md, all of it: what `streamsan help markdown` prints.
std::string options_page();

}  // namespace streamsan::cli
