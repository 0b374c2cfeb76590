// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PTX inside of an executable or shared object.
//
// nvcc puts device code into the sections .nv_fatbin and __nv_relfatbin (-rdc): containers (magic 0xba55ed50) with one
// entry for each kind and architecture. A PTX entry is text, by default compressed: with zstd (CUDA 12.4 and later), or
// as an LZ4 block. The layout is not documented; what is relied on here was read off files of CUDA 13.0, and each text
// must decompress to the size its entry states. A build without libzstd or liblz4 finds no text in entries that need
// it. Files may be damaged: nothing is trusted, nothing thrown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace streamsan::ptx {

/// Where a text lies; see unpack().
struct PackedText {
  enum class Packing : std::uint8_t { None, Zstd, Lz4 };
  std::uint64_t offset = 0;  ///< in the file
  std::uint64_t bytes = 0;   ///< there
  std::uint64_t size = 0;    ///< of the text
  std::uint32_t arch = 0;    ///< 75 for compute_75
  Packing packing = Packing::None;
};

/// All PTX texts in a 64-bit ELF file.
std::vector<PackedText> find_texts(std::span<const std::byte> file);

/// The text; empty: damaged, or packed in a way this build cannot read.
std::string unpack(std::span<const std::byte> file, const PackedText& text);

}  // namespace streamsan::ptx
