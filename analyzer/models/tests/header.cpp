// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small reader of preprocessed C: each `extern ... cudaName(parameters);`. That is all the header has to offer, and
// it is no program: what this reader cannot read would be a function missing from the map, which tests count.
#include "analyzer/models/tests/header.h"

#include <fstream>
#include <iterator>
#include <regex>

namespace streamsan::analyzer {

namespace {

std::vector<std::string> split(const std::string& parameters) {
  std::vector<std::string> out;
  std::string current;
  const auto finish = [&] {
    const std::string text = std::regex_replace(current, std::regex("^\\s+|\\s+$"), "");
    if (!text.empty() && text != "void") out.push_back(std::regex_replace(text, std::regex("\\s+"), " "));
    current.clear();
  };
  int depth = 0;
  for (const char c : parameters) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0)
      finish();
    else
      current += c;
  }
  finish();
  return out;
}

}  // namespace

const std::map<std::string, std::vector<std::string>>& declared_runtime_functions() {
  static const auto functions = [] {
    std::map<std::string, std::vector<std::string>> out;
    std::ifstream file(STREAMSAN_RUNTIME_DECLARATIONS);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t from = text.find("extern"); from != std::string::npos; from = text.find("extern", from + 1)) {
      const std::size_t end = text.find(';', from);
      const std::string declaration = text.substr(from, end - from);
      if (declaration.find('{') != std::string::npos) continue;
      std::smatch match;
      if (!std::regex_search(declaration, match, std::regex("\\b(cuda[A-Z]\\w*)\\s*\\("))) continue;
      const std::string rest = match.suffix();
      out[match[1]] = split(rest.substr(0, rest.rfind(')')));
    }
    return out;
  }();
  return functions;
}

}  // namespace streamsan::analyzer
