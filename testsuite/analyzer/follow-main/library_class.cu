// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// No main(): an object is made up and its methods are called. A text is translated in pieces through one buffer, and the
// next piece is made while the last one is still on its way to the host.
#include <cuda_runtime.h>

#include <algorithm>

__global__ void translate(const int* words, float* page, int n) {
  if (threadIdx.x < n) page[threadIdx.x] = static_cast<float>(words[threadIdx.x]);
}

class Translator {
 public:
  explicit Translator(int room) : room_(room) {
    cudaStreamCreateWithFlags(&work_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&send_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&made_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming);
    cudaMalloc(&page_, room * sizeof(float));
  }
  ~Translator() {
    cudaStreamSynchronize(work_);
    cudaStreamSynchronize(send_);
    cudaFree(page_);
    cudaEventDestroy(made_);
    cudaEventDestroy(sent_);
    cudaStreamDestroy(work_);
    cudaStreamDestroy(send_);
  }
  Translator(const Translator&) = delete;

  void text(const int* words, int count, float* pinned) {
    for (int first = 0; first < count; first += room_) {
      const int n = std::min(room_, count - first);
      piece(words + first, n);
      send(pinned + first, n);
    }
    cudaEventSynchronize(sent_);
  }

 private:
  void piece(const int* words, int n) {
#ifdef FIXED
    cudaStreamWaitEvent(work_, sent_, 0);
#endif
    translate<<<1, 256, 0, work_>>>(words, page_, n);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'translate' on stream 'work_' may write 'page_' while cudaMemcpyAsync on stream 'send_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-13]]:7: note: in the call to 'piece' here
// CHECK-NOTES: :[[@LINE+13]]:5: note: 'page_' is read here, on stream 'send_'
// CHECK-NOTES: :[[@LINE-14]]:7: note: in the call to 'send' here
// CHECK-NOTES: :[[@LINE+12]]:5: note: event 'sent_' is recorded here, after the read, but stream 'work_' does not wait for it
// CHECK-NOTES: :[[@LINE-36]]:5: note: stream 'send_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-39]]:47: note: in the call to 'Translator' here
// CHECK-NOTES: :[[@LINE-39]]:5: note: stream 'work_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-36]]:5: note: 'page_' is allocated here
// CHECK-NOTES: :[[@LINE-10]]:5: note: let stream 'work_' wait for event 'sent_' with cudaStreamWaitEvent before kernel 'translate'
// CHECK-NOTES: :[[@LINE-11]]:5: note: an object of 'Translator' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
    cudaEventRecord(made_, work_);
  }
  void send(float* pinned, int n) {
    cudaStreamWaitEvent(send_, made_, 0);
    cudaMemcpyAsync(pinned, page_, n * sizeof(float), cudaMemcpyDeviceToHost, send_);
    cudaEventRecord(sent_, send_);
  }

  int room_;
  cudaStream_t work_ = nullptr, send_ = nullptr;
  cudaEvent_t made_ = nullptr, sent_ = nullptr;
  float* page_ = nullptr;
};
