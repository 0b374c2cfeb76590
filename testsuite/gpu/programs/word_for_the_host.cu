// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel reports what went wrong: whichever thread is first writes a message, and then a status word in pinned memory
// that the host looks at without a wait. Repaired: it waits for the kernel.
//
//   word_for_the_host plain|signal
//
// how the status is stored: as any other word, or by a volatile store, which the host may see while the kernel runs. The
// pointers come in a structure, and what is measured of the two stores is the same: the kernel's code tells.
#include <cstring>

#include "kernels.cuh"
#include "stage.h"

namespace {

struct Report {
  int* status;
  int* taken;
  int* message;
};

template <bool kSignal>
__global__ void look(Report report) {
  if (atomicExch(report.taken, 1) != 0) return;
  *report.message = 7;
  __threadfence_system();
  if (kSignal)
    *static_cast<volatile int*>(report.status) = 1;
  else
    *report.status = 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  cudaStream_t stream = non_blocking_stream();
  Report report{};
  CHECK(cudaMallocHost(&report.status, sizeof(int)));
  CHECK(cudaMallocHost(&report.message, sizeof(int)));
  CHECK(cudaMalloc(&report.taken, sizeof(int)));
  CHECK(cudaMemset(report.taken, 0, sizeof(int)));
  *report.status = *report.message = 0;
  CHECK(cudaDeviceSynchronize());
  auto* kernel = std::strcmp(argv[1], "signal") == 0 ? look<true> : look<false>;
  kernel<<<1, 64, 0, stream>>>(report);  // site: kernel
  CHECK(cudaGetLastError());
#ifdef FIXED
  CHECK(cudaStreamSynchronize(stream));
#endif
  // Once, as a program does between two steps.
  const int status = *static_cast<volatile int*>(report.status);  // site: look
  CHECK(cudaDeviceSynchronize());
  std::printf("%s: %s\n", argv[1], (status == 0 || status == 1) && *report.message == 7 ? "done" : "wrong");
  return 0;
}
