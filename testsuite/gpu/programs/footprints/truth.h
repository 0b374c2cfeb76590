// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a program of the truth table says which bytes its kernels touch: one JSON line for each launch and mode, written
// from the meaning of the kernel and from nothing that was measured. suite/truth.py compares the sets of bytes, so how
// they are cut into pieces does not matter, and pieces may overlap. A mode that is not printed is said to be empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <vector>

/// `slices` times `rows` runs of `width` bytes, the rows `pitch` bytes apart, the slices `slice_pitch`.
struct Piece {
  const void* at;
  std::size_t width;
  std::size_t rows = 1;
  std::size_t pitch = 0;
  std::size_t slices = 1;
  std::size_t slice_pitch = 0;
};

/// `extra`: further members of the object, each with a comma in front.
inline void say(const char* what, const char* kernel, const char* launch, const char* mode,
                const std::vector<Piece>& pieces, const char* extra = "") {
  std::printf(R"({"%s": {"kernel": "%s", "launch": %s, "mode": "%s"%s, "pieces": [)", what, kernel, launch, mode,
              extra);
  const char* separator = "";
  for (const Piece& piece : pieces) {
    std::printf("%s[%llu, %zu, %zu, %zu, %zu, %zu]", separator,
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(piece.at)), piece.width, piece.rows,
                piece.pitch, piece.slices, piece.slice_pitch);
    separator = ", ";
  }
  std::printf("]}}\n");
}

/// The only launch of a kernel touches exactly these bytes in this mode ("read", "write" or "atomic").
inline void truth(const char* kernel, const char* mode, const std::vector<Piece>& pieces) {
  say("truth", kernel, "0", mode, pieces);
}

/// The same where a footprint may say that it is not complete, or an upper bound: it must not claim what is not so.
inline void honest_truth(const char* kernel, const char* mode, const std::vector<Piece>& pieces) {
  say("truth", kernel, "0", mode, pieces, R"(, "honest": true)");
}
