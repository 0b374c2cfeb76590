// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A cuFFT plan has one work area: executed in two streams, for different signals, it overwrites its own interim
// results. One plan for each stream does not. Plans that are given one and the same work area share it, too.
#include <cuda_runtime.h>
#include <cufft.h>

#include <vector>

constexpr int kSize = 4096;

struct Channel {
  Channel() {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMalloc(&signal, kSize * sizeof(cufftComplex));
    cudaMalloc(&spectrum, kSize * sizeof(cufftComplex));
  }
  cudaStream_t stream = nullptr;
  cufftComplex *signal = nullptr, *spectrum = nullptr;
};

void one_plan_for_all(std::vector<Channel>& channels) {
  std::vector<cufftHandle> plans(channels.size());
#ifdef FIXED
  for (cufftHandle& plan : plans) cufftPlan1d(&plan, kSize, CUFFT_C2C, 1);
#else
  cufftPlan1d(&plans[0], kSize, CUFFT_C2C, 1);
  for (cufftHandle& plan : plans) plan = plans[0];
#endif
  for (size_t i = 0; i < channels.size(); ++i) {
    cufftSetStream(plans[i], channels[i].stream);
    cufftExecC2C(plans[i], channels[i].signal, channels[i].spectrum, CUFFT_FORWARD);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cufftExecC2C on stream 'stream (2)' may write the same memory while cufftExecC2C on stream 'stream (1)' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-2]]:5: note: the same memory is written here, on stream 'stream (1)'
// CHECK-NOTES: :[[@LINE-21]]:5: note: stream 'stream (1)' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-23]]:13: note: in the call to 'Channel' here
// CHECK-NOTES: :[[@LINE+38]]:24: note: in the call to 'Channel' here
// CHECK-NOTES: :[[@LINE-24]]:5: note: stream 'stream (2)' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-7]]:5: note: nothing orders stream 'stream (2)' after stream 'stream (1)': record an event in stream 'stream (1)' after the write and let stream 'stream (2)' wait for it with cudaStreamWaitEvent before cufftExecC2C
// CHECK-NOTES: :[[@LINE-8]]:5: note: main() was followed to here, with zeros for what the GPU computes
// CHECK-NOTES: :[[@LINE+35]]:3: note: in the call to 'one_plan_for_all' here
  }
  cudaDeviceSynchronize();
}

void one_area_for_all(std::vector<Channel>& channels) {
  std::vector<cufftHandle> plans(channels.size());
  std::vector<void*> areas(channels.size());
  for (void*& area : areas) cudaMalloc(&area, kSize * sizeof(cufftComplex));
  for (size_t i = 0; i < plans.size(); ++i) {
    cufftPlan1d(&plans[i], kSize, CUFFT_C2C, 1);
    cufftSetStream(plans[i], channels[i].stream);
#ifdef FIXED
    cufftSetWorkArea(plans[i], areas[i]);
#else
    cufftSetWorkArea(plans[i], areas[0]);
#endif
  }
  for (size_t i = 0; i < channels.size(); ++i)
    cufftExecC2C(plans[i], channels[i].signal, channels[i].spectrum, CUFFT_INVERSE);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cufftExecC2C on stream 'stream (2)' may write 'area' while cufftExecC2C on stream 'stream (1)' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-2]]:5: note: 'area' is written here, on stream 'stream (1)'
// CHECK-NOTES: :[[@LINE-49]]:5: note: stream 'stream (1)' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-51]]:13: note: in the call to 'Channel' here
// CHECK-NOTES: :[[@LINE+10]]:24: note: in the call to 'Channel' here
// CHECK-NOTES: :[[@LINE-52]]:5: note: stream 'stream (2)' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-18]]:29: note: 'area' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:5: note: nothing orders stream 'stream (2)' after stream 'stream (1)': record an event in stream 'stream (1)' after the write and let stream 'stream (2)' wait for it with cudaStreamWaitEvent before cufftExecC2C
// CHECK-NOTES: :[[@LINE-9]]:5: note: main() was followed to here, with zeros for what the GPU computes
// CHECK-NOTES: :[[@LINE+7]]:3: note: in the call to 'one_area_for_all' here
  cudaDeviceSynchronize();
}

int main() {
  std::vector<Channel> channels(2);
  one_plan_for_all(channels);
  one_area_for_all(channels);
}
