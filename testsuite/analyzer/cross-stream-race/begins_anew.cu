// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A buffer is filled part by part and written out when it is full: then the parts begin anew, at 0, where the other
// stream still reads. One part of a buffer against the whole of it says nothing; that the offset was set to 0 since does.
#include <cuda_runtime.h>

__global__ void pack(const float* page, float* archive) { archive[threadIdx.x] += page[threadIdx.x]; }

// In a loop of one function.
void archive_all(const float* const* rows, int count, size_t width, size_t room, float* archive) {
  cudaStream_t in, out;
  cudaEvent_t filled, packed;
  float* page;
  cudaStreamCreateWithFlags(&in, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&filled, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&packed, cudaEventDisableTiming);
  cudaMalloc(&page, room * sizeof(float));
  size_t at = 0;
  for (int i = 0; i < count; ++i) {
    if (at + width > room) {
      cudaEventRecord(filled, in);
      cudaStreamWaitEvent(out, filled, 0);
      pack<<<1, 32, 0, out>>>(page, archive);
#ifdef FIXED
      cudaEventRecord(packed, out);
      cudaStreamWaitEvent(in, packed, 0);
#endif
      at = 0;
    }
    cudaMemcpyAsync(page + at, rows[i], width * sizeof(float), cudaMemcpyDeviceToDevice, in);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (device to device) on stream 'in' may write 'page' while kernel 'pack' on stream 'out' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-9]]:7: note: 'page' is read here, on stream 'out'
// CHECK-NOTES: :[[@LINE-19]]:3: note: stream 'out' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-21]]:3: note: stream 'in' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-18]]:3: note: 'page' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: nothing orders stream 'in' after stream 'out': record an event in stream 'out' after the read and let stream 'in' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to device)
    at += width;
  }
  cudaDeviceSynchronize();
  cudaFree(page);
  cudaEventDestroy(filled);
  cudaEventDestroy(packed);
  cudaStreamDestroy(in);
  cudaStreamDestroy(out);
}

// Silent: where the offset is set to 0, the host has waited before; elsewhere the next part is another one.
void archive_often(const float* const* rows, int count, size_t width, size_t room, float* archive) {
  cudaStream_t in, out;
  cudaEvent_t filled;
  float* page;
  cudaStreamCreateWithFlags(&in, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&filled, cudaEventDisableTiming);
  cudaMalloc(&page, room * sizeof(float));
  size_t at = room;
  for (int i = 0; i < count; ++i) {
    cudaEventRecord(filled, in);
    cudaStreamWaitEvent(out, filled, 0);
    pack<<<1, 32, 0, out>>>(page, archive);
    if (at + width > room) {
      cudaStreamSynchronize(out);
      at = 0;
    }
    cudaMemcpyAsync(page + at, rows[i], width * sizeof(float), cudaMemcpyDeviceToDevice, in);
    at += width;
  }
  cudaDeviceSynchronize();
  cudaFree(page);
  cudaEventDestroy(filled);
  cudaStreamDestroy(in);
  cudaStreamDestroy(out);
}

// Two pages in turn, but which of them is next is set back with the rest.
class Recorder {
 public:
  Recorder(size_t room, float* archive) : room_(room), archive_(archive) {
    cudaStreamCreateWithFlags(&in_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&out_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming);
    for (int i = 0; i < 2; ++i) {
      cudaMalloc(&pages_[i], room * sizeof(float));
      cudaEventCreateWithFlags(&packed_[i], cudaEventDisableTiming);
    }
  }
  Recorder(const Recorder&) = delete;

  void put(const float* row, size_t width) {
    if (at_ + width > room_) turn();
    cudaMemcpyAsync(pages_[side_] + at_, row, width * sizeof(float), cudaMemcpyDeviceToDevice, in_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (device to device) on stream 'this->in_' may write 'this->pages_[0]' while kernel 'pack' on stream 'this->out_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+14]]:5: note: 'this->pages_[0]' is read here, on stream 'this->out_'
// CHECK-NOTES: :[[@LINE-4]]:30: note: in the call to 'Recorder::turn' here
// CHECK-NOTES: :[[@LINE-15]]:5: note: stream 'this->out_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-17]]:5: note: stream 'this->in_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:7: note: 'this->pages_[0]' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:5: note: nothing orders stream 'this->in_' after stream 'this->out_': record an event in stream 'this->out_' after the read and let stream 'this->in_' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to device)
// CHECK-NOTES: :[[@LINE-10]]:8: note: in 'Recorder::put' of a new object
    at_ += width;
  }

 private:
  void turn() {
    cudaEventRecord(filled_, in_);
    cudaStreamWaitEvent(out_, filled_, 0);
    pack<<<1, 32, 0, out_>>>(pages_[side_], archive_);
    cudaEventRecord(packed_[side_], out_);
    side_ = 1 - side_;
    cudaStreamWaitEvent(in_, packed_[side_], 0);
    at_ = 0;
#ifndef FIXED
    side_ = 0;
#endif
  }

  size_t room_, at_ = 0;
  int side_ = 0;
  float* archive_;
  float* pages_[2] = {nullptr, nullptr};
  cudaEvent_t packed_[2] = {nullptr, nullptr}, filled_ = nullptr;
  cudaStream_t in_ = nullptr, out_ = nullptr;
};
