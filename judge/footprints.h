// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The footprints a trace defines, and what one of them says about a launch.
//
// A footprint is relative: its pieces are offsets from the launch's pointers, so that one footprint serves every launch
// that does the same with other buffers. resolve() adds the pointers of one launch. A launch with a complete footprint
// has no inferred accesses at all: so two kernels on two halves of one buffer give no report.
//
// The table never trusts the trace. A footprint that was not defined to its end, or of which there is no room left, is
// not found, and the launch has inferred accesses from its pointers instead. A piece that makes no sense (an unknown
// mode, no bytes, a pointer the launch does not have, an end beyond the address space) is left out, and the footprint
// counts as incomplete: the pointers count beside it. Both lower certainty and never raise it.
//
// A footprint is written as one record, or as several with one id of which each but the last says that more follow. A
// record for an id that is whole already begins it anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ordering/flat_map.h"
#include "ordering/model.h"
#include "trace/reader.h"

namespace streamsan::judge {

/// A footprint as the trace defines it.
struct KernelFootprint {
  std::vector<trace::Piece> pieces;
  bool incomplete = false;  ///< the kernel may have touched more
  bool promised = false;    ///< by the documents of the library: it surely touches this, whether it was measured or not
};

class Footprints {
 public:
  /// The most pieces of one footprint. What comes after is dropped, which makes it incomplete.
  static constexpr std::size_t kMostPieces = 4096;
  /// The most pieces of all footprints together, 48 bytes each. Past it footprints are as if not defined.
  static constexpr std::size_t kMostPiecesInAll = std::size_t{1} << 20;
  static constexpr std::size_t kMostFootprints = std::size_t{1} << 18;

  /// A record of trace::Kind::Footprint, its lengths checked by the reader.
  void add(const trace::Item& item);
  /// Null: not defined, not defined to its end, or no room. Valid until the next add().
  [[nodiscard]] const KernelFootprint* find(std::uint64_t id) const;
  /// The footprints of a launch. Null: it has none, or it cannot be found.
  struct OfLaunch {
    const KernelFootprint* touched = nullptr;   ///< by this launch, if it was measured, or by one like it
    const KernelFootprint* promised = nullptr;  ///< by the documents of the library that launches it
  };
  [[nodiscard]] OfLaunch of_launch(const trace::Item& launch) const;

 private:
  struct Entry {
    KernelFootprint footprint;
    bool open = false;  ///< more pieces follow
    bool lost = false;  ///< no room for it
  };

  ordering::FlatMap<std::uint32_t> index_;  ///< footprint id -> index in entries_, plus one
  std::vector<Entry> entries_;
  std::size_t pieces_ = 0;
};

/// What a footprint says about one launch.
struct ResolvedFootprint {
  std::vector<ordering::KernelBytes> bytes;  ///< addresses; widened pieces say so
  bool complete = true;                      ///< false: the launch's pointers count as inferred beside the bytes
};

/// `pointer_words` are those of the launch: the first w5 words of its payload. `measured`: in this very launch; else
/// bytes that no argument points to count as widened, for they were found through memory that may hold something else
/// by now. Replaces what is in `out`.
void resolve(const KernelFootprint& footprint, std::span<const std::uint64_t> pointer_words, bool measured,
             ResolvedFootprint& out);

enum class Known : std::uint8_t {
  Measured,  ///< in this very launch
  Learned,   ///< in earlier ones like it
  Computed,  ///< all or some of it from the kernel's code, or from the documents of the library that launches it
  Inferred,  ///< only the pointers are known
};

/// What is known of one launch.
struct LaunchBytes {
  Known known = Known::Inferred;
  bool through_textures = false;  ///< it touches more than was measured or proved: what its textures are made of,
  bool unknown_textures = false;  ///< and some of them are not known
  bool confined = false;  ///< proved that it touches nothing that its arguments do not lead to, though not which bytes
  ResolvedFootprint exact;
  std::vector<ordering::PointerArgument>
      pointers;  ///< through which it may touch more; ignored if the bytes are complete
};

/// Adds what the launch surely touches by the documents of the library, beside what is known of it otherwise.
void add_promise(const KernelFootprint& promise, std::span<const std::uint64_t> pointer_words, LaunchBytes& out);

}  // namespace streamsan::judge
