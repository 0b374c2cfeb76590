// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What it costs that the host's touches of memory under a copy are watched, in two kinds of program that are right:
//
//   host_guard load MIB   a loader with two pinned slots: the host waits for a slot's event, fills it, submits the copy
//                         and a small kernel, and records the event. The pages of each slot are lent and given back
//                         each time
//   host_guard read       a small result is copied back, waited for and read, as fast as it goes: nothing else hides
//                         the cost of a guard here
//
// How fast the host fills a slot depends on where its pages lie, by a tenth for 4 MiB: each block has slots of its own,
// so that the median is over several places and two processes can be compared. Where steps are short, the untimed ones last
// until what guards may cost beside their share (guards.cpp) is spent: timed is the share.
//
// usage: host_guard load MIB | read 0, then [BLOCKS [STEPS [UNTIMED]]]
// prints {"ms": ..., "launches": ...}: the median block, for one step
#include <cuda_runtime.h>

#include <cstring>

#include "steady.h"

namespace {

constexpr int kSlots = 2;
constexpr int kPlaces = 8;

__global__ void step(const unsigned* batch, unsigned* result) {
  if (threadIdx.x == 0) *result += batch[blockIdx.x];
}

template <class T>
T* pinned(size_t bytes) {
  void* pointer = nullptr;
  MUST(cudaMallocHost(&pointer, bytes) == cudaSuccess);
  std::memset(pointer, 0, bytes);
  return static_cast<T*>(pointer);
}

template <class T>
T* device(size_t bytes) {
  void* pointer = nullptr;
  MUST(cudaMalloc(&pointer, bytes) == cudaSuccess);
  MUST(cudaMemset(pointer, 0, bytes) == cudaSuccess);
  MUST(cudaDeviceSynchronize() == cudaSuccess);
  return static_cast<T*>(pointer);
}

void load(const Plan& plan, size_t bytes, cudaStream_t stream) {
  struct Slot {
    unsigned* host;
    unsigned* batch;
    cudaEvent_t read;
  } slots[kPlaces][kSlots];
  unsigned* result = device<unsigned>(sizeof(unsigned));
  for (auto& place : slots) {
    for (Slot& slot : place) {
      slot.host = pinned<unsigned>(bytes);
      slot.batch = device<unsigned>(bytes);
      MUST(cudaEventCreateWithFlags(&slot.read, cudaEventDisableTiming) == cudaSuccess);
    }
  }
  int number = 0;
  time_steady(plan, [&] {
    const Slot& slot = slots[number / plan.launches % kPlaces][number % kSlots];
    ++number;
    MUST(cudaEventSynchronize(slot.read) == cudaSuccess);
    std::memset(slot.host, number, bytes);
    MUST(cudaMemcpyAsync(slot.batch, slot.host, bytes, cudaMemcpyHostToDevice, stream) == cudaSuccess);
    step<<<1, 32, 0, stream>>>(slot.batch, result);
    MUST(cudaEventRecord(slot.read, stream) == cudaSuccess);
  });
}

void read(const Plan& plan, cudaStream_t stream) {
  unsigned* batch = device<unsigned>(sizeof(unsigned));
  unsigned* result = device<unsigned>(sizeof(unsigned));
  auto* host = pinned<volatile unsigned>(sizeof(unsigned));
  unsigned sum = 0;
  time_steady(plan, [&] {
    step<<<1, 32, 0, stream>>>(batch, result);
    MUST(cudaMemcpyAsync(const_cast<unsigned*>(host), result, sizeof(unsigned), cudaMemcpyDeviceToHost, stream) ==
         cudaSuccess);
    MUST(cudaStreamSynchronize(stream) == cudaSuccess);
    sum += *host;
  });
  MUST(sum == 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  cudaStream_t stream;
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  const size_t mib = std::strtoul(argv[2], nullptr, 10);
  if (std::strcmp(argv[1], "read") == 0) {
    read(Plan(argc - 2, argv + 2, {.blocks = 15, .launches = 1000, .untimed = 40'000}), stream);
  } else {
    const Counts usual = mib < 16 ? Counts{.blocks = 16, .launches = 50, .untimed = 4000}
                                  : Counts{.blocks = 16, .launches = 8, .untimed = 16};
    load(Plan(argc - 2, argv + 2, usual), mib << 20, stream);
  }
  return 0;
}
