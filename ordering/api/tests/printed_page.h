// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tests that compare a page of the documentation with what a program prints from a table.
#pragma once

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace streamsan::testing_pages {

/// Of a file; empty if it cannot be read.
inline std::string contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What a command of the shell prints; empty if it cannot be started.
inline std::string output_of(const char* command) {
  std::string out;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command, "r"), pclose);
  std::array<char, 4096> buffer;
  for (std::size_t n; pipe && (n = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) {
    out.append(buffer.data(), n);
  }
  return out;
}

}  // namespace streamsan::testing_pages
