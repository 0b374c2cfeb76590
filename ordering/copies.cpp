// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of the copy matrix.
//
// The six kinds of memory form four sides: what counts is whether the driver can reach the bytes by DMA where they are
// (device, pinned), has to stage them (pageable), or may migrate them (managed). DeviceAsync memory and arrays behave
// as Device, Registered as Pinned.
//
// Measured on an H200, driver 580, where the assumed column says more than the documented one:
//   R-CPY-14  asynchronous device (or managed) to pageable blocks at every size from 4 bytes to 64 MiB;
//   R-CPY-06  synchronous copies with a managed side, and synchronous fills of managed memory, block.
// Measured, and deliberately not assumed: a kernel in a non-blocking stream after a synchronous copy of 1 MiB from
// pageable memory reads old data nearly always (R-CPY-01), of 64 KiB nearly never.
//
// Batches do not stage as single copies do. Measured there with CUDA 13.0, sizes from 1 KiB to 16 MiB:
//   * a batch to pageable memory returns at once and writes when its stream comes to it (R-CPY-34);
//   * from pageable memory, read in stream order: the call blocks until its stream comes to it, and has read the source
//     when it returns: as R-CPY-13 says of single copies, so that is assumed here, too;
//   * without an order: it returns at once, and reads sources of 1 MiB and more when its stream comes to it (R-CPY-33);
//   * during the call: the same (sic), against what is documented. The document counts (R-CPY-32).
#include "ordering/copies.h"

namespace streamsan::ordering {
namespace {

enum class Side : std::uint8_t { Device, Managed, Pinned, Pageable };

Side side_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Device:
    case MemoryKind::DeviceAsync:
    case MemoryKind::Array:
      return Side::Device;
    case MemoryKind::Managed:
      return Side::Managed;
    case MemoryKind::Pinned:
    case MemoryKind::Registered:
      return Side::Pinned;
    case MemoryKind::Pageable:
      return Side::Pageable;
  }
  return Side::Pageable;
}

constexpr CopyRule documented(Rule rule, HostEffect effect) { return {rule, effect, rule, effect}; }
constexpr CopyRule assumed(Rule silent, Rule leaned_on, HostEffect effect) {
  return {silent, HostEffect::None, leaned_on, effect};
}

using enum HostEffect;

// Indexed by form, then destination, then source, each in the order of Side:
//   source:   Device, Managed, Pinned, Pageable
constexpr CopyRule kCopies[2][4][4] = {
    {
        // Synchronous
        {documented(Rule::CPY_04, None), assumed(Rule::CPY_06, Rule::CPY_06, Complete),
         documented(Rule::CPY_02, Complete), documented(Rule::CPY_01, Prior)},  // to Device
        {assumed(Rule::CPY_06, Rule::CPY_06, Complete), assumed(Rule::CPY_06, Rule::CPY_06, Complete),
         assumed(Rule::CPY_06, Rule::CPY_06, Complete), assumed(Rule::CPY_06, Rule::CPY_06, Complete)},  // to Managed
        {documented(Rule::CPY_03, Complete), assumed(Rule::CPY_06, Rule::CPY_06, Complete),
         documented(Rule::CPY_05, Complete), documented(Rule::CPY_05, Complete)},  // to Pinned
        {documented(Rule::CPY_03, Complete), assumed(Rule::CPY_06, Rule::CPY_06, Complete),
         documented(Rule::CPY_05, Complete), documented(Rule::CPY_05, Complete)},  // to Pageable
    },
    {
        // Asynchronous
        {documented(Rule::CPY_16, None), documented(Rule::CPY_18, None), documented(Rule::CPY_15, None),
         documented(Rule::CPY_13, None)},  // to Device
        {documented(Rule::CPY_18, None), documented(Rule::CPY_18, None), documented(Rule::CPY_18, None),
         documented(Rule::CPY_13, None)},  // to Managed
        {documented(Rule::CPY_15, None), documented(Rule::CPY_18, None), documented(Rule::CPY_17, Complete),
         documented(Rule::CPY_17, Complete)},  // to Pinned
        {assumed(Rule::CPY_15, Rule::CPY_14, Complete), assumed(Rule::CPY_18, Rule::CPY_14, Complete),
         documented(Rule::CPY_17, Complete), documented(Rule::CPY_17, Complete)},  // to Pageable
    },
};

}  // namespace

CopyRule copy_rule(MemoryKind dst, MemoryKind src, Form form) {
  return kCopies[form == Form::Asynchronous][static_cast<int>(side_of(dst))][static_cast<int>(side_of(src))];
}

CopyRule batch_rule(MemoryKind dst, MemoryKind src) {
  const CopyRule rule = copy_rule(dst, src, Form::Asynchronous);
  return rule.leans() && side_of(dst) == Side::Pageable ? documented(Rule::CPY_34, None) : rule;
}

CopyRule fill_rule(MemoryKind dst, Form form) {
  if (form == Form::Asynchronous) return documented(Rule::CPY_51, None);
  switch (side_of(dst)) {
    case Side::Pinned:
      return documented(Rule::CPY_50, Complete);
    case Side::Managed:
      return assumed(Rule::CPY_50, Rule::CPY_06, Complete);
    case Side::Device:
    case Side::Pageable:
      return documented(Rule::CPY_50, None);
  }
  return documented(Rule::CPY_50, None);
}

}  // namespace streamsan::ordering
