// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the streamsan program under test and keeps what it said.
#pragma once

#include <string>
#include <vector>

namespace streamsan::cli {

struct Result {
  int code = -1;      ///< exit code
  std::string out;    ///< stdout
  std::string error;  ///< stderr
};

/// streamsan with these arguments; `environment` entries ("NAME=value") are added to ours.
Result streamsan(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});

/// As above for `streamsan run` with the fake recorder writing the sample trace of this name ("": none).
Result run(const std::string& sample, std::vector<std::string> options, const std::vector<std::string>& program,
           const std::vector<std::string>& environment = {});

std::string contents(const std::string& path);

/// A directory that goes away with the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Names of the files in it, sorted.
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  std::string path_;
};

}  // namespace streamsan::cli
