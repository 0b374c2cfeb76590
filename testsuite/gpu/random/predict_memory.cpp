// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/predict_memory.h"

namespace streamsan::lab::memory {

Footprint word(Address base, std::size_t cell, Shape shape) {
  return {.base = base + kWord * cell,
          .width = kWord,
          .pitch = kSlots,
          .rows = rows_of(shape),
          .slices = slices_of(shape),
          .slice_pitch = kSlots * kRows};
}

void allocate(model::Model& model) {
  for (const Address base : {kDevice, kBehind, kOnes, kIdle}) {
    for (const unsigned device : {0u, 1u}) {
      const Address begin = base + device * kOfSecond;
      model.allocate({}, {begin, begin + kWhole}, model::MemoryKind::Device, context(device));
    }
  }
  for (const Address base : {kArrays, kArrays + kOfVolume, kOnesArrays, kOnesArrays + kOfVolume, kIdleArray}) {
    for (const unsigned device : {0u, 1u}) {
      const Address begin = base + device * kOfSecond;
      model.allocate({}, {begin, begin + kWhole}, model::MemoryKind::Array, context(device));
    }
  }
  for (const Address host : {kPinned, kOnHost, kLanding, kIdleHost})
    model.allocate({}, {host, host + kWhole}, model::MemoryKind::Pinned, context(0));
}

std::pair<Footprint, Footprint> bytes_of_copy(const Work& work, std::size_t cell, Address device) {
  const Sides sides = sides_of(work.route);
  const bool writes = is_on_device(sides.to);
  const auto bytes = [&](Side side, bool shared) {
    const Address volume = work.shape == Shape::Slices ? kOfVolume : 0;
    switch (side) {
      case Side::Device:
        return word((shared ? kDevice : kOnes) + device, cell, work.shape);
      case Side::Array:
        return word((shared ? kArrays : kOnesArrays) + volume + device, cell, work.shape);
      case Side::Pinned:
        return word(kLanding, cell, work.shape);
      case Side::Pageable:
        return word(kPageable, cell, work.shape);
    }
    return Footprint{};
  };
  return {bytes(sides.to, writes), bytes(sides.from, !writes)};
}
Footprint bytes_of_fill(const Work& work, std::size_t cell, Address device) {
  return word(work.pinned ? kPinned : kDevice + device, cell, work.shape);
}

std::vector<model::KernelBytes> bytes_of_kernel(std::size_t cell, Address device) {
  return {{.bytes = word(kDevice + device, cell), .mode = model::AccessMode::Read, .early = true},
          {.bytes = word(kBehind + device, cell), .mode = model::AccessMode::Read}};
}

std::vector<model::KernelBytes> bytes_of_held() {
  std::vector<model::KernelBytes> all;
  for (const Address base : {kDevice, kBehind, kPinned, kOnHost, kDevice + kOfSecond, kBehind + kOfSecond})
    all.push_back({.bytes = {.base = base, .width = kWhole}, .mode = model::AccessMode::Write});
  for (const Address base : {kArrays, kArrays + kOfSecond}) {
    for (const Address array : {base, base + kOfVolume})
      all.push_back({.bytes = {.base = array, .width = kWhole}, .mode = model::AccessMode::Write});
  }
  return all;
}

}  // namespace streamsan::lab::memory
