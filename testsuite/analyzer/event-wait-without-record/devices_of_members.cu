// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// Events in a pool are all created on one device, streams on one device after the other: a record of such an event
// fails in the streams of the others.
#include <cuda_runtime.h>

#include <deque>
#include <memory>
#include <vector>

__global__ void fill(char* p) { p[threadIdx.x] = 1; }

namespace pooled {

struct Slab {
  char* bytes = nullptr;
#ifdef FIXED
  std::vector<cudaEvent_t> done;
#else
  cudaEvent_t done = nullptr;
#endif
};

class Slabs {
 public:
  Slabs(int count, int devices) {
    for (int i = 0; i < count; ++i) {
      auto slab = std::make_unique<Slab>();
      cudaMallocHost(reinterpret_cast<void**>(&slab->bytes), 4096);
#ifdef FIXED
      slab->done.resize(devices);
      for (int d = 0; d < devices; ++d) {
        cudaSetDevice(d);
        cudaEventCreateWithFlags(&slab->done[d], cudaEventDisableTiming);
      }
#else
      cudaSetDevice(0);
      cudaEventCreateWithFlags(&slab->done, cudaEventDisableTiming);
#endif
      idle_.push_back(slab.get());
      all_.push_back(std::move(slab));
    }
  }
  Slab* take() {
    Slab* slab = idle_.front();
    idle_.pop_front();
    return slab;
  }
  void put(Slab* slab, int device, cudaStream_t stream) {
#ifdef FIXED
    cudaEventRecord(slab->done[device], stream);
#else
    cudaEventRecord(slab->done, stream);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the record of event 'slab->done' in stream 'parts[each].stream' fails: the event is created on device 0, the stream on one device after the other; who waits for the event then waits for nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE+34]]:5: note: in the call to 'pooled::Slabs::put' here
// CHECK-NOTES: :[[@LINE-18]]:7: note: event 'slab->done' is created here
// CHECK-NOTES: :[[@LINE+19]]:9: note: in the call to 'pooled::Slabs::Slabs' here
// CHECK-NOTES: :[[@LINE-5]]:5: note: create an event for each device, and record that of the stream's device
// CHECK-NOTES: :[[@LINE+22]]:5: note: the stream is created here
#endif
    idle_.push_back(slab);
  }

 private:
  std::vector<std::unique_ptr<Slab>> all_;
  std::deque<Slab*> idle_;
};

struct Part {
  int device;
  cudaStream_t stream;
  char* data;
};

void spread(int devices, const std::vector<char>& rows) {
  Slabs slabs(4, devices);
  std::vector<Part> parts;
  for (int d = 0; d < devices; ++d) {
    Part part{d, nullptr, nullptr};
    cudaSetDevice(d);
    cudaStreamCreateWithFlags(&part.stream, cudaStreamNonBlocking);
    cudaMalloc(reinterpret_cast<void**>(&part.data), 4096);
    parts.push_back(part);
  }
  for (auto& part : parts) {
    cudaSetDevice(part.device);
    Slab* slab = slabs.take();
    cudaMemcpyAsync(part.data, slab->bytes, 4096, cudaMemcpyHostToDevice, part.stream);
    slabs.put(slab, part.device, part.stream);
  }
}

}  // namespace pooled

namespace one_after_the_other {

struct Tier {
  explicit Tier(int device) : device_(device) {
    cudaSetDevice(device_);
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
  }
  void load(cudaEvent_t& done) {
    cudaSetDevice(device_);
    fill<<<1, 64, 0, stream_>>>(data_);
    cudaEventRecord(done, stream_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the record of event 'fence.done' in stream 'second.stream_' fails: the event is created on device 0, the stream on device 1; who waits for the event then waits for nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE+26]]:3: note: in the call to 'one_after_the_other::Tier::load' here
// CHECK-NOTES: :[[@LINE+17]]:3: note: event 'fence.done' is created here
// CHECK-NOTES: :[[@LINE-4]]:5: note: create an event for each device, and record that of the stream's device
// CHECK-NOTES: :[[@LINE-10]]:5: note: the stream is created here
// CHECK-NOTES: :[[@LINE+19]]:8: note: in the call to 'one_after_the_other::Tier::Tier' here
  }
  int device_;
  cudaStream_t stream_ = nullptr;
  char* data_ = nullptr;
};

struct Fence {
  cudaEvent_t done;
};

void two_tiers() {
  Fence fence;
  cudaSetDevice(0);
  cudaEventCreateWithFlags(&fence.done, cudaEventDisableTiming);
  Tier first(0);
#ifdef FIXED
  Tier second(0);
#else
  Tier second(1);
#endif
  first.load(fence.done);
  second.load(fence.done);
}

}  // namespace one_after_the_other

// Not so: both of one device, created together.
namespace together {

struct Worker {
  cudaStream_t stream;
  cudaEvent_t done;
};

void start(int devices, char* data) {
  std::vector<Worker> workers(devices);
  for (int d = 0; d < devices; ++d) {
    cudaSetDevice(d);
    cudaStreamCreate(&workers[d].stream);
    cudaEventCreate(&workers[d].done);
  }
  for (auto& worker : workers) {
    fill<<<1, 64, 0, worker.stream>>>(data);
    cudaEventRecord(worker.done, worker.stream);
  }
}

// The event is recorded in the stream of its own device only.
void first_only(int devices, char* data) {
  cudaSetDevice(0);
  Worker timer{};
  cudaEventCreate(&timer.done);
  std::vector<cudaStream_t> streams(devices);
  for (int d = 0; d < devices; ++d) {
    cudaSetDevice(d);
    cudaStreamCreate(&streams[d]);
  }
  fill<<<1, 64, 0, streams[0]>>>(data);
  cudaEventRecord(timer.done, streams[0]);
}

// Who calls it says which stream, and may know the device of the event.
void picked(int devices, int mine, char* data) {
  Worker timer{};
  cudaEventCreate(&timer.done);
  std::vector<cudaStream_t> streams(devices);
  for (int d = 0; d < devices; ++d) {
    cudaSetDevice(d);
    cudaStreamCreate(&streams[d]);
  }
  fill<<<1, 64, 0, streams[mine]>>>(data);
  cudaEventRecord(timer.done, streams[mine]);
}

// Which device comes in from outside.
void given(int device, char* data) {
  Worker worker{};
  cudaEventCreate(&worker.done);
  cudaSetDevice(device);
  cudaStreamCreate(&worker.stream);
  fill<<<1, 64, 0, worker.stream>>>(data);
  cudaEventRecord(worker.done, worker.stream);
}

}  // namespace together
