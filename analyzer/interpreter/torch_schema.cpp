// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads schemas; see torch_schema.h.
#include "analyzer/interpreter/torch_schema.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

namespace streamsan::analyzer::interpreter {
namespace {

using Type = Schema::Type;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits a text at commas that are in no bracket.
std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> result;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      if (const std::string_view part = trimmed(list.substr(begin, i - begin)); !part.empty()) result.push_back(part);
      begin = i + 1;
      continue;
    }
    if (list[i] == '(' || list[i] == '[') ++depth;
    if (list[i] == ')' || list[i] == ']') --depth;
  }
  return result;
}

Type type_of(std::string_view word) {
  static const std::unordered_map<std::string_view, Type> kTypes = {
      {"Tensor", Type::Tensor},
      {"Tensor[]", Type::Tensors},
      {"Tensor?", Type::OptionalTensor},
      {"Tensor?[]", Type::OptionalTensors},
      {"int", Type::Integer},
      {"SymInt", Type::Integer},
      {"int?", Type::OptionalInteger},
      {"SymInt?", Type::OptionalInteger},
      {"int[]", Type::Integers},
      {"SymInt[]", Type::Integers},
      {"int[]?", Type::OptionalIntegers},
      {"SymInt[]?", Type::OptionalIntegers},
      {"bool", Type::Boolean},
      {"bool?", Type::OptionalBoolean},
      {"ScalarType", Type::ElementType},
      {"ScalarType?", Type::OptionalElementType},
      {"Device?", Type::OptionalDevice},
      {"Scalar", Type::Scalar},
      {"Stream", Type::Stream},
  };
  const auto known = kTypes.find(word);
  return known == kTypes.end() ? Type::Other : known->second;
}

/// "Tensor(a!)[] name=default"
Schema::Argument argument_of(std::string_view text) {
  Schema::Argument result;
  std::string type;
  std::size_t i = 0;
  for (int depth = 0; i < text.size() && (text[i] != ' ' || depth != 0); ++i) {
    const char c = text[i];
    if (c == '(') ++depth;
    if (depth == 0) {
      // "int[1]": how many one integer stands for.
      if (std::isdigit(static_cast<unsigned char>(c)) == 0 || type.empty() || type.back() != '[') type += c;
    } else if (result.mark == 0 && std::islower(static_cast<unsigned char>(c)) != 0) {
      result.mark = c;
    } else if (c == '!') {
      result.written = true;
    }
    if (c == ')') --depth;
  }
  result.type = type_of(type);
  std::string_view name = trimmed(text.substr(i));
  result.name = name.substr(0, name.find('='));
  return result;
}

std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<std::size_t> Schema::argument(std::string_view wanted) const {
  const auto found = std::ranges::find(arguments, wanted, &Argument::name);
  return found == arguments.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - arguments.begin()));
}

std::optional<std::size_t> Schema::marked(char mark) const {
  const auto found = std::ranges::find(arguments, mark, &Argument::mark);
  return mark == 0 || found == arguments.end() ? std::nullopt
                                               : std::optional(static_cast<std::size_t>(found - arguments.begin()));
}

std::optional<Schema> parse_schema(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = open == std::string_view::npos ? open : closing(text, open);
  const std::size_t arrow = close == std::string_view::npos ? close : text.find("->", close);
  if (arrow == std::string_view::npos) return std::nullopt;
  Schema result;
  result.name = text.substr(0, std::min(text.find('.'), open));
  for (const std::string_view part : parts_of(text.substr(open + 1, close - open - 1)))
    if (part != "*") result.arguments.push_back(argument_of(part));
  std::string_view back = trimmed(text.substr(arrow + 2));
  if (back.starts_with('(') && closing(back, 0) + 1 == back.size()) back = back.substr(1, back.size() - 2);
  for (const std::string_view part : parts_of(back)) result.results.push_back(argument_of(part));
  return result;
}

}  // namespace streamsan::analyzer::interpreter
