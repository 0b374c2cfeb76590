// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// STREAMSAN_OPTIONS in pieces, for the recorder and the launcher alike.
//
// Entries, "key=value", stand between blanks, commas, colons and line ends. Text in quotes, '...' or "...", is taken as
// it is, without the quotes: the launcher so passes on paths with a blank or a colon. As in a shell, a quote may begin
// and end anywhere in a value ('it'"'"'s'), and there is no other escape. Where a quote is not closed, its value goes
// on to the end. No allocation: the recorder reads its share inside the guest.
#pragma once

#include <cstddef>
#include <string_view>

namespace streamsan::recorder {

struct OptionEntry {
  std::string_view key;
  std::string_view value;  ///< as it stands there, with its quotes
  bool has_value = false;
  bool closed = true;  ///< all quotes are
};

constexpr bool separates_options(char c) { return c == ' ' || c == ',' || c == ':' || c == '\t' || c == '\n'; }

constexpr bool is_option_quote(char c) { return c == '\'' || c == '"'; }

/// Takes the first entry off the text; false: there is none.
constexpr bool take_option(std::string_view& text, OptionEntry& out) {
  while (!text.empty() && separates_options(text.front())) text.remove_prefix(1);
  if (text.empty()) return false;
  out = {};
  char quote = '\0';
  std::size_t equals = std::string_view::npos;
  std::size_t end = 0;
  for (; end < text.size() && (quote != '\0' || !separates_options(text[end])); ++end) {
    const char c = text[end];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (equals == std::string_view::npos) {
      if (c == '=') equals = end;
    } else if (is_option_quote(c)) {
      quote = c;
    }
  }
  out.has_value = equals != std::string_view::npos;
  out.closed = quote == '\0';
  // Not substr(): it may throw, and that brings the C++ library's machinery into the guest.
  out.key = {text.data(), out.has_value ? equals : end};
  if (out.has_value) out.value = {text.data() + equals + 1, end - equals - 1};
  text.remove_prefix(end);
  return true;
}

/// Calls `put` with each character of the value, without its quotes.
template <typename Put>
constexpr void unquote_option(std::string_view value, Put put) {
  char quote = '\0';
  for (const char c : value) {
    if (quote != '\0' ? c == quote : is_option_quote(c)) {
      quote = quote == '\0' ? c : '\0';
    } else {
      put(c);
    }
  }
}

}  // namespace streamsan::recorder
