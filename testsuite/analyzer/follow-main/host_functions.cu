// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,host-read-before-done,host-write-before-done %s
// RUN: %check cross-stream-race,host-read-before-done,host-write-before-done %s -- -DFIXED
//
// A host function is work of the stream that it is launched in: what it reads there has to be complete by then. What a
// host function tells another thread (here: that a slot of a pool is free again) that thread may rely on.
#include <cuda_runtime.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

constexpr size_t kCount = 256;
constexpr size_t kBytes = kCount * sizeof(float);

__global__ void simulate(float* out) { out[threadIdx.x] = 1; }

// What the host function is given: the sums are added up as soon as they have arrived.
struct Report {
  const float* sums;
  float total;
};

void add_up(void* given) {
  auto* report = static_cast<Report*>(given);
  for (size_t i = 0; i < kCount; ++i) report->total += report->sums[i];  // FIRES: cross-stream-race
}

// Pinned memory for results in flight: who takes a slot waits until one is free.
class Slots {
 public:
  explicit Slots(int count) {
    for (int i = 0; i < count; ++i) {
      float* made = nullptr;
      cudaMallocHost(&made, kBytes);
      free_.push_back(made);
    }
  }
  float* take() {
    std::unique_lock<std::mutex> lock(mutex_);
    returned_.wait(lock, [this] { return !free_.empty(); });
    float* slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give(float* slot) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(slot);
    returned_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<float*> free_;
};

struct Loan {
  Slots* slots;
  float* slot;
};

void give_back(void* given) {
  auto* loan = static_cast<Loan*>(given);
  loan->slots->give(loan->slot);
  delete loan;
}

void produce(Slots* slots, float* device, cudaStream_t stream) {
  for (int frame = 0; frame < 4; ++frame) {
    float* slot = slots->take();
    for (size_t i = 0; i < kCount; ++i) slot[i] = static_cast<float>(frame);
    cudaMemcpyAsync(device, slot, kBytes, cudaMemcpyHostToDevice, stream);
    cudaLaunchHostFunc(stream, give_back, new Loan{slots, slot});
  }
}

int main() {
  cudaStream_t copies, reports, uploads;
  cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&reports, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&uploads, cudaStreamNonBlocking);
  float *device, *inputs, *sums;
  cudaMalloc(&device, kBytes);
  cudaMalloc(&inputs, kBytes);
  cudaMallocHost(&sums, kBytes);

  Report report = {sums, 0};
  simulate<<<1, kCount, 0, copies>>>(device);
  cudaMemcpyAsync(sums, device, kBytes, cudaMemcpyDeviceToHost, copies);
#ifdef FIXED
  cudaLaunchHostFunc(copies, add_up, &report);
#else
  cudaLaunchHostFunc(reports, add_up, &report);
#endif

  Slots slots(2);
  std::thread producer(produce, &slots, inputs, uploads);
  // The next user of a slot is this thread: it reads what the producer has put there, and refills it.
  float* slot = slots.take();
  const float seen = slot[0];
  slot[0] = 0;
  slots.give(slot);
  producer.join();
  cudaDeviceSynchronize();
  return report.total + seen > 0 ? 0 : 1;
}
