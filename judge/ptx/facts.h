// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel does with each word of its parameters, whatever the launch.
//
// For each register: from which parameter words may its value be derived? Every instruction hands on what its sources
// came from, in any order of execution, so the answer errs towards "from more". A store whose address may come from a
// word counts as written through it, and so on. A value loaded from memory is derived from no parameter (it may be a
// pointer that the host put there, which no one can tell from the code): what is said here is about access through the
// parameter, not about all access to the memory it points at.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "judge/ptx/grid.h"
#include "judge/ptx/kernel.h"
#include "judge/ptx/textures.h"

namespace streamsan::ptx {

inline constexpr std::uint32_t kWordBytes = 8;
/// Below are null pointers and numbers.
inline constexpr std::uint64_t kLeastAddress = std::uint64_t{1} << 32;

/// A word of a launch's arguments. Nothing: they end before it does.
inline std::optional<std::uint64_t> word_in(std::span<const std::byte> arguments, std::size_t word) {
  if ((word + 1) * kWordBytes > arguments.size()) return std::nullopt;
  std::uint64_t value = 0;
  std::memcpy(&value, arguments.data() + word * kWordBytes, sizeof value);
  return value;
}

/// Facts about the eight parameter bytes at an offset that is a multiple of eight.
struct WordFacts {
  bool read = false;       ///< perhaps read through
  bool written = false;    ///< perhaps written through, other than by atomic operations
  bool atomic = false;     ///< perhaps through atomic operations, which read and write
  bool stored = false;     ///< perhaps, of these, by a store: measured, it looks like any other
  bool on_device = false;  ///< perhaps through atomic operations that are not atomic for the host
  bool escapes = false;    ///< put where it cannot be followed: into memory, into a call, into an unknown instruction
  // The same, for uses that come before the kernel waits for the grid in front (grid.h).
  bool read_early = false;
  bool written_early = false;
  bool atomic_early = false;
  bool late = false;  ///< perhaps there are others

  [[nodiscard]] bool early() const { return read_early || written_early || atomic_early; }
};

/// Sets of parameter words, and of what else an address can be made from.
class Origin {
 public:
  explicit Origin(std::size_t words = 0) : bits_((words + 63) / 64) {}
  bool loaded = false;  ///< from memory
  bool symbol = false;  ///< the address of a variable of the module, or of a function
  bool own = false;     ///< the address of a variable of the block or thread

  void insert(std::size_t word) { bits_[word / 64] |= std::uint64_t{1} << word % 64; }
  [[nodiscard]] bool contains(std::size_t word) const { return (bits_[word / 64] >> word % 64 & 1) != 0; }
  [[nodiscard]] bool any_word() const;
  auto operator<=>(const Origin&) const = default;
  /// True: it grew.
  bool merge(const Origin& other);

 private:
  std::vector<std::uint64_t> bits_;
};

struct Facts {
  bool known = false;           ///< false: nothing is, the kernel was not understood
  bool uses_constants = false;  ///< of the module: what the host copies there it reads, and nobody sees it
  /// Perhaps it touches variables of the module, goes where a loaded pointer leads, or does what cannot be followed.
  bool strays = false;
  bool stores_atomically = false;  ///< through some word
  bool prints = false;
  bool can_wait = true;           ///< for what others write while it runs (waiting.h)
  bool waits_for_others = false;  ///< for another kernel or the host (waiting.h)
  bool strays_on_device = false;  ///< perhaps in other memory than words lead to, by what is not atomic for the host
  /// What the addresses that it touches are made of, each combination once.
  std::vector<Origin> addresses;
  std::vector<WordFacts> words;
  Grid grid;
  std::vector<Origin> origins;  ///< of each register
  Textures textures;

  /// All that an operand may be derived from.
  [[nodiscard]] Origin origin(const Kernel& kernel, const Operand& operand) const;
};

Facts facts_of(const Kernel& kernel);

/// Does it touch only memory that those words of its parameters point to? An address that is made from such a pointer
/// and from loaded values is taken for one into the pointer's memory; one that is made of `harmless` words only, null
/// pointers and small numbers, is not used.
bool is_confined(const Facts& facts, const std::vector<std::size_t>& pointer_words,
                 const std::function<bool(std::size_t word)>& harmless);

/// A function of the device runtime that touches no memory of the program.
struct DeviceFunction {
  std::string_view name;
  bool prints = false;
};
/// The one that the instruction calls; nullptr: none of these.
const DeviceFunction* harmless_function(const Instruction& instruction);
inline bool is_harmless_call(const Instruction& instruction) { return harmless_function(instruction) != nullptr; }

}  // namespace streamsan::ptx
