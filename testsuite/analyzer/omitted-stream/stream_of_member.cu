// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
//
// The stream of a library's handle counts if the function is given the handle, or its object has a pointer or a
// reference to it. A handle that is a member itself was mostly made by this class, and its stream may wait for the
// default one: RAFT's does, in its test of multi_variable_gaussian.
#include <cuda_runtime.h>

#include <memory>

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

class Referrer {
 public:
  explicit Referrer(const Resources& resources) : resources_(resources) {}
  void run(float* mean, const float* x);

 private:
  const Resources& resources_;
};
void Referrer::run(float* mean, const float* x) {
  cudaStream_t stream = stream_of(resources_);
  cudaMemset(mean, 0, 128);  // FIRES: omitted-stream
  add<<<1, 32, 0, stream>>>(mean, x);
}

class Sharer {
 public:
  void run(float* mean, const float* x);
  void run_by_function(float* mean, const float* x);

 private:
  std::shared_ptr<Resources> resources_;
};
void Sharer::run(float* mean, const float* x) {
  cudaStream_t stream = resources_->stream();
  cudaMemset(mean, 0, 128);  // FIRES: omitted-stream
  add<<<1, 32, 0, stream>>>(mean, x);
}
void Sharer::run_by_function(float* mean, const float* x) {
  cudaStream_t stream = stream_of(*resources_);
  cudaMemset(mean, 0, 128);  // FIRES: omitted-stream
  add<<<1, 32, 0, stream>>>(mean, x);
}

// The stream of one of several objects: a member says only which one is asked for.
struct Name {
  char text[16];
};
class Context {
 public:
  cudaStream_t stream(const Name& name);
};
cudaStream_t stream_of(Context& context, const Name& name);
class Layer {
 public:
  void run(Context& context, float* mean, const float* x);
  void run_by_function(Context& context, float* mean, const float* x);

 private:
  Name name_;
};
void Layer::run(Context& context, float* mean, const float* x) {
  cudaStream_t stream = context.stream(name_);
  cudaMemset(mean, 0, 128);  // FIRES: omitted-stream
  add<<<1, 32, 0, stream>>>(mean, x);
}
void Layer::run_by_function(Context& context, float* mean, const float* x) {
  cudaStream_t stream = stream_of(context, name_);
  cudaMemset(mean, 0, 128);  // FIRES: omitted-stream
  add<<<1, 32, 0, stream>>>(mean, x);
}

class Owner {
 public:
  void set_up(float* mean, const float* x);
  void set_up_by_copy(float* mean, const float* x);
  void run(float* mean, const float* x);

 private:
  Resources resources_;
};
void Owner::set_up(float* mean, const float* x) {
  cudaStream_t stream = stream_of(resources_);
  cudaMemset(mean, 0, 128);
  add<<<1, 32, 0, stream>>>(mean, x);
}
void Owner::set_up_by_copy(float* mean, const float* x) {
  auto of_handle = stream_of(resources_);
  cudaStream_t stream = of_handle;
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
