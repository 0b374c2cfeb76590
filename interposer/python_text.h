// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a str of CPython, without CPython, into UTF-8.
//
// A str holds its characters in 1, 2 or 4 bytes each, as few as the largest of them needs, behind a head that is
// shorter if all are ASCII. Half of a surrogate pair is no character ("surrogateescape" makes such halves of file names
// that are not UTF-8) and becomes U+FFFD. A str whose characters are stored elsewhere (of a subclass, or made by an old
// extension module) is not read; neither is one of more than kMostCharacters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/python_layout.h"
#include "interposer/python_memory.h"

namespace streamsan::recorder {

class PythonText {
 public:
  static constexpr std::uint64_t kMostCharacters = 1u << 14;

  PythonText() = default;
  /// The object is a str.
  PythonText(const PythonLayout& layout, std::uint64_t object) {
    const auto length = load_at<std::uint64_t>(object + layout.text_length());
    const std::uint32_t state = load_at<std::uint32_t>(object + layout.text_state()) >> layout.text_kind;
    constexpr std::uint32_t kKind = 7;
    constexpr std::uint32_t kCompact = 8;
    constexpr std::uint32_t kAscii = 16;
    const std::uint32_t kind = state & kKind;
    if (!(state & kCompact) || length > kMostCharacters || (kind != 1 && kind != 2 && kind != 4)) return;
    data_ = object + ((state & kAscii) ? layout.ascii_text : layout.other_text);
    characters_ = static_cast<std::size_t>(length);
    width_ = kind;
  }

  [[nodiscard]] bool empty() const { return characters_ == 0; }

  /// Bytes of its UTF-8.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t out = 0;
    for (std::size_t i = 0; i < characters_; ++i) out += encoded(i).count;
    return out;
  }
  std::uint64_t hash(std::uint64_t seed) const {
    for (std::size_t i = 0; i < characters_; ++i) seed = (seed ^ character(i)) * 0x100000001b3ull;
    return seed;
  }
  /// At most `room` bytes of whole characters: the first ones, or the last ones. Returns how many.
  std::size_t write(char* out, std::size_t room, bool last_ones) const {
    std::size_t skipped = 0;
    if (last_ones) {
      for (std::size_t left = bytes(); left > room; ++skipped) left -= encoded(skipped).count;
    }
    std::size_t used = 0;
    for (std::size_t i = skipped; i < characters_; ++i) {
      const Encoded one = encoded(i);
      if (used + one.count > room) break;
      for (unsigned k = 0; k < one.count; ++k) out[used++] = one.byte[k];
    }
    return used;
  }

 private:
  struct Encoded {
    char byte[4];
    unsigned count;
  };

  [[nodiscard]] std::uint32_t character(std::size_t index) const {
    const std::uint64_t at = data_ + index * width_;
    std::uint32_t out = 0;
    switch (width_) {
      case 1:
        return load_at<std::uint8_t>(at);
      case 2:
        out = load_at<std::uint16_t>(at);
        break;
      default:
        out = load_at<std::uint32_t>(at);
        break;
    }
    const bool surrogate = out >= 0xd800 && out < 0xe000;
    return surrogate || out > 0x10ffff ? 0xfffd : out;
  }
  [[nodiscard]] Encoded encoded(std::size_t index) const {
    const std::uint32_t c = character(index);
    const auto tail = [c](unsigned shift) { return static_cast<char>(0x80 | (c >> shift & 0x3f)); };
    if (c < 0x80) return {{static_cast<char>(c)}, 1};
    if (c < 0x800) return {{static_cast<char>(0xc0 | c >> 6), tail(0)}, 2};
    if (c < 0x10000) return {{static_cast<char>(0xe0 | c >> 12), tail(6), tail(0)}, 3};
    return {{static_cast<char>(0xf0 | c >> 18), tail(12), tail(6), tail(0)}, 4};
  }

  std::uint64_t data_ = 0;
  std::size_t characters_ = 0;
  unsigned width_ = 1;
};

}  // namespace streamsan::recorder
