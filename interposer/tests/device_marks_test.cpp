// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marks read from the device (footprints/device_marks.h). The driver is a stand-in whose device memory is the host's,
// and the patches are replaced by mark(), which looks for a slot as patch.cu does.
#include "interposer/footprints/device_marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace streamsan::footprints {
namespace {

constexpr std::uint64_t kRegion = std::uint64_t{1} << kRegionShift;
constexpr std::uint64_t kGroup = kRegion << kGroupShift;
constexpr std::uint64_t kBase = 0x7f00'0000'0000;
constexpr std::uint64_t kMuchMemory = std::uint64_t{8} << 30;

struct Calls {
  int copies = 0;  // from the device
  int fills = 0;
};
Calls g_calls;

void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

DriverCalls driver() {
  DriverCalls calls{};
  calls.cuMemAlloc_v2 = [](CUdeviceptr* out, std::size_t bytes) {
    *out = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
    return CUDA_SUCCESS;
  };
  calls.cuMemFree_v2 = [](CUdeviceptr address) {
    std::free(at(address));
    return CUDA_SUCCESS;
  };
  calls.cuMemHostAlloc = [](void** out, std::size_t bytes, unsigned) {
    *out = std::malloc(bytes);
    return CUDA_SUCCESS;
  };
  calls.cuMemFreeHost = [](void* memory) {
    std::free(memory);
    return CUDA_SUCCESS;
  };
  calls.cuMemGetInfo_v2 = [](std::size_t* free_bytes, std::size_t* total) {
    *free_bytes = *total = 4 * kMuchMemory;
    return CUDA_SUCCESS;
  };
  calls.cuMemcpyDtoHAsync_v2 = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
    ++g_calls.copies;
    std::memcpy(to, at(from), bytes);
    return CUDA_SUCCESS;
  };
  calls.cuMemcpyHtoDAsync_v2 = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    std::memcpy(at(to), from, bytes);
    return CUDA_SUCCESS;
  };
  calls.cuMemsetD8Async = [](CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream) {
    ++g_calls.fills;
    std::memset(at(to), value, bytes);
    return CUDA_SUCCESS;
  };
  calls.cuStreamCreate = [](CUstream* out, unsigned) {
    *out = reinterpret_cast<CUstream>(8);
    return CUDA_SUCCESS;
  };
  calls.cuStreamDestroy_v2 = [](CUstream) { return CUDA_SUCCESS; };
  calls.cuStreamSynchronize = [](CUstream) { return CUDA_SUCCESS; };
  return calls;
}

/// As the patch of an instruction that writes one byte.
void mark(const void* device, std::uint64_t address) {
  auto* marks = static_cast<Marks*>(const_cast<void*>(device));
  const std::uint64_t region = address >> kRegionShift;
  std::uint32_t slot = slot_of(region) & marks->mask;
  for (unsigned probe = 0; probe < kMostProbes; ++probe, slot = (slot + 1) & marks->mask) {
    unsigned long long& key = marks->keys[slot];
    if (key == 0) key = region + 1;
    if (key != region + 1) continue;
    const std::uint64_t in_region = address % kRegion;
    marks->words[std::uint64_t{slot} * kSlotWords + kWrite * kModeWords + in_region / 32] |= 1u << in_region % 32;
    return;
  }
  marks->overflow = 1;
}

class MarksOfAContext : public testing::Test {
 protected:
  MarksOfAContext() { g_calls = {}; }
  ~MarksOfAContext() override { marks_.destroy(driver_); }

  /// What is read after a launch that wrote these bytes.
  std::vector<std::uint64_t> measure(const std::vector<std::uint64_t>& addresses) {
    EXPECT_EQ(marks_.prepare(driver_, kMuchMemory), nullptr);
    marks_.begin();
    for (const std::uint64_t address : addresses) mark(marks_.on_device(), address);
    g_calls = {};
    read_ = marks_.read(driver_, runs_);
    std::size_t count = 0;
    const StreamSanRange* ranges = read_ == DeviceMarks::Read::Done ? runs_.finish(count) : nullptr;
    std::vector<std::uint64_t> found;
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(ranges[i].modes, kStreamSanWrite);
      for (std::uint64_t byte = ranges[i].begin; byte < ranges[i].end; ++byte) found.push_back(byte);
    }
    return found;
  }

  const DriverCalls driver_ = driver();
  DeviceMarks marks_;
  Runs runs_;
  DeviceMarks::Read read_ = DeviceMarks::Read::Failed;
};

TEST_F(MarksOfAContext, AllThatWasTouchedIsReadAndNothingIsLeft) {
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 0; i < 90; ++i) addresses.push_back(kBase + i * i * kRegion + i);
  EXPECT_EQ(measure(addresses), addresses);
  EXPECT_EQ(measure({}), std::vector<std::uint64_t>{});
  EXPECT_EQ(measure({kBase + 7}), std::vector<std::uint64_t>{kBase + 7});
}

TEST_F(MarksOfAContext, NeighboursTakeOneCopyAndOneFill) {
  const std::uint64_t start = kBase / kGroup * kGroup;
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t at = start; at < start + kGroup; at += kRegion) addresses.push_back(at);
  EXPECT_EQ(measure(addresses), addresses);
  EXPECT_EQ(g_calls.copies, 2) << "the keys, and the marks of all regions";
  EXPECT_EQ(g_calls.fills, 3) << "likewise, and the overflow";
  // Every other region: no two of them are neighbours.
  std::vector<std::uint64_t> apart;
  for (std::uint64_t at = start; at < start + kGroup; at += 2 * kRegion) apart.push_back(at);
  EXPECT_EQ(measure(apart), apart);
  EXPECT_EQ(g_calls.copies, 1 + static_cast<int>(apart.size()));
}

TEST_F(MarksOfAContext, ThreeArraysNearlyFillTheTable) {
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t array = 0; array < 3; ++array) {
    for (std::uint64_t i = 0; i < 260; ++i) addresses.push_back(kBase + (array << 33) + i * kRegion);
  }
  EXPECT_EQ(measure(addresses), addresses);
}

TEST_F(MarksOfAContext, TooManyRegionsOverflowAndThenThereIsRoom) {
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 0; i < 1500; ++i) addresses.push_back(kBase + i * kRegion);
  measure(addresses);
  EXPECT_EQ(read_, DeviceMarks::Read::Overflow);
  EXPECT_FALSE(marks_.at_limit());
  EXPECT_EQ(measure(addresses), addresses);
}

TEST_F(MarksOfAContext, WhatAStoppedKernelHasMarkedIsNotReadLater) {
  ASSERT_EQ(marks_.prepare(driver_, kMuchMemory), nullptr);
  marks_.begin();
  mark(marks_.on_device(), kBase);
  marks_.stop(driver_);
  EXPECT_EQ(marks_.read(driver_, runs_), DeviceMarks::Read::Stopped);
  EXPECT_EQ(measure({kBase + kRegion}), std::vector<std::uint64_t>{kBase + kRegion});
}

}  // namespace
}  // namespace streamsan::footprints
