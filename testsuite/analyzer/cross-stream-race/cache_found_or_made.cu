// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A cache that is asked with find(), makes what it does not have and keeps it: two lanes that ask for one size share it.
// The size is a product each time it is asked for.
#include <cuda_runtime.h>

#include <map>
#include <unordered_map>
#include <utility>

__global__ void sow(float* field) { field[threadIdx.x] = 1.0f; }
__global__ void reap(const float* field, float* barn) { barn[threadIdx.x] += field[threadIdx.x]; }

class Fields {
 public:
  float* rent(int acres) {
    const auto known = fields_.find(acres);
    if (known != fields_.end()) return known->second;
    float* made = nullptr;
    if (cudaMalloc(&made, acres * sizeof(float)) != cudaSuccess) return nullptr;
    fields_.emplace(acres, made);
    return made;
  }

 private:
  std::unordered_map<int, float*> fields_;
};

class Farm {
 public:
  Farm() {
    cudaStreamCreateWithFlags(&spring_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&autumn_, cudaStreamNonBlocking);
  }

  void year(float* oats, float* rye, int rows, int width) {
    plant(oats, spring_, rows, width);
#ifdef FIXED
    plant(rye, autumn_, rows + 1, width);
#else
    plant(rye, autumn_, rows, width);
#endif
    cudaStreamSynchronize(spring_);
    cudaStreamSynchronize(autumn_);
  }

 private:
  void plant(float* barn, cudaStream_t lane, int rows, int width) {
    float* field = fields_.rent(rows * width);
    sow<<<1, 256, 0, lane>>>(field);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'sow' on stream 'this->autumn_' may write 'this->fields_.fields_[known].second' while kernel 'reap' on stream 'this->spring_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-11]]:5: note: in the call to 'Farm::plant' here
// CHECK-NOTES: :[[@LINE+5]]:5: note: 'this->fields_.fields_[known].second' is read here, on stream 'this->spring_'
// CHECK-NOTES: :[[@LINE-17]]:5: note: in the call to 'Farm::plant' here
// CHECK-NOTES: :[[@LINE-23]]:5: note: stream 'this->spring_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-23]]:5: note: stream 'this->autumn_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-7]]:5: note: nothing orders stream 'this->autumn_' after stream 'this->spring_': record an event in stream 'this->spring_' after the read and let stream 'this->autumn_' wait for it with cudaStreamWaitEvent before kernel 'sow'
    reap<<<1, 256, 0, lane>>>(field, barn);
  }

  Fields fields_;
  cudaStream_t spring_, autumn_;
};

// By size and lane: each has its own.
class FieldsOfLanes {
 public:
  float* rent(int acres, cudaStream_t lane) {
    if (auto known = fields_.find({acres, lane}); known != fields_.end()) return known->second;
    float* made = nullptr;
    cudaMalloc(&made, acres * sizeof(float));
    fields_.emplace(std::make_pair(acres, lane), made);
    return made;
  }

 private:
  std::map<std::pair<int, cudaStream_t>, float*> fields_;
};

void two_lanes(FieldsOfLanes& fields, float* oats, float* rye, int acres) {
  cudaStream_t spring, autumn;
  cudaStreamCreateWithFlags(&spring, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&autumn, cudaStreamNonBlocking);
  float* field = fields.rent(acres, spring);
  sow<<<1, 256, 0, spring>>>(field);
  reap<<<1, 256, 0, spring>>>(field, oats);
  field = fields.rent(acres, autumn);
  sow<<<1, 256, 0, autumn>>>(field);
  reap<<<1, 256, 0, autumn>>>(field, rye);
}

// What was found is given up and made anew: two blocks.
float* renewed(std::map<int, float*>& fields, int acres) {
  auto known = fields.find(acres);
  if (known != fields.end()) {
    cudaFree(known->second);
    fields.erase(known);
  }
  float* made = nullptr;
  cudaMalloc(&made, acres * sizeof(float));
  fields.emplace(acres, made);
  return made;
}

void renew(std::map<int, float*>& fields, float* oats, float* rye, int acres) {
  cudaStream_t spring, autumn;
  cudaStreamCreateWithFlags(&spring, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&autumn, cudaStreamNonBlocking);
  float* field = renewed(fields, acres);
  sow<<<1, 256, 0, spring>>>(field);
  reap<<<1, 256, 0, spring>>>(field, oats);
  cudaStreamSynchronize(spring);
  field = renewed(fields, acres);
  sow<<<1, 256, 0, autumn>>>(field);
  reap<<<1, 256, 0, autumn>>>(field, rye);
}
