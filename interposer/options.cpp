// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/options.h"

#include <cstdlib>
#include <cstring>

namespace streamsan::recorder {
namespace {

bool is_separator(char c) { return c == ' ' || c == ',' || c == ':' || c == '\t' || c == '\n'; }

bool key_is(const char* text, std::size_t length, const char* key) {
  return std::strlen(key) == length && std::memcmp(text, key, length) == 0;
}

void set_number(unsigned& target, const char* text, std::size_t length, unsigned maximum) {
  unsigned value = 0;
  if (length == 0) return;
  for (std::size_t i = 0; i < length; ++i) {
    if (text[i] < '0' || text[i] > '9' || value > maximum) return;
    value = value * 10 + static_cast<unsigned>(text[i] - '0');
  }
  target = value < maximum ? value : maximum;
}

void set_text(char (&target)[1024], const char* text, std::size_t length) {
  if (length == 0 || length >= sizeof target) return;
  std::memcpy(target, text, length);
  target[length] = '\0';
}

}  // namespace

void read_options(Options& options) {
  options = {};
  std::strcpy(options.trace_path, "streamsan.%p.trace");
  options.stacks = 1;
  options.stack_depth = 24;
  options.follow_children = 1;
  const char* text = std::getenv("STREAMSAN_OPTIONS");
  while (text && *text) {
    while (is_separator(*text)) ++text;
    const char* key = text;
    while (*text && *text != '=' && !is_separator(*text)) ++text;
    std::size_t key_length = static_cast<std::size_t>(text - key);
    if (*text != '=') continue;
    const char* value = ++text;
    while (*text && !is_separator(*text)) ++text;
    std::size_t length = static_cast<std::size_t>(text - value);
    if (key_is(key, key_length, "trace_path")) set_text(options.trace_path, value, length);
    if (key_is(key, key_length, "stacks")) set_number(options.stacks, value, length, 1);
    if (key_is(key, key_length, "stack_depth")) set_number(options.stack_depth, value, length, kMaxStackDepth);
    if (key_is(key, key_length, "follow_children")) set_number(options.follow_children, value, length, 1);
    if (key_is(key, key_length, "verbosity")) set_number(options.verbosity, value, length, 9);
  }
  if (options.stack_depth == 0) options.stacks = 0;
}

}  // namespace streamsan::recorder
