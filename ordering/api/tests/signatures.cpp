// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See signatures.h. The parser knows just what cuda.h looks like after the preprocessor: `CUresult name(type name,
// ...);` with attributes before or after. A function it cannot read fails the test by name, it is never left out.
#include "ordering/api/tests/signatures.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

#include "ordering/api/row.h"
#include "ordering/api/tests/declarations.h"

namespace streamsan::api {
namespace {

struct TypeOnly {
  std::type_index type;
  std::size_t size;
};

template <typename... Arguments>
std::vector<TypeOnly> types_of(CUresult (*)(Arguments...)) {
  return {TypeOnly{typeid(Arguments), sizeof(Arguments)}...};
}

/// In table order.
std::vector<std::vector<TypeOnly>> all_types() {
  return {
#define SS_API(symbol_, ...) types_of(static_cast<decltype(&::symbol_)>(nullptr)),
#include "ordering/api/cuda_api.def"
#undef SS_API
  };
}

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string trimmed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// The declarations between the parentheses.
std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    out.push_back(trimmed(list.substr(0, comma)));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  if (out.size() == 1 && (out[0] == "void" || out[0].empty())) out.clear();
  return out;
}

std::map<std::string, std::vector<std::string>, std::less<>> all_declarations() {
  std::ifstream file(STREAMSAN_DECLARATIONS, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::map<std::string, std::vector<std::string>, std::less<>> out;
  constexpr std::string_view kResult = "CUresult";
  for (std::size_t at = text.find(kResult); at != std::string::npos; at = text.find(kResult, at)) {
    at += kResult.size();
    std::size_t name = at;
    while (name < text.size() && std::isspace(static_cast<unsigned char>(text[name])) != 0) ++name;
    std::size_t end = name;
    while (end < text.size() && in_word(text[end])) ++end;
    const std::size_t open = text.find_first_not_of(" \t\n", end);
    if (name == at || end == name || open == std::string::npos || text[open] != '(') continue;
    const std::size_t close = text.find(')', open);
    if (close == std::string::npos) break;
    out.emplace(text.substr(name, end - name), split(std::string_view(text).substr(open + 1, close - open - 1)));
  }
  return out;
}

std::string last_word(const std::string& declaration) {
  std::size_t begin = declaration.size();
  while (begin > 0 && in_word(declaration[begin - 1])) --begin;
  return declaration.substr(begin);
}

std::vector<std::vector<Parameter>> read_signatures() {
  const auto types = all_types();
  const auto declarations = all_declarations();
  std::vector<std::vector<Parameter>> out(kRowCount);
  for (std::size_t i = 0; i < kRowCount; ++i) {
    const auto found = declarations.find(kRows[i].symbol);
    if (found == declarations.end()) {
      ADD_FAILURE() << kRows[i].symbol << ": no declaration found in " << STREAMSAN_DECLARATIONS;
      continue;
    }
    if (found->second.size() != types[i].size()) {
      ADD_FAILURE() << kRows[i].symbol << ": the parser sees " << found->second.size() << " parameters, the compiler "
                    << types[i].size();
      continue;
    }
    for (std::size_t p = 0; p < types[i].size(); ++p) {
      out[i].push_back({types[i][p].type, types[i][p].size, found->second[p], last_word(found->second[p])});
    }
  }
  return out;
}

}  // namespace

const std::vector<std::vector<Parameter>>& signatures() {
  static const std::vector<std::vector<Parameter>> all = read_signatures();
  return all;
}

}  // namespace streamsan::api
