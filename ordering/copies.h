// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy matrix: what the host has waited for when a copy or a fill returns.
//
// A copy is an operation of its stream like any other. Only the host side of the call differs, by the kinds of memory
// on both sides and by the form of the call, not by its name: cudaMemcpy from device to device does
// not wait, cudaMemcpyAsync between two host buffers does. Every row of the table in copies.cpp names the rule it comes
// from.
//
// Two columns: what is documented, and what is assumed because today's driver does it. Where a document is silent and
// measurements disagree between sizes, the assumed column follows the larger sizes.
#pragma once

#include "ordering/model.h"
#include "ordering/rules.h"
#include "ordering/types.h"

namespace streamsan::ordering {

/// What the host knows to be complete when the call returns.
enum class HostEffect : std::uint8_t {
  None,
  Prior,     ///< earlier work of the stream, the copy itself not
  Complete,  ///< the copy itself, and so all before it
};

struct CopyRule {
  Rule documented_rule{};
  HostEffect documented = HostEffect::None;
  Rule assumed_rule{};  ///< equals documented_rule where nothing is assumed
  HostEffect assumed = HostEffect::None;

  /// True where the assumed clock learns something that the documented clock does not.
  [[nodiscard]] bool leans() const { return assumed != documented; }
};

/// R-CPY-08: of memory that was set so.
inline constexpr CopyRule kSyncMemory{Rule::CPY_08, HostEffect::Complete, Rule::CPY_08, HostEffect::Complete};

CopyRule copy_rule(MemoryKind dst, MemoryKind src, Form form);
CopyRule fill_rule(MemoryKind dst, Form form);
/// The rule of one copy of a batch.
CopyRule batch_rule(MemoryKind dst, MemoryKind src);
/// Does today's driver use the pageable side of a copy of a batch after the call has returned (R-CPY-33, R-CPY-34)?
constexpr bool is_used_in_place(AccessMode side, SourceOrder order) {
  return side == AccessMode::Write || order == SourceOrder::Any;
}

}  // namespace streamsan::ordering
