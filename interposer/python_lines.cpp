// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/python_lines.h"

namespace streamsan::recorder {
namespace {

std::uint32_t valid(std::int64_t line) { return line > 0 && line <= INT32_MAX ? static_cast<std::uint32_t>(line) : 0; }

std::uint32_t by_increments(const unsigned char* table, std::size_t length, std::int64_t line, std::uint32_t offset) {
  std::uint64_t reached = 0;
  for (std::size_t i = 0; i + 1 < length; i += 2) {
    reached += table[i];
    if (reached > offset) break;
    line += static_cast<signed char>(table[i + 1]);
  }
  return valid(line);
}

std::uint32_t by_ranges(const unsigned char* table, std::size_t length, std::int64_t line, std::uint32_t offset) {
  constexpr signed char kNoLine = -128;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i + 1 < length; i += 2) {
    const auto lines = static_cast<signed char>(table[i + 1]);
    if (lines != kNoLine) line += lines;
    end += table[i];
    if (offset < end) return lines == kNoLine ? 0 : valid(line);
  }
  return 0;
}

/// Entries of the 3.11 table.
class Entries {
 public:
  Entries(const unsigned char* table, std::size_t length) : at_(table), end_(table + length) {}

  struct Entry {
    unsigned kind;
    std::uint64_t bytes;  ///< of code
  };
  bool next(Entry& out) {
    while (at_ < end_ && !(*at_ & kFirst)) ++at_;
    if (at_ == end_) return false;
    const unsigned char first = *at_++;
    constexpr unsigned kUnit = 2;
    out = {.kind = first >> 3 & 15u, .bytes = ((first & 7u) + 1) * kUnit};
    return true;
  }
  /// The number that follows the first byte.
  std::int64_t signed_number() {
    const std::uint64_t raw = number();
    const auto half = static_cast<std::int64_t>(raw >> 1);
    return raw & 1 ? -half : half;
  }

 private:
  static constexpr unsigned char kFirst = 0x80;

  /// Pieces of six bits, the lowest first; bit 6: there is one more.
  std::uint64_t number() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; at_ < end_ && shift < 36; shift += 6) {
      const unsigned char piece = *at_;
      if (piece & kFirst) break;
      ++at_;
      out |= std::uint64_t{piece & 63u} << shift;
      if (!(piece & 64)) break;
    }
    return out;
  }

  const unsigned char* at_;
  const unsigned char* end_;
};

std::uint32_t by_locations(const unsigned char* table, std::size_t length, std::int64_t line, std::uint32_t offset) {
  // Kinds 0 to 9 stay in the line, 10 to 12 go on by 0 to 2.
  constexpr unsigned kOneLine = 10;
  constexpr unsigned kNoColumns = 13;
  constexpr unsigned kLong = 14;
  constexpr unsigned kNoLocation = 15;
  Entries entries(table, length);
  Entries::Entry entry{};
  std::uint64_t end = 0;
  while (entries.next(entry)) {
    if (entry.kind == kNoColumns || entry.kind == kLong) {
      line += entries.signed_number();
    } else if (entry.kind >= kOneLine && entry.kind < kNoColumns) {
      line += entry.kind - kOneLine;
    }
    end += entry.bytes;
    if (offset < end) return entry.kind == kNoLocation ? 0 : valid(line);
  }
  return 0;
}

}  // namespace

std::uint32_t python_line(PythonLines kind, const unsigned char* table, std::size_t length, std::int32_t first_line,
                          std::uint32_t offset) {
  switch (kind) {
    case PythonLines::Increments:
      return by_increments(table, length, first_line, offset);
    case PythonLines::Ranges:
      return by_ranges(table, length, first_line, offset);
    case PythonLines::Locations:
      return by_locations(table, length, first_line, offset);
  }
  return 0;
}

}  // namespace streamsan::recorder
