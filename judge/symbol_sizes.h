// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which addresses of an ELF file its symbol tables have a name for.
//
// A library that is stripped keeps the names of the functions that it exports. A symbolizer that knows nothing better
// names an address after the nearest of them below it, which may be megabytes away: a function inside of cuRAND was shown
// as curandGeneratePoisson. A symbol has a size; a name is right for the addresses inside of it only. A symbol without a
// size (hand-written assembly) is believed up to the next one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace streamsan::judge {

class SymbolSizes {
 public:
  /// Reads both symbol tables; of a file that is none or is damaged, nothing.
  explicit SymbolSizes(const std::string& path);
  /// Does the address (as in the file) lie in a function that has a name? True if nothing could be read.
  [[nodiscard]] bool names(std::uint64_t address) const;

 private:
  struct Span {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;      ///< of one without a size: its begin
    std::uint64_t reaches = 0;  ///< the farthest end of this and all before
  };
  std::vector<Span> spans_;  ///< by begin
};

}  // namespace streamsan::judge
