// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernels the host code of a file names: a program that uses CUDA's runtime registers each of its kernels by a
// string in its read-only data.
//
// Those data may be hundreds of megabytes, and a run may use hundreds of kernels. Searching all of the data for each
// name took JAX's judge three seconds. So the data are read once, at the first question, and of each string in them the
// last 8, 16 and 32 characters, as far as it has so many, leave a bit each in a table. A name whose bits are not there
// is not in the file; the few others are searched for. Where a string begins does not matter, since the linker merges
// strings that end alike: one may be the end of another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "judge/ptx/input.h"

namespace streamsan::ptx {

class HostNames {
 public:
  /// Those lengths; names that are shorter than the first are always searched for.
  static constexpr std::array<std::size_t, 3> kTails{8, 16, 32};

  /// Does the host code of the file name this kernel? It must, to register it with the runtime. `file` is the same each
  /// time.
  bool has(const Input& file, std::string_view kernel);

  /// How often the data had to be searched, for tests.
  [[nodiscard]] std::size_t searches() const { return searches_; }

 private:
  void read(const Input& file);
  void note_strings(std::string_view data);
  [[nodiscard]] bool may_have(std::string_view kernel) const;
  [[nodiscard]] std::size_t bit_of(std::string_view tail) const;

  std::vector<bool> bits_;  ///< empty: not read yet
  std::size_t searches_ = 0;
};

}  // namespace streamsan::ptx
