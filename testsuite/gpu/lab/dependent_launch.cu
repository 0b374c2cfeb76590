// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runs behind a kernel A that has triggered and is held? B is a dependent launch right behind A, and C, an event, a
// copy or another stream comes behind B. A 1 says that it ran, or was over, while A had not ended. Twice, each row the
// second time; dependent_launch.txt has what was seen.
//
//     nvcc -arch=sm_90 -o dependent_launch dependent_launch.cu && ./dependent_launch
#include <chrono>
#include <cstdio>
#include <cuda_runtime.h>
#include <thread>
#define CHECK(x) do { cudaError_t r_ = (x); if (r_) { printf("line %d: %s\n", __LINE__, cudaGetErrorString(r_)); return 1; } } while (0)
struct Flags { volatile int go, a_ended, b, c; };
__global__ void hold(Flags* f, bool triggers) {  // A
  if (triggers) cudaTriggerProgrammaticLaunchCompletion();
  long long t = clock64();
  while (!f->go && clock64() - t < 2000000000LL) {}
  f->a_ended = 1;
}
__global__ void b_kernel(Flags* f, bool waits) {
  if (waits) cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
  f->b = f->a_ended ? 2 : 1;  // 1: A had not ended
}
__global__ void c_kernel(Flags* f, bool waits) {
  if (waits) cudaGridDependencySynchronize();
  f->c = f->a_ended ? 2 : 1;
}
static void put(cudaStream_t s, bool pss, void (*k)(Flags*, bool), Flags* f, bool x) {
  cudaLaunchAttribute a{}; a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  a.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t c{}; c.gridDim = 1; c.blockDim = 32; c.stream = s; c.attrs = &a; c.numAttrs = pss;
  cudaLaunchKernelEx(&c, k, f, x);
}
int main() {
  Flags* f; CHECK(cudaMallocHost(&f, sizeof *f)); int* dev; CHECK(cudaMalloc(&dev, 64)); int* pin; CHECK(cudaMallocHost(&pin, 64));
  cudaStream_t s, t; CHECK(cudaStreamCreateWithFlags(&s, 1)); CHECK(cudaStreamCreateWithFlags(&t, 1));
  cudaEvent_t e; CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  const char* names[] = {"plain C", "PSS C waits", "PSS C, no wait", "event record/query", "event + other stream kernel", "memcpy",
                         "event between A and B", "event behind B, then PSS C no wait"};
  for (int warm = 0; warm < 2; ++warm)
  for (int triggers = 0; triggers < 2; ++triggers) for (int waits = 0; waits < 2; ++waits) for (int v = 0; v < 8; ++v) {
    *const_cast<int*>(&f->go) = 0; f->a_ended = f->b = f->c = 0; *pin = 0; CHECK(cudaMemset(dev, 7, 4)); CHECK(cudaDeviceSynchronize());
    put(s, false, hold, f, triggers);
    if (v == 6) CHECK(cudaEventRecord(e, s));
    put(s, true, b_kernel, f, waits);
    if (v == 0) put(s, false, c_kernel, f, false);
    if (v == 1) put(s, true, c_kernel, f, true);
    if (v == 2) put(s, true, c_kernel, f, false);
    if (v == 3) CHECK(cudaEventRecord(e, s));
    if (v == 4) { CHECK(cudaEventRecord(e, s)); CHECK(cudaStreamWaitEvent(t, e)); put(t, false, c_kernel, f, false); }
    if (v == 5) CHECK(cudaMemcpyAsync(pin, dev, 4, cudaMemcpyDefault, s));
    if (v == 7) { CHECK(cudaEventRecord(e, s)); put(s, true, c_kernel, f, false); }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    int fired = v == 3 ? cudaEventQuery(e) == cudaSuccess : 0, copied = *pin != 0, query = cudaStreamQuery(s) == cudaSuccess;
    int b = f->b, c = f->c; f->go = 1; CHECK(cudaDeviceSynchronize());
    if (warm) printf("A %s, B %s, %-36s before A ended: B %d C %d event %d copy %d stream-query %d\n", triggers ? "triggers" : "silent  ",
                     waits ? "waits   " : "no wait ", names[v], b == 1, c == 1, fired, copied, query);
  }
}
