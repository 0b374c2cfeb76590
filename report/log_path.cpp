// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/log_path.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

namespace streamsan::report {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace

std::string expand_log_path(const std::string& pattern, const LogNames& names) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    char directive = pattern[++i];
    if (directive == 'p') {
      out += std::to_string(names.pid);
    } else if (directive == 'h') {
      out += host_name();
    } else if (directive == 'b') {
      out += names.program.substr(names.program.rfind('/') + 1);
    } else if (directive == '%') {
      out += '%';
    } else if (std::size_t close = pattern.find('}', i);
               directive == 'q' && i + 1 < pattern.size() && pattern[i + 1] == '{' && close != std::string::npos) {
      const char* value = std::getenv(pattern.substr(i + 2, close - i - 2).c_str());
      out += value ? value : "";
      i = close;
    } else {
      out += '%';
      out += directive;
    }
  }
  return out;
}

bool names_process(const std::string& pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '%') continue;
    ++i;
    if (pattern[i] == 'p' || pattern[i] == 'b') return true;
  }
  return false;
}

std::string make_parents(const std::string& path) {
  std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  return error ? "cannot create " + parent.string() + ": " + error.message() : "";
}

}  // namespace streamsan::report
