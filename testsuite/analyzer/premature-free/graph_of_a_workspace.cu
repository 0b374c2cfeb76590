// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// A method replaces memory that the class's graph was captured with; the next launch uses what was freed.
#include <cuda_runtime.h>

__global__ void filter(const float* in, float* scratch) { scratch[threadIdx.x] = in[threadIdx.x]; }
__global__ void sum(const float* scratch, float* out) { out[threadIdx.x] = scratch[threadIdx.x]; }

class Workspace {
 public:
  explicit Workspace(cudaStream_t stream) : stream_(stream) {}
  void reserve(size_t bytes) {
    if (bytes <= capacity_) return;
    if (p_ != nullptr) cudaFreeAsync(p_, stream_);
    cudaMallocAsync(&p_, bytes, stream_);
    capacity_ = bytes;
  }
  template <typename T>
  T* as() const {
    return static_cast<T*>(p_);
  }
  size_t capacity() const { return capacity_; }

 private:
  cudaStream_t stream_;
  void* p_ = nullptr;
  size_t capacity_ = 0;
};

class Correlator {
 public:
  Correlator(cudaStream_t stream, const float* live, float* out)
      : stream_(stream), workspace_(stream), live_(live), out_(out) {}

  void packet() {
    if (exec_ == nullptr) record();
    cudaGraphLaunch(exec_, stream_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaGraphLaunch on stream 'this->stream_' may use 'this->workspace_.p_' after cudaFreeAsync on stream 'this->workspace_.stream_' has freed it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-25]]:24: note: 'this->workspace_.p_' is freed here on stream 'this->workspace_.stream_'
// CHECK-NOTES: :[[@LINE+11]]:5: note: in the call to 'Workspace::reserve' here
// CHECK-NOTES: :[[@LINE-4]]:5: note: make the graph anew once its memory is freed, or keep the memory while it can be launched
// CHECK-NOTES: :[[@LINE+15]]:5: note: kernel 'filter', which uses it, becomes part of the graph that is launched, and keeps its address
// CHECK-NOTES: :[[@LINE+21]]:5: note: in the call to 'Correlator::enqueue' here
// CHECK-NOTES: :[[@LINE-8]]:27: note: in the call to 'Correlator::record' here
  }

  void rescan(const float* trace, size_t n, float* out) {
#ifdef FIXED
    if (n * sizeof(float) > workspace_.capacity()) drop();
#endif
    workspace_.reserve(n * sizeof(float));
    enqueue(trace, out);
  }

 private:
  void enqueue(const float* in, float* out) {
    filter<<<1, 256, 0, stream_>>>(in, workspace_.as<float>());
    sum<<<1, 256, 0, stream_>>>(workspace_.as<float>(), out);
  }
  void record() {
    workspace_.reserve(1024);
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    enqueue(live_, out_);
    cudaStreamEndCapture(stream_, &graph);
    cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
  }
  void drop() {
    cudaStreamSynchronize(stream_);
    if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
    exec_ = nullptr;
  }

  cudaStream_t stream_;
  Workspace workspace_;
  const float* live_;
  float* out_;
  cudaGraphExec_t exec_ = nullptr;
};

// A flag says that the graph is out of date; and growing is part of what captures.
class Careful {
 public:
  Careful(cudaStream_t stream, float* out) : stream_(stream), out_(out) {}

  void run() {
    if (!current_) capture();
    cudaGraphLaunch(exec_, stream_);
  }
  void grow(size_t bytes) {
    cudaFreeAsync(scratch_, stream_);
    cudaMallocAsync(&scratch_, bytes, stream_);
    current_ = false;
  }

 private:
  void capture() {
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    sum<<<1, 256, 0, stream_>>>(scratch_, out_);
    cudaStreamEndCapture(stream_, &graph);
    cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
    current_ = true;
  }

  cudaStream_t stream_;
  float* scratch_ = nullptr;
  float* out_;
  bool current_ = false;
  cudaGraphExec_t exec_ = nullptr;
};

// The graph remembers what it was made with, and is asked about that.
class Asking {
 public:
  Asking(cudaStream_t stream, float* out) : stream_(stream), out_(out) {}

  void run() {
    if (exec_ == nullptr || captured_ != scratch_) capture();
    cudaGraphLaunch(exec_, stream_);
  }
  void grow(size_t bytes) {
    cudaFreeAsync(scratch_, stream_);
    cudaMallocAsync(&scratch_, bytes, stream_);
  }

 private:
  void capture() {
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    sum<<<1, 256, 0, stream_>>>(scratch_, out_);
    cudaStreamEndCapture(stream_, &graph);
    cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
    captured_ = scratch_;
  }

  cudaStream_t stream_;
  float* scratch_ = nullptr;
  float* captured_ = nullptr;
  float* out_;
  cudaGraphExec_t exec_ = nullptr;
};

// Memory that no captured work uses.
class Beside {
 public:
  Beside(cudaStream_t stream, float* out) : stream_(stream), out_(out) {}

  void run() {
    if (exec_ == nullptr) capture();
    cudaGraphLaunch(exec_, stream_);
  }
  void grow(size_t bytes) {
    cudaFreeAsync(other_, stream_);
    cudaMallocAsync(&other_, bytes, stream_);
  }

 private:
  void capture() {
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    sum<<<1, 256, 0, stream_>>>(scratch_, out_);
    cudaStreamEndCapture(stream_, &graph);
    cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
  }

  cudaStream_t stream_;
  float* scratch_ = nullptr;
  float* other_ = nullptr;
  float* out_;
  cudaGraphExec_t exec_ = nullptr;
};
