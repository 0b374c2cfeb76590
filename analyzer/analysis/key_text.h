// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The texts of expressions, as far as the names of indices and sizes need to understand them.
#pragma once

#include <cctype>
#include <string>

namespace streamsan::analyzer {

inline bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Every `what` that is not a part of a longer word.
std::string replace_all(std::string text, const std::string& what, const std::string& with);

/// `f(i)`, `i++`: another value each time it is evaluated, whatever the variables hold.
bool has_effects_or_calls(const std::string& text);

}  // namespace streamsan::analyzer
