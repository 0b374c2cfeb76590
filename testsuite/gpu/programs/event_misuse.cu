// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events that do not say what the program takes them to say.
//
//   event_misuse never        a wait for an event that nobody ever records (R-EVT-04). No memory is at stake: latent
//   event_misuse re-recorded  the event is recorded again, in a third stream, before the wait: the wait is for that
//                             (R-EVT-03), and the kernel reads what the copy may not have brought
//   event_misuse ignored      the event is of another context, so that recording it fails, and nobody looks: a later
//                             race, which the report explains by the call that failed
#include <cuda.h>

#include <cstring>

#include "kernels.cuh"
#include "stage.h"

namespace {

struct Stage {
  cudaStream_t upload = non_blocking_stream();
  cudaStream_t compute = non_blocking_stream();
  cudaStream_t third = non_blocking_stream();
  float* host = pinned_floats();
  float* data = device_floats();
  float* result = device_floats();

  void consume() {
    scale<<<blocks_for(kCount), 256, 0, compute>>>(data, result, kCount, 2.0f);  // site: kernel
    CHECK(cudaGetLastError());
  }
};

void never(Stage& stage) {
  cudaEvent_t event = new_event();
#ifdef FIXED
  CHECK(cudaEventRecord(event, stage.upload));
#endif
  CHECK(cudaStreamWaitEvent(stage.compute, event, 0));  // site: wait
  stage.consume();
}

void re_recorded(Stage& stage) {
  cudaEvent_t event = new_event();
  CHECK(cudaMemcpyAsync(stage.data, stage.host, kBytes, cudaMemcpyHostToDevice, stage.upload));  // site: copy
  CHECK(cudaEventRecord(event, stage.upload));
#ifndef FIXED
  CHECK(cudaEventRecord(event, stage.third));
#endif
  CHECK(cudaStreamWaitEvent(stage.compute, event, 0));
  stage.consume();
}

[[maybe_unused]] cudaEvent_t event_of_another_context() {
  CUdevice device;
  CUcontext other;
  if (cuDeviceGet(&device, 0) != CUDA_SUCCESS) std::exit(2);
#if CUDA_VERSION >= 13000
  if (cuCtxCreate(&other, nullptr, 0, device) != CUDA_SUCCESS) std::exit(2);
#else
  if (cuCtxCreate(&other, 0, device) != CUDA_SUCCESS) std::exit(2);
#endif
  cudaEvent_t event = new_event();
  if (cuCtxPopCurrent(&other) != CUDA_SUCCESS) std::exit(2);
  return event;
}

void ignored(Stage& stage) {
#ifdef FIXED
  cudaEvent_t event = new_event();
#else
  cudaEvent_t event = event_of_another_context();
#endif
  CHECK(cudaMemcpyAsync(stage.data, stage.host, kBytes, cudaMemcpyHostToDevice, stage.upload));  // site: lost-copy
  (void)cudaEventRecord(event, stage.upload);                                                    // site: record
  (void)cudaGetLastError();
  CHECK(cudaStreamWaitEvent(stage.compute, event, 0));
  stage.consume();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Stage stage;
  if (std::strcmp(argv[1], "never") == 0) never(stage);
  if (std::strcmp(argv[1], "re-recorded") == 0) re_recorded(stage);
  if (std::strcmp(argv[1], "ignored") == 0) ignored(stage);
  CHECK(cudaDeviceSynchronize());
  std::printf("%s: done\n", argv[1]);
  return 0;
}
