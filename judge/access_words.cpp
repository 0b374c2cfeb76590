// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words for one access, whatever it is unordered with.
#include "judge/wording.h"

namespace streamsan::judge {

using ordering::Access;
using ordering::AccessMode;
using ordering::AccessSource;

const char* memory_name(ordering::MemoryKind kind) {
  switch (kind) {
    case ordering::MemoryKind::Device:
      return "device memory";
    case ordering::MemoryKind::DeviceAsync:
      return "stream-ordered device memory";
    case ordering::MemoryKind::Managed:
      return "managed memory";
    case ordering::MemoryKind::Pinned:
      return "pinned host memory";
    case ordering::MemoryKind::Registered:
      return "registered host memory";
    case ordering::MemoryKind::Pageable:
      return "host memory";
    case ordering::MemoryKind::Array:
      return "an array";
  }
  return "memory";
}

report::Verb verb_of(const Access& access) {
  using report::Verb;
  if (access.source == AccessSource::Free) return Verb::Free;
  if (access.source == AccessSource::Allocate) return Verb::Allocation;
  if (access.mode == AccessMode::Read) return Verb::Read;
  if (access.mode == AccessMode::Atomic) return Verb::AtomicUpdate;
  return access.mode == AccessMode::Write ? Verb::Write : Verb::Use;
}

}  // namespace streamsan::judge
