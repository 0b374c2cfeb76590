// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two objects that keep a reference to a third one: its parts are the same by both names, also where a loop goes through
// them.
#include <cuda_runtime.h>

#include <vector>

__global__ void step(float* field) { field[threadIdx.x] += 1.0f; }

struct Fields {
  explicit Fields(int n) : parts(n) {
    for (float*& part : parts) cudaMalloc(&part, 1024);
  }
  std::vector<float*> parts;
};

class Saver {
 public:
  explicit Saver(Fields& fields) : fields_(fields), copies_(fields.parts.size()) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&stepped_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&saved_, cudaEventDisableTiming);
    for (float*& copy : copies_) cudaMalloc(&copy, 1024);
  }
  void save(cudaStream_t solver) {
    cudaEventRecord(stepped_, solver);
    cudaStreamWaitEvent(stream_, stepped_, 0);
    for (size_t i = 0; i < fields_.parts.size(); ++i)
      cudaMemcpyAsync(copies_[i], fields_.parts[i], 1024, cudaMemcpyDeviceToDevice, stream_);
    cudaEventRecord(saved_, stream_);
  }
  void wait(cudaStream_t solver) { cudaStreamWaitEvent(solver, saved_, 0); }

 private:
  Fields& fields_;
  std::vector<float*> copies_;
  cudaStream_t stream_;
  cudaEvent_t stepped_, saved_;
};

class Solver {
 public:
  Solver(Fields& fields, Saver& saver) : fields_(fields), saver_(saver) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
  }
  void advance() {
    for (float* part : fields_.parts)
      step<<<1, 256, 0, stream_>>>(part);  // FIRES: cross-stream-race
    saver_.save(stream_);
#ifdef FIXED
    saver_.wait(stream_);
#endif
  }

 private:
  Fields& fields_;
  Saver& saver_;
  cudaStream_t stream_;
};

void simulate() {
  Fields fields(3);
  Saver saver(fields);
  Solver solver(fields, saver);
  for (int i = 0; i < 10; ++i) solver.advance();
  cudaDeviceSynchronize();
}
