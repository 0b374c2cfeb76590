// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/common/utf8.h"

namespace streamsan::report {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// Length of the well-formed sequence at the start of `text`; 0: there is none. (The table of Unicode, D92.)
std::size_t sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned low = 0x80;
  unsigned high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) < low || byte(i) > high) return 0;
    low = 0x80;
    high = 0xbf;
  }
  return length;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  // C1 controls and the line and paragraph separators end lines for some readers.
  return first < 0x20 || first == 0x7f || (character.size() == 2 && first == 0xc2 && character[1] < '\xa0') ||
         character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9";
}

bool is_noncharacter(std::string_view character) { return character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf"; }

template <typename Take>
void for_each_character(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t length = sequence(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    take(length == 0 || is_noncharacter(character) ? kReplacement : character);
    text.remove_prefix(character.size());
  }
}

}  // namespace

std::string utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::string_view character) { out += character; });
  return out;
}

std::string one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool control = false;
  for_each_character(text, [&](std::string_view character) {
    const bool before = control;
    control = is_control(character);
    if (!control) {
      out += character;
    } else if (!before) {
      out += ' ';
    }
  });
  return out;
}

}  // namespace streamsan::report
