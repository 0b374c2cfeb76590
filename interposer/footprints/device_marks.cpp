// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/device_marks.h"

#include <algorithm>
#include <cstring>

namespace streamsan::footprints {
namespace {

constexpr std::uint32_t kFirstSlots = 1024;  // 96 MiB, for kernels that touch up to 192 MiB or so
constexpr std::uint32_t kGrowth = 4;
constexpr std::size_t kBatch = 32;  // regions read at once
// A slot in use, packed so that sorting sorts by region: region above, slot below.
constexpr unsigned kSlotBits = 24;
constexpr std::uint64_t slot_in(unsigned long long packed) { return packed & ((1ull << kSlotBits) - 1); }
constexpr std::uint64_t region_in(unsigned long long packed) { return packed >> kSlotBits; }

constexpr std::uint64_t kPerSlot = kSlotBytes + sizeof(unsigned long long);

// Of all contexts. The recorder lets one thread at a time in.
constinit std::uint64_t g_taken = 0;

}  // namespace

void DeviceMarks::release(const DriverCalls& driver) {
  if (words_) g_taken -= slots_ * kPerSlot;
  if (words_) driver.cuMemFree_v2(words_);
  if (host_keys_) driver.cuMemFreeHost(host_keys_);
  words_ = keys_ = table_ = 0;
  host_keys_ = nullptr;
  slots_ = 0;
}

bool DeviceMarks::allocate(const DriverCalls& driver, std::uint32_t slots) {
  release(driver);
  void* keys_here = nullptr;
  const std::uint64_t key_bytes = slots * sizeof(unsigned long long);
  bool done = driver.cuMemAlloc_v2(&words_, slots * kPerSlot + sizeof(Marks)) == CUDA_SUCCESS &&
              driver.cuMemHostAlloc(&keys_here, key_bytes + sizeof(Marks), 0) == CUDA_SUCCESS;
  keys_ = words_ + slots * kSlotBytes;
  table_ = keys_ + key_bytes;
  host_keys_ = static_cast<unsigned long long*>(keys_here);
  Marks marks{reinterpret_cast<unsigned long long*>(keys_), reinterpret_cast<std::uint32_t*>(words_), slots - 1, 0};
  done = done && driver.cuMemsetD8Async(words_, 0, slots * kSlotBytes, stream_) == CUDA_SUCCESS &&
         driver.cuMemsetD8Async(keys_, 0, key_bytes, stream_) == CUDA_SUCCESS;
  if (done) {
    std::memcpy(staging_, &marks, sizeof marks);
    done = driver.cuMemcpyHtoDAsync_v2(table_, staging_, sizeof marks, stream_) == CUDA_SUCCESS &&
           driver.cuStreamSynchronize(stream_) == CUDA_SUCCESS;
  }
  if (done) {
    slots_ = slots;
    g_taken += slots * kPerSlot;
    dirty_ = stopped_ = false;
  } else {
    release(driver);
  }
  return done;
}

void DeviceMarks::destroy(const DriverCalls& driver) {
  release(driver);
  if (staging_) driver.cuMemFreeHost(staging_);
  if (stream_) driver.cuStreamDestroy_v2(stream_);
  *this = DeviceMarks();
}

void DeviceMarks::abandon() {
  if (words_) g_taken -= slots_ * kPerSlot;
  *this = DeviceMarks();
}

const char* DeviceMarks::prepare(const DriverCalls& driver, std::uint64_t most_bytes) {
  if (!stream_) {
    void* staging = nullptr;
    if (driver.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
        driver.cuMemHostAlloc(&staging, kBatch * kSlotBytes, 0) != CUDA_SUCCESS) {
      return "there is no memory for the marks";
    }
    staging_ = static_cast<char*>(staging);
    wanted_ = kFirstSlots;
  }
  if (!staging_) return "there is no memory for the marks";
  if (slots_ >= wanted_) return clear_left_over(driver);
  // What we hold may be given up for more, so it counts as free.
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  if (driver.cuMemGetInfo_v2(&free_bytes, &total) != CUDA_SUCCESS) return "the driver does not tell the free memory";
  const std::uint64_t room = std::min<std::uint64_t>(most_bytes - std::min(most_bytes, g_taken - slots_ * kPerSlot),
                                                     (free_bytes + slots_ * kPerSlot) / 4);
  std::uint32_t slots = wanted_;
  while (slots > 16 && slots * kPerSlot > room) slots /= 2;
  at_limit_ = slots < wanted_;
  wanted_ = slots;
  if (slots <= slots_) return clear_left_over(driver);
  const std::uint32_t before = slots_;
  if (allocate(driver, slots)) return nullptr;
  // Somebody else took the memory: go back to what there was.
  at_limit_ = true;
  wanted_ = before ? before : 16;
  return allocate(driver, wanted_) ? nullptr : "there is no device memory for the marks";
}

const char* DeviceMarks::clear_left_over(const DriverCalls& driver) {
  if (!dirty_) return nullptr;
  const bool cleared = clear(driver, slots_) && driver.cuStreamSynchronize(stream_) == CUDA_SUCCESS;
  dirty_ = !cleared;
  return cleared ? nullptr : "its marks cannot be cleared";
}

/// How many regions from `first` on, but not beyond `end`, have their marks in a row.
std::size_t DeviceMarks::slots_in_row(std::size_t first, std::size_t end) const {
  std::size_t last = first + 1;
  while (last < end && slot_in(host_keys_[last]) == slot_in(host_keys_[last - 1]) + 1) ++last;
  return last - first;
}

/// Waits for nothing: nobody looks at the marks before the context has been idle once more. `used`: of the regions in
/// host_keys_.
bool DeviceMarks::clear(const DriverCalls& driver, std::size_t used) {
  bool done = true;
  if (used > slots_ / 4) {
    done = driver.cuMemsetD8Async(words_, 0, slots_ * kSlotBytes, stream_) == CUDA_SUCCESS;
  } else {
    for (std::size_t first = 0, count = 0; first < used && done; first += count) {
      count = slots_in_row(first, used);
      done = driver.cuMemsetD8Async(words_ + slot_in(host_keys_[first]) * kSlotBytes, 0, count * kSlotBytes, stream_) ==
             CUDA_SUCCESS;
    }
  }
  done = done && driver.cuMemsetD8Async(keys_, 0, slots_ * sizeof(unsigned long long), stream_) == CUDA_SUCCESS &&
         driver.cuMemsetD8Async(table_ + offsetof(Marks, overflow), 0, sizeof Marks::overflow, stream_) == CUDA_SUCCESS;
  dirty_ = !done;
  return done;
}

bool DeviceMarks::read_slots(const DriverCalls& driver, std::size_t used, Runs& runs) {
  for (std::size_t batch = 0; batch < used; batch += kBatch) {
    const std::size_t end = std::min(batch + kBatch, used);
    for (std::size_t first = batch, count = 0; first < end; first += count) {
      count = slots_in_row(first, end);
      if (driver.cuMemcpyDtoHAsync_v2(staging_ + (first - batch) * kSlotBytes,
                                      words_ + slot_in(host_keys_[first]) * kSlotBytes, count * kSlotBytes,
                                      stream_) != CUDA_SUCCESS)
        return false;
    }
    if (driver.cuStreamSynchronize(stream_) != CUDA_SUCCESS) return false;
    for (std::size_t at = batch; at < end; ++at) {
      runs.add_region(region_in(host_keys_[at]),
                      reinterpret_cast<const std::uint32_t*>(staging_ + (at - batch) * kSlotBytes));
    }
  }
  return true;
}

void DeviceMarks::stop(const DriverCalls& driver) {
  if (!slots_) return;
  static_assert(kStopped == ~0ull, "every byte is the same");
  std::memset(host_keys_, 0xff, slots_ * sizeof(unsigned long long));
  // By a copy engine: the kernel may have taken all multiprocessors.
  driver.cuMemcpyHtoDAsync_v2(keys_, host_keys_, slots_ * sizeof(unsigned long long), stream_);
  stopped_ = true;
}

DeviceMarks::Read DeviceMarks::read(const DriverCalls& driver, Runs& runs) {
  runs.clear();
  if (stopped_) {
    stopped_ = false;
    return clear(driver, slots_) ? Read::Stopped : Read::Failed;
  }
  // The table stands behind the keys.
  Marks marks{};
  const std::uint64_t key_bytes = slots_ * sizeof(unsigned long long);
  if (driver.cuMemcpyDtoHAsync_v2(host_keys_, keys_, key_bytes + sizeof marks, stream_) != CUDA_SUCCESS ||
      driver.cuStreamSynchronize(stream_) != CUDA_SUCCESS) {
    return Read::Failed;
  }
  std::memcpy(&marks, host_keys_ + slots_, sizeof marks);
  std::size_t used = 0;
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    if (host_keys_[slot]) host_keys_[used++] = (host_keys_[slot] - 1) << kSlotBits | slot;
  }
  std::sort(host_keys_, host_keys_ + used);
  if (marks.overflow) {
    if (!at_limit_) wanted_ = slots_ * kGrowth;
    return clear(driver, used) ? Read::Overflow : Read::Failed;
  }
  return read_slots(driver, used, runs) && clear(driver, used) ? Read::Done : Read::Failed;
}

}  // namespace streamsan::footprints
