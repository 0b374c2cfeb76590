// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
//
// The stream of a library's handle counts if the function is given the handle, or points to it. A handle that is a
// member has made its stream itself, which may wait for the default one: RAFT's does, in its test of
// multi_variable_gaussian.
#include <cuda_runtime.h>

__global__ void clear(float* p) { p[threadIdx.x] = 0.0f; }
__global__ void add(float* p, const float* x) { p[threadIdx.x] += x[threadIdx.x]; }

class Resources {
 public:
  Resources();
  cudaStream_t stream() const;

 private:
  void* all_;
};
cudaStream_t stream_of(const Resources& resources);

void given(const Resources& resources, float* mean, const float* x) {
  cudaStream_t stream = stream_of(resources);
  cudaMemset(mean, 0, 128);  // FIRES: omitted-stream
  add<<<1, 32, 0, stream>>>(mean, x);
}

class Borrower {
 public:
  explicit Borrower(Resources* resources) : resources_(resources) {}
  void run(float* mean, const float* x);

 private:
  Resources* resources_;
};
void Borrower::run(float* mean, const float* x) {
  cudaStream_t stream = resources_->stream();
  cudaMemset(mean, 0, 128);  // FIRES: omitted-stream
  add<<<1, 32, 0, stream>>>(mean, x);
}

class Owner {
 public:
  void set_up(float* mean, const float* x);
  void run(float* mean, const float* x);

 private:
  Resources resources_;
};
void Owner::set_up(float* mean, const float* x) {
  cudaStream_t stream = stream_of(resources_);
  cudaMemset(mean, 0, 128);
  add<<<1, 32, 0, stream>>>(mean, x);
}
void Owner::run(float* mean, const float* x) {
  cudaStream_t stream = resources_.stream();
  clear<<<1, 32>>>(mean);
  add<<<1, 32, 0, stream>>>(mean, x);
}

// The same with functions that are known.
namespace raft {
class resources {
 public:
  resources();
};
namespace resource {
cudaStream_t get_cuda_stream(const resources& handle);
}
}  // namespace raft

void given(const raft::resources& handle, float* mean, const float* x) {
  auto stream = raft::resource::get_cuda_stream(handle);
  cudaMemset(mean, 0, 128);  // FIRES: omitted-stream
  add<<<1, 32, 0, stream>>>(mean, x);
}

class Test {
 public:
  void set_up(float* mean, const float* x);

 private:
  raft::resources handle_;
};
void Test::set_up(float* mean, const float* x) {
  auto stream = raft::resource::get_cuda_stream(handle_);
  cudaMemset(mean, 0, 128);
  add<<<1, 32, 0, stream>>>(mean, x);
}
