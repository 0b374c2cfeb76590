// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED -DBY_METHOD
// RUN: %check cross-stream-race %s -- -DFIXED -DBY_QUESTION
// RUN: %check cross-stream-race %s -- -DFIXED -DBY_BASE
// RUN: %check cross-stream-race %s -- -DFIXED -DBY_FRIEND
// RUN: %check cross-stream-race %s -- -DFIXED -DBY_TEMPLATE
// RUN: %check cross-stream-race %s -- -DFIXED -DELSEWHERE
// RUN: %check cross-stream-race %s -- -DFIXED -DBY_CLOSURE
// RUN: %check cross-stream-race %s -- -DFIXED -DBY_PLOTTER
// RUN: %check cross-stream-race %s -- -DFIXED -DWHEN_MADE
// RUN: %check cross-stream-race %s -- -DFIXED -DONCE
//
// No main(): a chart that others fill, and a plotter that draws it. Nobody has anything to wait for the chart with. In each
// of the twins somebody has, or it is filled but once: that the made-up caller does not wait says nothing of the program.
#include <cuda_runtime.h>

#include <functional>
#include <memory>

__global__ void ink(const float* depths, float* paper) { paper[threadIdx.x] += depths[threadIdx.x]; }

constexpr size_t kChart = 4096;

class Layer {
 public:
#ifdef BY_BASE
  void settle() { cudaStreamSynchronize(soundings_); }
#endif

 protected:
  cudaStream_t soundings_ = nullptr;
};

class Chart : public Layer {
 public:
  Chart() {
    cudaStreamCreateWithFlags(&soundings_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming);
    cudaMalloc(&depths_, kChart);
  }
  ~Chart() {
    cudaStreamSynchronize(soundings_);
    cudaFree(depths_);
    cudaStreamDestroy(soundings_);
    cudaEventDestroy(filled_);
  }
  Chart(const Chart&) = delete;

#ifdef BY_CLOSURE
  std::function<void()> fill(const float* pinned) {
    cudaMemcpyAsync(depths_, pinned, kChart, cudaMemcpyHostToDevice, soundings_);
    return [stream = soundings_] { cudaStreamSynchronize(stream); };
  }
#else
  void fill(const float* pinned) {
    cudaMemcpyAsync(depths_, pinned, kChart, cudaMemcpyHostToDevice, soundings_);
#if defined(ONCE) || defined(WHEN_MADE)
    cudaEventRecord(filled_, soundings_);
#endif
  }
#endif
#ifdef BY_METHOD
  void settle() { cudaStreamSynchronize(soundings_); }
#endif
#ifdef BY_QUESTION
  bool is_filled() const { return cudaStreamQuery(soundings_) == cudaSuccess; }
#endif
#ifdef BY_FRIEND
  friend void settle(Chart& chart);
#endif
#ifdef BY_TEMPLATE
  template <typename Stream>
  void settle_in(Stream stream) {
    cudaEventRecord(filled_, soundings_);
    cudaStreamWaitEvent(stream, filled_, 0);
  }
#endif
#ifdef ELSEWHERE
  void settle();
#endif
#ifdef BY_PLOTTER
  static void join(Chart& chart, cudaStream_t stream) {
    cudaEventRecord(chart.filled_, chart.soundings_);
    cudaStreamWaitEvent(stream, chart.filled_, 0);
  }
#endif
#if defined(ONCE) || defined(WHEN_MADE)
  cudaEvent_t filled() { return filled_; }
#endif
  const float* depths() const { return depths_; }

 private:
  cudaEvent_t filled_ = nullptr;
  float* depths_ = nullptr;
};

#ifdef BY_FRIEND
void settle(Chart& chart) { cudaStreamSynchronize(chart.soundings_); }
#endif

class Plotter {
 public:
  explicit Plotter(std::shared_ptr<Chart> chart) : chart_(std::move(chart)) {
    cudaStreamCreateWithFlags(&pen_, cudaStreamNonBlocking);
    cudaMalloc(&paper_, kChart);
#ifdef WHEN_MADE
    cudaStreamWaitEvent(pen_, chart_->filled(), 0);
#endif
  }
  ~Plotter() {
    cudaStreamSynchronize(pen_);
    cudaFree(paper_);
    cudaStreamDestroy(pen_);
  }
  Plotter(const Plotter&) = delete;

#ifdef BY_PLOTTER
  void begin() { Chart::join(*chart_, pen_); }
#endif
  void plot() {
#ifdef ONCE
    if (!joined_) cudaStreamWaitEvent(pen_, chart_->filled(), 0);
    joined_ = true;
#endif
    ink<<<1, 256, 0, pen_>>>(chart_->depths(), paper_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'ink' on stream 'pen_' may read 'depths_' while cudaMemcpyAsync on stream 'soundings_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-71]]:5: note: 'depths_' is written here, on stream 'soundings_'
// CHECK-NOTES: :[[@LINE-91]]:5: note: stream 'soundings_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-93]]:11: note: in the call to 'Chart' here
// CHECK-NOTES: :[[@LINE-26]]:5: note: stream 'pen_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-28]]:77: note: in the call to 'Plotter' here
// CHECK-NOTES: :[[@LINE-93]]:5: note: 'depths_' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:5: note: nothing orders stream 'pen_' after stream 'soundings_': record an event in stream 'soundings_' after the write and let stream 'pen_' wait for it with cudaStreamWaitEvent before kernel 'ink'
// CHECK-NOTES: :[[@LINE-9]]:5: note: an object of 'Plotter' was made, and its public methods were called, each several times, in the order in which they stand, each time after those of the objects that it was given (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
  }

 private:
  std::shared_ptr<Chart> chart_;
  bool joined_ = false;
  cudaStream_t pen_ = nullptr;
  float* paper_ = nullptr;
};
