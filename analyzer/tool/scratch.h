// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A temporary folder that does not outlive the program.
#pragma once

#include <filesystem>

namespace streamsan::analyzer {

class Scratch {
 public:
  /// Throws if the folder cannot be made.
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Throws if nothing more can be written: what workers left there is not whole then.
  void demand_room() const;

 private:
  std::filesystem::path path_;
};

}  // namespace streamsan::analyzer
