// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See signature.h. The PTX reader knows just the two statements it needs, as the compiler writes them:
//   .visible .entry NAME( .param .u64 NAME_param_0, .param .align 8 .b8 NAME_param_1[24] )
//   .visible .global .align 4 .b8 NAME[64];

#include "testsuite/nulldriver/signature.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

namespace streamsan::null {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

bool drop_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text = trim(text.substr(0, text.size() - suffix.size()));
  return true;
}

/// 0: unknown. `type` is as the demangler writes it, qualifiers behind.
std::size_t size_of_type(std::string_view type) {
  type = trim(type);
  while (drop_suffix(type, " const") || drop_suffix(type, " volatile") || drop_suffix(type, "__restrict")) {
  }
  if (type.ends_with('*') || type.ends_with('&') || type.find("(*)") != std::string_view::npos) return 8;
  static constexpr struct {
    std::string_view name;
    std::size_t bytes;
  } kBuiltIn[] = {{"bool", 1},
                  {"char", 1},
                  {"signed char", 1},
                  {"unsigned char", 1},
                  {"char8_t", 1},
                  {"short", 2},
                  {"unsigned short", 2},
                  {"char16_t", 2},
                  {"int", 4},
                  {"unsigned int", 4},
                  {"float", 4},
                  {"wchar_t", 4},
                  {"char32_t", 4},
                  {"long", 8},
                  {"unsigned long", 8},
                  {"long long", 8},
                  {"unsigned long long", 8},
                  {"double", 8},
                  {"decltype(nullptr)", 8},
                  {"__int128", 16},
                  {"unsigned __int128", 16}};
  for (const auto& known : kBuiltIn) {
    if (type == known.name) return known.bytes;
  }
  return 0;
}

/// Splits at commas that are in no bracket.
std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      if (!trim(text.substr(start, i - start)).empty()) parts.push_back(trim(text.substr(start, i - start)));
      start = i + 1;
    } else if (text[i] == '(' || text[i] == '<' || text[i] == '[' || text[i] == '{') {
      ++depth;
    } else if (text[i] == ')' || text[i] == '>' || text[i] == ']' || text[i] == '}') {
      --depth;
    }
  }
  return parts;
}

std::size_t ptx_type_bytes(std::string_view type) {
  const std::size_t digit = type.find_first_of("0123456789");
  if (digit == std::string_view::npos) return 0;
  return std::strtoul(std::string(type.substr(digit)).c_str(), nullptr, 10) / 8;
}

/// `.param .align 8 .b8 NAME[24]` or `.global .u32 NAME = 1`.
struct PtxDeclaration {
  std::string name;
  std::size_t bytes = 0;
  std::size_t alignment = 0;
};

std::optional<PtxDeclaration> read_declaration(std::string_view text) {
  PtxDeclaration result;
  text = trim(text.substr(0, text.find('=')));
  std::size_t count = 1;
  if (const std::size_t bracket = text.find('['); bracket != std::string_view::npos) {
    count = std::strtoul(std::string(text.substr(bracket + 1)).c_str(), nullptr, 10);
    text = trim(text.substr(0, bracket));
  }
  std::size_t element = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t\n\r"), text.size());
    const std::string_view word = text.substr(0, end);
    text = trim(text.substr(end));
    if (word == ".align") {
      const std::size_t number = std::min(text.find_first_of(" \t\n\r"), text.size());
      result.alignment = std::strtoul(std::string(text.substr(0, number)).c_str(), nullptr, 10);
      text = trim(text.substr(number));
    } else if (word.starts_with('.')) {
      if (const std::size_t bytes = ptx_type_bytes(word); bytes != 0) element = bytes;
    } else {
      result.name = word;
    }
  }
  result.bytes = element * count;
  result.alignment = std::max(result.alignment, element);
  if (result.name.empty() || result.bytes == 0) return std::nullopt;
  return result;
}

}  // namespace

void append_parameter(ParameterLayout& layout, std::size_t bytes, std::size_t alignment) {
  std::size_t offset = layout.empty() ? 0 : layout.back().offset + layout.back().bytes;
  offset = (offset + alignment - 1) / alignment * alignment;
  layout.push_back({offset, bytes});
}

std::optional<ParameterLayout> layout_from_mangled_name(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         std::free);
  if (status != 0 || !demangled) return std::nullopt;
  std::string_view text(demangled.get());
  const std::size_t close = text.rfind(')');
  if (close == std::string_view::npos) return std::nullopt;
  int depth = 0;
  std::size_t open = close + 1;
  while (open-- > 0) {
    if (text[open] == ')') ++depth;
    if (text[open] == '(' && --depth == 0) break;
  }
  if (depth != 0) return std::nullopt;
  ParameterLayout layout;
  for (const std::string_view argument : split_arguments(text.substr(open + 1, close - open - 1))) {
    if (argument == "void") continue;
    const std::size_t bytes = size_of_type(argument);
    if (bytes == 0) return std::nullopt;
    append_parameter(layout, bytes, bytes);
  }
  return layout;
}

PtxContents read_ptx(std::string_view text) {
  PtxContents contents;
  for (std::size_t at = 0; (at = text.find(".entry", at)) != std::string_view::npos;) {
    const std::size_t open = text.find('(', at);
    const std::size_t brace = text.find('{', at);
    const std::size_t name_end = std::min(open, brace);
    const std::string_view name = trim(text.substr(at + 6, name_end - at - 6));
    ParameterLayout layout;
    if (open < brace) {
      const std::size_t close = text.find(')', open);
      if (close == std::string_view::npos) break;
      for (const std::string_view parameter : split_arguments(text.substr(open + 1, close - open - 1))) {
        if (const auto declared = read_declaration(parameter)) {
          append_parameter(layout, declared->bytes, declared->alignment);
        }
      }
    }
    contents.kernels.emplace(name, std::move(layout));
    at += 6;
  }
  for (const std::string_view space : {".global ", ".const "}) {
    for (std::size_t at = 0; (at = text.find(space, at)) != std::string_view::npos; at += space.size()) {
      // A declaration starts a line, perhaps after .visible or .extern; in code the word is part of ld.global.
      const std::size_t line = text.rfind('\n', at);
      const std::string_view before = trim(text.substr(line + 1, at - line - 1));
      if (!before.empty() && before != ".visible" && before != ".extern" && before != ".weak") continue;
      const std::size_t end = text.find(';', at);
      if (const auto declared = read_declaration(text.substr(at + space.size(), end - at - space.size()))) {
        contents.globals[declared->name] = declared->bytes;
      }
    }
  }
  return contents;
}

}  // namespace streamsan::null
