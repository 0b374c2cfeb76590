// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real machine code for the tests of those who read it: the images that CMakeLists.txt builds from tensor_kernels.cu.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>

namespace streamsan::footprints::testing {

struct File {
  const char* name;
  const char* path;
};
inline void PrintTo(const File& file, std::ostream* out) { *out << file.name; }
inline constexpr File kFiles[] = {
#include "images.inc"
    {nullptr, nullptr}};
inline constexpr std::size_t kFileCount = sizeof kFiles / sizeof kFiles[0] - 1;

inline std::string contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// In memory of exactly its size, so that AddressSanitizer sees what is read beyond.
inline void note_by(void (*note)(const char*, std::size_t), const std::string& image) {
  const std::unique_ptr<char[]> exact(new char[image.size()]);
  std::memcpy(exact.get(), image.data(), image.size());
  note(exact.get(), image.size());
}

/// In a child: what it notes is forgotten. (Tests with "DeathTest" in their name run before any that make threads.)
inline void expect_in_child(const std::function<void()>& check) {
  EXPECT_EXIT((check(), std::exit(::testing::Test::HasFailure() ? 1 : 0)), ::testing::ExitedWithCode(0), "");
}

}  // namespace streamsan::footprints::testing
