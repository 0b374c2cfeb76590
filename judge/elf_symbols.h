// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the symbol tables of an ELF file say of some addresses.
//
// WHERE A NAME IS RIGHT. A library that is stripped keeps the names of the functions that it exports. A tool that knows
// nothing better names an address after the nearest of them below it, which may be megabytes away: a function inside of
// cuRAND was shown as curandGeneratePoisson. A symbol has a size; its name is right for the addresses inside of it
// only. A symbol without a size (hand-written assembly) is believed up to the next one of its section.
//
// WHY NOT A TOOL. llvm-symbolizer and addr2line read all of a file before they answer, which takes half a second for
// the libraries of a framework, and where there is no debug information they know no more than this. So they are asked
// only where it is.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace streamsan::judge {

class ElfSymbols {
 public:
  /// Reads both symbol tables; of a damaged file what can be read, of a file that is no ELF file nothing.
  ElfSymbols(const std::string& path, const std::set<std::uint64_t>& addresses);

  /// False: no function was found. There are no names then, and nothing speaks against one.
  [[nodiscard]] bool readable() const { return readable_; }
  /// Has the file debug information, or is there another file that has it? True if that could not be read.
  [[nodiscard]] bool has_debug_information() const { return debug_information_; }
  /// The function, mangled, in which one of the addresses (as in the file) lies; empty: in none that has a name.
  [[nodiscard]] std::string name(std::uint64_t address) const;

 private:
  void read(const std::string& path, const std::set<std::uint64_t>& addresses);

  bool readable_ = false;
  bool debug_information_ = true;
  std::map<std::uint64_t, std::string> names_;
};

}  // namespace streamsan::judge
