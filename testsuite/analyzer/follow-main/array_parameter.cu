// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// No main(): parameters that are arrays of a fixed length. Two streams of one array are not the same one, so both lanes
// must not write one state; two buffers of one array do not overlap, so each lane may write its own.
#include <cuda_runtime.h>

#include <array>
#include <deque>

__global__ void encode(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

class Encoder {
 public:
  Encoder() {
    for (cudaStream_t& lane : own_lanes_) cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&encoded_, cudaEventDisableTiming);
    cudaMalloc(&states_.emplace_back(), 4096);
  }
  ~Encoder() {
    cudaDeviceSynchronize();
    for (float* state : states_) cudaFree(state);
    for (cudaStream_t lane : own_lanes_) cudaStreamDestroy(lane);
    cudaEventDestroy(encoded_);
  }
  Encoder(const Encoder&) = delete;

  // A lane takes a state that is free, and gives it back.
  void in_lanes(const cudaStream_t (&lanes)[2], const float* in) {
    for (cudaStream_t lane : lanes) {
      float* state = states_.front();
      states_.pop_front();
#ifdef FIXED
      cudaStreamWaitEvent(lane, encoded_, 0);
#endif
      encode<<<1, 256, 0, lane>>>(in, state);
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: kernel 'encode' on another stream of the caller's may write 'states_.emplace_back()' while kernel 'encode' on a stream of the caller's still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-2]]:7: note: 'states_.emplace_back()' is written here, on a stream of the caller's
// CHECK-NOTES: :[[@LINE+5]]:7: note: event 'encoded_' is recorded here, after the write, but another stream of the caller's does not wait for it
// CHECK-NOTES: :[[@LINE-22]]:5: note: 'states_.emplace_back()' is allocated here
// CHECK-NOTES: :[[@LINE-26]]:13: note: in the call to 'Encoder' here
// CHECK-NOTES: :[[@LINE-6]]:7: note: let another stream of the caller's wait for event 'encoded_' with cudaStreamWaitEvent before kernel 'encode'
// CHECK-NOTES: :[[@LINE-7]]:7: note: an object of 'Encoder' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
      cudaEventRecord(encoded_, lane);
      states_.push_back(state);
    }
    cudaDeviceSynchronize();
  }

  // Lanes of the encoder's own, by turns: each half in one of them, unless both do both.
  void in_halves(const std::array<float*, 2>& halves, const float* in) {
    for (float* half : halves) {
      encode<<<1, 256, 0, next_lane()>>>(in, half);
#ifndef FIXED
      encode<<<1, 256, 0, next_lane()>>>(in, half);
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: kernel 'encode' on stream 'lane (2)' may write 'memory of the caller's' while kernel 'encode' on stream 'lane (1)' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:7: note: 'memory of the caller's' is written here, on stream 'lane (1)'
// CHECK-NOTES: :[[@LINE-42]]:43: note: stream 'lane (1)' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-44]]:13: note: in the call to 'Encoder' here
// CHECK-NOTES: :[[@LINE-44]]:43: note: stream 'lane (2)' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:7: note: nothing orders stream 'lane (2)' after stream 'lane (1)': record an event in stream 'lane (1)' after the write and let stream 'lane (2)' wait for it with cudaStreamWaitEvent before kernel 'encode'
// CHECK-NOTES: :[[@LINE-7]]:7: note: an object of 'Encoder' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
#endif
    }
    cudaDeviceSynchronize();
  }

 private:
  cudaStream_t next_lane() {
    own_lanes_.push_back(own_lanes_.front());
    own_lanes_.pop_front();
    return own_lanes_.back();
  }

  std::deque<cudaStream_t> own_lanes_{2};
  std::deque<float*> states_;
  cudaEvent_t encoded_ = nullptr;
};
