// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file that goes away with the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace streamsan {

class TemporaryFile {
 public:
  TemporaryFile() : TemporaryFile(std::string(), ::testing::TempDir()) {}
  explicit TemporaryFile(const std::string& bytes) : TemporaryFile(bytes, ::testing::TempDir()) {}
  TemporaryFile(const std::string& bytes, const std::string& directory) {
    std::string pattern = directory + "/streamsan-test.XXXXXX";
    int file = mkstemp(pattern.data());
    EXPECT_GE(file, 0);
    close(file);
    path_ = pattern;
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace streamsan
