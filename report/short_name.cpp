// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/short_name.h"

#include <string_view>

namespace streamsan::report {
namespace {

constexpr std::size_t kLongEnough = 100;

/// Replaces what stands inside each outermost pair of brackets by "...", in place of anything longer than that.
/// Brackets of the other kind inside are part of the contents; those of "operator<" and "operator()" are none.
std::string without_contents(const std::string& text, char open, char close) {
  constexpr std::string_view kOperator = "operator";
  std::string out;
  int depth = 0;
  std::size_t inside = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, kOperator.size(), kOperator) == 0) {
      std::size_t end = i + kOperator.size();
      while (end < text.size() && std::string_view("<>=-()").find(text[end]) != std::string_view::npos) ++end;
      if (depth == 0) out.append(text, i, end - i);
      i = end - 1;
      continue;
    }
    const char c = text[i];
    const bool arrow = c == '>' && i > 0 && text[i - 1] == '-';
    if (c == open && depth++ == 0) {
      out += c;
      inside = i + 1;
    } else if (c == close && !arrow && depth > 0 && --depth == 0) {
      out += i - inside <= 3 ? text.substr(inside, i - inside) : "...";
      out += c;
    } else if (depth == 0) {
      out += c;
    }
  }
  // Unbalanced: not a name of the kind this understands.
  return depth == 0 ? out : text;
}

}  // namespace

std::string short_name(const std::string& demangled) {
  if (demangled.size() <= kLongEnough) return demangled;
  std::string out = without_contents(demangled, '<', '>');
  if (out.size() > kLongEnough) out = without_contents(out, '(', ')');
  return out;
}

std::string_view without_result(std::string_view function) {
  std::size_t begin = 0, depth = 0;
  for (std::size_t i = 0; i < function.size(); ++i) {
    const char c = function[i];
    if (c == '<') ++depth;
    if (c == '>' && depth > 0) --depth;
    if (depth > 0) continue;
    if (c == '(') break;
    if (c == ' ') begin = i + 1;
  }
  return function.substr(begin);
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace streamsan::report
