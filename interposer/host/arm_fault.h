// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Was it a load or a store that faulted on AArch64? Linux says so in a record of the signal's frame: the processor's
// syndrome register. Emulators may leave that record out (QEMU did before 8.2); then the instruction is read.
//
// Plain functions of bytes, compiled and tested on every processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace streamsan::recorder::arm {

/// What the syndrome says: true, a store. Nothing, if there is none, or not one of an access to data. `records`: the
/// part of the signal's frame that is laid out as records, each with its magic number and its size in front.
inline std::optional<bool> stored_by_syndrome(const unsigned char* records, std::size_t bytes) {
  constexpr std::uint32_t kSyndrome = 0x45535201;  // "ESR", 1
  struct Head {
    std::uint32_t magic;
    std::uint32_t size;
  };
  Head head{};
  for (std::size_t at = 0; at + sizeof head + sizeof(std::uint64_t) <= bytes; at += head.size) {
    std::memcpy(&head, records + at, sizeof head);
    if (head.magic == kSyndrome) {
      std::uint64_t syndrome = 0;
      std::memcpy(&syndrome, records + at + sizeof head, sizeof syndrome);
      constexpr std::uint64_t kDataAbort = 0x24;  // from a program; the class of the exception is above bit 26
      constexpr std::uint64_t kWrote = 1u << 6;
      constexpr std::uint64_t kCacheMaintenance = 1u << 8;  // counts as a write, and changes nothing
      if ((syndrome >> 26 & 0x3f) != kDataAbort) return std::nullopt;
      return (syndrome & kWrote) && !(syndrome & kCacheMaintenance);
    }
    if (head.magic == 0 || head.size < sizeof head || head.size % 16 != 0) return std::nullopt;
  }
  return std::nullopt;
}

/// Does the instruction, which has accessed memory, store (or load and store)?
constexpr bool stores(std::uint32_t instruction) {
  const auto bits = [instruction](unsigned high, unsigned low) {
    return instruction >> low & ((std::uint32_t{2} << (high - low)) - 1);
  };
  const bool load = bits(22, 22) != 0;                                     // in most classes
  if (bits(31, 25) == 0b1110010) return true;                              // SVE: stores
  if (bits(31, 22) == 0b1101010100) return true;                           // dc zva
  if (bits(28, 25) == 0b0010) return false;                                // SVE: loads
  if (bits(29, 24) == 0b001100 || bits(29, 24) == 0b001101) return !load;  // vector structures
  if (bits(29, 24) == 0b001000) {                                          // exclusive, ordered, compare and swap
    const bool pair_or_ordered_swap = bits(21, 21) && (bits(23, 23) || !bits(31, 31));
    return !load || pair_or_ordered_swap;
  }
  if (bits(29, 27) == 0b101) return !load;  // pairs
  if (bits(29, 27) == 0b011)
    return bits(25, 24) == 0b01 && bits(23, 22) == 0;  // by the program counter; ordered, unscaled
  const bool vector = bits(26, 26) != 0;
  if (!vector && bits(25, 24) == 0 && bits(21, 21)) {
    if (bits(10, 10)) return false;                                            // signed pointers
    if (bits(11, 10) == 0) return bits(29, 10) != 0b11'1000'1011'1111'110000;  // atomics, but for ldapr
  }
  const std::uint32_t operation = bits(23, 22);
  return operation == 0 || (vector && operation == 2);
}

}  // namespace streamsan::recorder::arm
