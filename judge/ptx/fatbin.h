// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The device code inside of an executable or shared object.
//
// nvcc puts it into the sections .nv_fatbin and __nv_relfatbin (-rdc): containers (magic 0xba55ed50) with one entry for
// each kind and architecture. A PTX entry is text, by default compressed: with zstd (CUDA 12.4 and later), or as an LZ4
// block. The layout is not documented; what this code relies on was found in files of CUDA 13.0, and each text must
// decompress to the size its entry states. A build without libzstd or liblz4 finds nothing in entries that need it.
// Files may be damaged: nothing is trusted, nothing thrown.
//
// WHEN PTX PROVES ANYTHING. A GPU runs one entry of a container: machine code, or what the driver makes of a text. Text
// and machine code of one architecture, as nvcc puts them side by side by default, were made from one another; between
// architectures `#if __CUDA_ARCH__` may have made other code. So a container proves something only if the architecture
// of each of its other entries, with its suffix ("90a"), is also that of a text in it; and since nobody here knows
// which entry was run, only kernels that are the same in all of its texts (library.cpp). Not noticed: machine code that
// nvcc made from the text of an older architecture although a text of its own architecture lies beside it (-gencode
// arch=compute_75,code=sm_80 -gencode arch=compute_80,code=compute_80): both look the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "judge/ptx/input.h"

namespace streamsan::ptx {

/// Where an entry lies; see unpack().
struct Packed {
  enum class Packing : std::uint8_t { None, Zstd, Lz4, Unknown };
  std::uint64_t offset = 0;  ///< in the file
  std::uint64_t bytes = 0;   ///< there
  std::uint64_t size = 0;    ///< when unpacked
  std::uint32_t arch = 0;    ///< 75 for sm_75 and compute_75
  std::uint32_t suffix = 0;  ///< which of plain, "a" and "f"; equal for equal ones
  Packing packing = Packing::None;
  bool operator==(const Packed&) const = default;
};

/// One translation unit's device code, or the linked code of several.
struct Container {
  std::vector<Packed> texts;
  std::vector<Packed> others;  ///< machine code, and what is not known
  bool relocatable = false;    ///< of __nv_relfatbin: what the program runs was linked from it

  /// May anything be concluded from its texts?
  [[nodiscard]] bool proves() const;
};

/// All containers in a 64-bit ELF file.
std::vector<Container> find_containers(const Input& file);

/// The contents; empty: damaged, or packed in a way this build cannot read.
std::string unpack(const Input& file, const Packed& entry);
/// The same of a text, without the terminator that counts as part of it.
std::string unpack_text(const Input& file, const Packed& entry);

/// The names of the kernels and functions in machine code.
std::vector<std::string> functions_of(std::string_view machine_code);

}  // namespace streamsan::ptx
