// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
// OPTIONS: streamsan.Levels: definite;likely
//
// Pinned memory is filled element by element and uploaded when it is full: then the counter begins anew, and the next
// element goes where the copy still reads.
#include <cuda_runtime.h>

struct Sample {
  float value, weight;
};

class Uploader {
 public:
  explicit Uploader(int room) : room_(room) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming);
    cudaMallocHost(&staged_, room * sizeof(Sample));
    cudaMalloc(&device_, room * sizeof(Sample));
  }
  Uploader(const Uploader&) = delete;

  void add(float value, float weight) {
    if (used_ == room_) send();
    staged_[used_] = Sample{value, weight};
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'this->staged_' while cudaMemcpyAsync (host to device) on stream 'this->stream_' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+10]]:5: note: 'this->staged_' is read here, on stream 'this->stream_'
// CHECK-NOTES: :[[@LINE-4]]:25: note: in the call to 'Uploader::send' here
// CHECK-NOTES: :[[@LINE-13]]:5: note: stream 'this->stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:5: note: 'this->staged_' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: wait for stream 'this->stream_' with cudaStreamSynchronize before the write
    used_++;
  }

 private:
  void send() {
    cudaMemcpyAsync(device_, staged_, used_ * sizeof(Sample), cudaMemcpyHostToDevice, stream_);
    cudaEventRecord(sent_, stream_);
#ifdef FIXED
    cudaEventSynchronize(sent_);
#endif
    used_ = 0;
  }

  int room_, used_ = 0;
  Sample *staged_ = nullptr, *device_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t sent_ = nullptr;
};

// The wait stands in front of the first element of a batch.
class Patient {
 public:
  explicit Patient(int room) : room_(room) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming);
    cudaMallocHost(&staged_, room * sizeof(float));
    cudaMalloc(&device_, room * sizeof(float));
  }
  Patient(const Patient&) = delete;

  void add(float value) {
    if (used_ == 0) cudaEventSynchronize(sent_);
    staged_[used_++] = value;
    if (used_ < room_) return;
    cudaMemcpyAsync(device_, staged_, used_ * sizeof(float), cudaMemcpyHostToDevice, stream_);
    cudaEventRecord(sent_, stream_);
    used_ = 0;
  }

 private:
  int room_, used_ = 0;
  float *staged_ = nullptr, *device_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t sent_ = nullptr;
};

// Each element is sent by itself, and the next one stands behind it.
class Appender {
 public:
  explicit Appender(int room) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMallocHost(&staged_, room * sizeof(float));
    cudaMalloc(&device_, room * sizeof(float));
  }
  Appender(const Appender&) = delete;

  void add(float value) {
    staged_[used_] = value;
    cudaMemcpyAsync(device_ + used_, staged_ + used_, sizeof(float), cudaMemcpyHostToDevice, stream_);
    ++used_;
  }
  void end() {
    cudaStreamSynchronize(stream_);
    used_ = 0;
  }

 private:
  int used_ = 0;
  float *staged_ = nullptr, *device_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

// Two halves in turn: the counter begins anew in the other one, which has been waited for.
class Halves {
 public:
  explicit Halves(int room) : room_(room) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    for (cudaEvent_t& sent : sent_) cudaEventCreateWithFlags(&sent, cudaEventDisableTiming);
    cudaMallocHost(&staged_, 2 * room * sizeof(float));
    cudaMalloc(&device_, room * sizeof(float));
  }
  Halves(const Halves&) = delete;

  void add(float value) {
    staged_[half_ * room_ + used_] = value;
    if (++used_ < room_) return;
    cudaMemcpyAsync(device_, staged_ + half_ * room_, room_ * sizeof(float), cudaMemcpyHostToDevice, stream_);
    cudaEventRecord(sent_[half_], stream_);
    half_ = 1 - half_;
    cudaEventSynchronize(sent_[half_]);
    used_ = 0;
  }

 private:
  int room_, half_ = 0, used_ = 0;
  float *staged_ = nullptr, *device_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t sent_[2] = {nullptr, nullptr};
};

// It does not begin anew: what was read before the counter was set back is what it was.
void behind(const float* values, int n, float* staged, float* device, cudaStream_t stream) {
  int used = 0;
  for (int i = 0; i < n; ++i) {
    const int at = used + n;
    if (used > 3) {
      cudaMemcpyAsync(device, staged, used * sizeof(float), cudaMemcpyHostToDevice, stream);
      used = 0;
    }
    staged[at] = values[i];
    ++used;
  }
  cudaStreamSynchronize(stream);
}
