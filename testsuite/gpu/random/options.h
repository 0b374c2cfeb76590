// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of the two programs: "--name value", or "--name" alone.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace streamsan::lab {

class CommandLine {
 public:
  CommandLine(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string name = argv[i];
      const bool has_value = i + 1 < argc && std::string(argv[i + 1]).rfind("--", 0) != 0;
      given_[name] = has_value ? argv[++i] : "";
    }
  }
  bool flag(const std::string& name) { return given_.erase(name) != 0; }
  std::string text(const std::string& name, const std::string& otherwise = "") {
    const auto found = given_.find(name);
    if (found == given_.end()) return otherwise;
    std::string value = found->second;
    given_.erase(found);
    return value;
  }
  std::uint64_t number(const std::string& name, std::uint64_t otherwise) {
    const std::string value = text(name);
    return value.empty() ? otherwise : std::strtoull(value.c_str(), nullptr, 10);
  }
  /// Ends the program if something was given that nobody asked for.
  void expect_no_more() const {
    for (const auto& [name, value] : given_)
      std::fprintf(stderr, "unknown option %s %s\n", name.c_str(), value.c_str());
    if (!given_.empty()) std::exit(2);
  }

 private:
  std::map<std::string, std::string> given_;
};

/// A string of JSON, with its quotes.
inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace streamsan::lab
