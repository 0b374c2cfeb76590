// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loader with two pinned slots of 4 MiB: the host fills one while the other is on its way to the device. Racy:
// nothing says that a slot has been read before it is filled again (R-CPY-15). Repaired: an event for each slot.
#include "stage.h"

namespace {

constexpr int kSlots = 2;
constexpr int kBatches = 8;
constexpr size_t kSlotBytes = 4 << 20;
constexpr size_t kWords = kSlotBytes / sizeof(int);

void fill_slot(int* slot, int value) {
  for (size_t i = 0; i < kWords; ++i) slot[i] = value;  // site: fill
}

}  // namespace

int main() {
  cudaStream_t stream = non_blocking_stream();
  int* slots[kSlots];
  cudaEvent_t read[kSlots];
  int* batches[kBatches];
  for (int i = 0; i < kSlots; ++i) {
    slots[i] = pinned_memory<int>(kWords);
    read[i] = new_event();
  }
  for (int*& batch : batches) batch = device_memory<int>(kWords);

  for (int i = 0; i < kBatches; ++i) {
    const int slot = i % kSlots;
#ifdef FIXED
    CHECK(cudaEventSynchronize(read[slot]));
#endif
    fill_slot(slots[slot], i + 1);
    CHECK(cudaMemcpyAsync(batches[i], slots[slot], kSlotBytes, cudaMemcpyHostToDevice, stream));  // site: copy
    CHECK(cudaEventRecord(read[slot], stream));
  }
  CHECK(cudaDeviceSynchronize());
#ifdef FIXED
  for (int i = 0; i < kBatches; ++i) {
    CHECK(cudaMemcpy(slots[0], batches[i], kWords * sizeof(int), cudaMemcpyDeviceToHost));
    long long sum = 0;
    for (size_t w = 0; w < kWords; ++w) sum += slots[0][w];
    std::printf("batch %d: %lld\n", i, sum);
    if (sum != static_cast<long long>(kWords) * (i + 1)) return 3;
  }
#endif
  return 0;
}
