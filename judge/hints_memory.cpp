// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/hints_memory.h"

#include <algorithm>

namespace streamsan::judge {

using trace::Kind;
using trace::Record;

void TouchedMemory::add(std::uint64_t key) {
  if (std::find(keys.begin(), keys.end(), key) != keys.end()) return;
  if (keys.size() == kMost) {
    unknown = true;
  } else {
    keys.push_back(key);
  }
}

void TouchedMemory::add(const TouchedMemory& other) {
  unknown |= other.unknown;
  for (const std::uint64_t key : other.keys) add(key);
}

bool TouchedMemory::apart(const TouchedMemory& other) const {
  if (unknown || other.unknown) return false;
  return std::none_of(keys.begin(), keys.end(), [&other](std::uint64_t key) {
    return std::find(other.keys.begin(), other.keys.end(), key) != other.keys.end();
  });
}

TouchedMemory touched_by(const Seen& seen) {
  constexpr std::uint64_t kNoLife = std::uint64_t{1} << 63;
  const Record& record = seen.record();
  TouchedMemory out;
  const auto touch = [&](std::uint64_t address) {
    if (address == 0) return;
    const ordering::AllocationInfo* known = seen.judge.model().find_allocation(address);
    out.add(known ? static_cast<std::uint64_t>(known->id) : kNoLife | address);
  };
  switch (record.kind) {
    case Kind::Launch: {
      const LaunchBytes& bytes = seen.judge.bytes_of(seen.item);
      for (const ordering::PointerArgument& pointer : bytes.pointers) touch(pointer.address);
      for (const ordering::KernelBytes& each : bytes.exact.bytes) touch(each.bytes.base);
      out.unknown = !bytes.exact.complete && bytes.pointers.empty();
      return out;
    }
    case Kind::Copy:
      out.unknown = record.as<Kind::Copy>().dst == 0 || record.as<Kind::Copy>().src == 0;  // an array
      touch(record.as<Kind::Copy>().dst);
      touch(record.as<Kind::Copy>().src);
      return out;
    case Kind::Fill:
      touch(record.as<Kind::Fill>().dst);
      return out;
    case Kind::EventRecord:
      return out;
    default:
      out.unknown = true;
      return out;
  }
}

}  // namespace streamsan::judge
