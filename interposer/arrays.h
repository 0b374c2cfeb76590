// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA arrays as memory. An array has a handle and no address, so each gets a range of addresses that nothing else can
// have (ordering::kFirstArrayAddress), which is never used again. In it the elements lie row behind row and slice
// behind slice, the levels of a mipmapped array and the planes of a planar one behind each other: not as the GPU lays
// them out, but so that two copies meet there if and only if they meet in the array.
//
// NOT KNOWN are arrays of other APIs, those made before the recorder was there, and more than kMostArrays at a time:
// their side of a copy is left out, as if it were no memory, so that a race may be missed. So are copies of formats of
// which the size of an element is not known here (compressed ones, planar ones as a whole); such an array is one piece.
//
// Nothing here is on the way of a launch, or of a copy that names no array.
#pragma once

#include <cstddef>
#include <cstdint>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

namespace streamsan::recorder {

inline constexpr std::size_t kMostArrays = std::size_t{1} << 13;

/// The layout of an array, a mipmapped array, a level or a plane. Sizes are elements, at least one.
struct ArrayLayout {
  std::uint64_t base = 0;  ///< 0: not known
  std::uint64_t bytes = 0;
  std::uint64_t width = 1;
  std::uint64_t height = 1;
  std::uint64_t depth = 1;    ///< slices, layers or faces
  std::uint64_t element = 0;  ///< bytes; 0: not known
  std::uint64_t levels = 1;
  bool layered = false;  ///< a level has as many slices as the whole
  bool part = false;     ///< a level or a plane: its memory is that of the whole

  /// Layers and levels: a kernel that is given the whole may work on one.
  [[nodiscard]] std::uint64_t parts() const { return levels * (layered ? depth : 1); }
  [[nodiscard]] std::uint64_t pitch() const { return width * element; }
  [[nodiscard]] std::uint64_t slice() const { return pitch() * height; }
};

/// Bytes of an element; 0: not known.
std::uint64_t element_bytes(CUarray_format format, std::uint64_t channels);

/// From CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR, all versions.
template <class Descriptor>
ArrayLayout layout_of(const Descriptor& is) {
  ArrayLayout out{.width = is.Width, .height = is.Height, .element = element_bytes(is.Format, is.NumChannels)};
  if constexpr (requires { is.Depth; }) {
    out.depth = is.Depth;
    out.layered = (is.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  }
  return out;
}

/// The array has this handle from now on; its range is added to the layout. A base of 0: there is no room for it.
ArrayLayout array_made(std::uint64_t handle, ArrayLayout layout, std::uint64_t levels);
/// The handle of a level, or of a plane, of the array.
void level_made(std::uint64_t handle, std::uint64_t whole, std::uint64_t level);
void plane_made(std::uint64_t handle, std::uint64_t whole, std::uint64_t plane);
/// The array and the handles of its parts go. Its first address; 0: no memory ends, it is not known or a part itself.
std::uint64_t array_going(std::uint64_t handle);

/// A base of 0: not known.
ArrayLayout array_layout(std::uint64_t handle);
inline ArrayLayout array_layout(CUarray array) { return array_layout(reinterpret_cast<std::uint64_t>(array)); }

/// The bytes that a texture or surface object gives a kernel. Of rows with gaps the gaps, too.
struct TexturedMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  ///< 0: not known
  std::uint64_t parts = 1;  ///< layers and levels
};
TexturedMemory textured_memory(const CUDA_RESOURCE_DESC& is);

}  // namespace streamsan::recorder
