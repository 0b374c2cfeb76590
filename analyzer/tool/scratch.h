// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A temporary folder that does not outlive the program, and the signals that would make it.
//
// The handler only notes the signal: the driver, which waits for workers most of the time, sees it, ends them, leaves
// its scopes and so removes the folder, and only then dies of the signal. A second signal kills at once.
#pragma once

#include <filesystem>
#include <string>

namespace streamsan::analyzer {

class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }  ///< empty: could not be made

 private:
  std::filesystem::path path_;
};

/// Begins to note SIGINT, SIGTERM and SIGHUP.
void note_signals();
/// The signal noted, or 0.
int noted_signal();
/// Ends the program as the noted signal would have.
[[noreturn]] void die_of_signal();

/// The whole file, or false with the old one as it was. Follows links; keeps permissions and, for root, the owner.
bool write_file(const std::filesystem::path& path, const std::string& text);
bool read_file(const std::filesystem::path& path, std::string& text);

}  // namespace streamsan::analyzer
