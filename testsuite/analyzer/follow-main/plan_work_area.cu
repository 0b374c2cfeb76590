// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A cuFFT plan has one work area: executed in two streams, for different signals, it overwrites its own interim results.
// One plan for each stream does not. Plans that are given one and the same work area share it, too.
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
    cufftExecC2C(plans[i], channels[i].signal, channels[i].spectrum, CUFFT_FORWARD);  // FIRES: cross-stream-race
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
    cufftExecC2C(plans[i], channels[i].signal, channels[i].spectrum, CUFFT_INVERSE);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}

int main() {
  std::vector<Channel> channels(2);
  one_plan_for_all(channels);
  one_area_for_all(channels);
}
