// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record,cross-stream-race,host-write-before-done %s
// RUN: %check event-wait-without-record,cross-stream-race,host-write-before-done %s -- -DFIXED
//
// No main(): a list is given as many elements as the function asks for by the rest of a division, and where a number says
// how many devices there are, there are two.
#include <cuda_runtime.h>

#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

__global__ void scale(const float* factors, float* rows) { rows[threadIdx.x] *= factors[threadIdx.x]; }

void scale_all(float* rows, const std::vector<float>& factors) {
  if (factors.size() % 3 != 0) throw std::invalid_argument("three factors for each row");
  cudaStream_t upload, work;
  cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
  float *staged, *copy;
  cudaMallocHost(&staged, factors.size() * sizeof(float));
  cudaMalloc(&copy, factors.size() * sizeof(float));
  for (size_t i = 0; i < factors.size(); ++i) staged[i] = factors[i];
  cudaMemcpyAsync(copy, staged, factors.size() * sizeof(float), cudaMemcpyHostToDevice, upload);
#ifdef FIXED
  cudaEvent_t copied;
  cudaEventCreateWithFlags(&copied, cudaEventDisableTiming);
  cudaEventRecord(copied, upload);
  cudaStreamWaitEvent(work, copied, 0);
#endif
  scale<<<1, 64, 0, work>>>(copy, rows);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'scale' on stream 'work' may read 'copy' while cudaMemcpyAsync (host to device) on stream 'upload' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'copy' is written here, on stream 'upload'
// CHECK-NOTES: :[[@LINE-16]]:3: note: stream 'upload' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-16]]:3: note: stream 'work' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:3: note: 'copy' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'work' after stream 'upload': record an event in stream 'upload' after the write and let stream 'work' wait for it with cudaStreamWaitEvent before kernel 'scale'
  cudaStreamSynchronize(work);
  cudaStreamSynchronize(upload);
}

/// Blocks go from device to device; the event of each is made where it is used first.
class Slabs {
 public:
  struct Slab {
    char* data = nullptr;
    cudaEvent_t used = nullptr;
    int device = -1;
  };
  explicit Slabs(int count) : slabs_(count) {
    for (Slab& slab : slabs_) {
      cudaHostAlloc(reinterpret_cast<void**>(&slab.data), 4096, cudaHostAllocPortable);
      free_.push_back(&slab);
    }
  }
  Slab& take() {
    Slab& slab = *free_.front();
    free_.pop_front();
    if (slab.used != nullptr) cudaEventSynchronize(slab.used);
    return slab;
  }
  void give_back(Slab& slab, int device, cudaStream_t stream) {
#ifdef FIXED
    if (slab.device != device) slab.used = nullptr;
#endif
    if (slab.used == nullptr) cudaEventCreateWithFlags(&slab.used, cudaEventDisableTiming);
    slab.device = device;
    cudaEventRecord(slab.used, stream);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the record of event 'slab.used' in stream 'streams[device]' fails: the event is created on device 0, the stream on device 1; who waits for the event then waits for nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-4]]:31: note: event 'slab.used' is declared here
// CHECK-NOTES: :[[@LINE-3]]:5: note: create an event for each device, and record that of the stream's device
// CHECK-NOTES: :[[@LINE+17]]:5: note: the stream is created here
// CHECK-NOTES: :[[@LINE-5]]:5: note: a call with arguments that were made up (--dump-ir shows them) was followed to here, with zeros for what the GPU computes
// CHECK-NOTES: :[[@LINE+34]]:11: note: in the call to 'give_back' here
    free_.push_back(&slab);
  }

 private:
  std::vector<Slab> slabs_;
  std::deque<Slab*> free_;
};

void upload_all(const std::vector<std::string>& texts, int devices) {
  Slabs slabs(2 * devices + 1);
  std::vector<cudaStream_t> streams(devices);
  std::vector<char*> memory(devices);
  for (int device = 0; device < devices; ++device) {
    cudaSetDevice(device);
    cudaStreamCreateWithFlags(&streams[device], cudaStreamNonBlocking);
    cudaMalloc(&memory[device], 4096);
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    const int device = static_cast<int>(i % devices);
    cudaSetDevice(device);
    Slabs::Slab& slab = slabs.take();
    std::memcpy(slab.data, texts[i].data(), texts[i].size());
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'slab.data' while cudaMemcpyAsync on stream 'streams[device]' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+9]]:5: note: 'slab.data' is read here, on stream 'streams[device]'
// CHECK-NOTES: :[[@LINE-31]]:5: note: event 'slab.used' is recorded here, before the read: waiting for it does not cover the read
// CHECK-NOTES: :[[@LINE+8]]:11: note: in the call to 'give_back' here
// CHECK-NOTES: :[[@LINE-12]]:5: note: stream 'streams[device]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-50]]:7: note: 'slab.data' is allocated here
// CHECK-NOTES: :[[@LINE-53]]:45: note: in the call to 'Slabs' here
// CHECK-NOTES: :[[@LINE-20]]:9: note: in the call to 'Slabs' here
// CHECK-NOTES: :[[@LINE-9]]:5: note: wait for stream 'streams[device]' with cudaStreamSynchronize before the write
// CHECK-NOTES: :[[@LINE-10]]:5: note: a call with arguments that were made up (--dump-ir shows them) was followed to here, with zeros for what the GPU computes
    cudaMemcpyAsync(memory[device], slab.data, 4096, cudaMemcpyHostToDevice, streams[device]);
    slabs.give_back(slab, device, streams[device]);
  }
  for (int device = 0; device < devices; ++device) {
    cudaSetDevice(device);
    cudaStreamSynchronize(streams[device]);
  }
}

/// A number that says which one stays what it is, whatever its rest says; and what is refused is not given.
class Layers {
 public:
  Layers() : rows_(3) {
    for (cudaStream_t& each : streams_) cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking);
    for (float*& each : rows_) cudaMalloc(&each, 4096);
    cudaMallocHost(&staged_, 4096);
  }
  ~Layers() { cudaDeviceSynchronize(); }
  void run(int layer, const std::vector<int>& pairs) {
    if (layer % 3 == 2) ++groups_;
    if (pairs.size() % 2 == 1) throw std::invalid_argument("pairs");
    cudaDeviceSynchronize();
    cudaMemcpyAsync(rows_.at(layer), staged_, 4096, cudaMemcpyHostToDevice, next());
#ifdef FIXED
    cudaDeviceSynchronize();
#endif
    scale<<<1, 64, 0, next()>>>(rows_.at(layer), rows_.at(layer));
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'scale' on stream 'this->streams_[1]' may read 'this->rows_[layer]' while cudaMemcpyAsync (host to device) on stream 'this->streams_[0]' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:5: note: 'this->rows_[layer]' is written here, on stream 'this->streams_[0]'
// CHECK-NOTES: :[[@LINE-16]]:41: note: stream 'this->streams_[0]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-17]]:41: note: stream 'this->streams_[1]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-17]]:32: note: 'this->rows_[layer]' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: nothing orders stream 'this->streams_[1]' after stream 'this->streams_[0]': record an event in stream 'this->streams_[0]' after the write and let stream 'this->streams_[1]' wait for it with cudaStreamWaitEvent before kernel 'scale'
// CHECK-NOTES: :[[@LINE-15]]:8: note: in 'Layers::run' of a new object
  }

 private:
  cudaStream_t next() { return streams_[turn_++ % 2]; }
  std::vector<float*> rows_;
  float* staged_ = nullptr;
  cudaStream_t streams_[2];
  int groups_ = 0, turn_ = 0;
};
