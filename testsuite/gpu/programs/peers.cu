// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two devices of one process. Nothing orders the work of two devices but events, host waits, and copies between them
// in the default stream.
//
//   peers copy     a copy to the other device, in a stream there, of what a kernel here may still be writing (R-CPY-41)
//   peers access   a kernel on the other device reads this device's memory; the kernel that writes it runs here
//                  (R-UM-13: peer access is no order)
//   peers default  each device uses its default stream only, and they know nothing of each other (R-STR-22). Repaired:
//                  the bytes come by cudaMemcpyPeer, which waits for both devices and lets both wait (R-CPY-40)
//   peers reads    a result comes from the other device, and the host waits for this one only (R-SYN-04)
//   peers freed    memory that a kernel of the other device uses is freed: cudaFree here says nothing of work there
#include <cstring>

#include "kernels.cuh"
#include "stage.h"

namespace {

constexpr int kHere = 0;
constexpr int kThere = 1;

/// What a device of the program has.
struct Device {
  explicit Device(int number) : number(number) {
    use();
    stream = non_blocking_stream();
    data = device_floats();
    result = device_floats();
    CHECK(cudaDeviceSynchronize());
  }
  void use() const { CHECK(cudaSetDevice(number)); }

  int number;
  cudaStream_t stream;
  float* data;
  float* result;
};

struct Stage {
  Stage() {
    CHECK(cudaSetDevice(kThere));
    CHECK(cudaDeviceEnablePeerAccess(kHere, 0));
    here.use();
    CHECK(cudaDeviceEnablePeerAccess(kThere, 0));
    write();
    CHECK(cudaDeviceSynchronize());
  }
  void write(cudaStream_t stream = nullptr) const {
    here.use();
    fill<<<blocks_for(kCount), 256, 0, stream>>>(here.data, kCount, 2.0f);  // site: write
    CHECK(cudaGetLastError());
  }
  /// Reads `in` over there.
  void use(const float* in, cudaStream_t stream = nullptr) const {
    there.use();
    scale<<<blocks_for(kCount), 256, 0, stream>>>(in, there.result, kCount, 3.0f);  // site: use
    CHECK(cudaGetLastError());
  }
  void look() const {
    there.use();
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, there.result, kBytes, cudaMemcpyDeviceToHost));
    expect_all(host, kCount, 6.0f);
  }

  Device here{kHere};
  Device there{kThere};
  float* host = pinned_floats();
};

/// What was submitted here so far is before what follows there.
void order_devices(const Stage& stage) {
#ifdef FIXED
  stage.here.use();
  cudaEvent_t event = new_event();
  CHECK(cudaEventRecord(event, stage.here.stream));
  stage.there.use();
  CHECK(cudaStreamWaitEvent(stage.there.stream, event, 0));
#else
  (void)stage;
#endif
}

void copy(const Stage& stage) {
  const auto& [here, there, host] = stage;
  stage.write(here.stream);
  order_devices(stage);
  there.use();
  CHECK(cudaMemcpyPeerAsync(there.data, kThere, here.data, kHere, kBytes, there.stream));  // site: copy
  stage.use(there.data, there.stream);
  stage.look();
}

void access(const Stage& stage) {
  stage.write(stage.here.stream);
  order_devices(stage);
  stage.use(stage.here.data, stage.there.stream);
  stage.look();
}

void by_default(const Stage& stage) {
  stage.write();
#ifdef FIXED
  CHECK(cudaMemcpyPeer(stage.there.data, kThere, stage.here.data, kHere, kBytes));
  stage.use(stage.there.data);
  // The next round waits for the copy, too.
  stage.here.use();
  CHECK(cudaMemsetAsync(stage.here.data, 0, kBytes));
#else
  stage.use(stage.here.data);
#endif
  stage.look();
}

void reads(const Stage& stage) {
  const auto& [here, there, host] = stage;
  stage.use(here.data, there.stream);
  CHECK(cudaMemcpyAsync(host, there.result, kBytes, cudaMemcpyDeviceToHost, there.stream));  // site: result
#ifdef FIXED
  there.use();
#else
  here.use();
#endif
  CHECK(cudaDeviceSynchronize());
  const volatile float* first = host;
  if (*first < 0) std::puts("negative");  // site: read
  expect_all(host, kCount, 6.0f);
}

void freed(const Stage& stage) {
  stage.use(stage.here.data, stage.there.stream);
#ifdef FIXED
  CHECK(cudaDeviceSynchronize());
#endif
  stage.here.use();
  CHECK(cudaFree(stage.here.data));  // site: free
  stage.look();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  constexpr struct {
    const char* name;
    void (*run)(const Stage&);
  } kVariants[] = {{"copy", copy}, {"access", access}, {"default", by_default}, {"reads", reads}, {"freed", freed}};
  for (const auto& variant : kVariants) {
    if (std::strcmp(argv[1], variant.name) != 0) continue;
    const Stage stage;
    variant.run(stage);
    for (const int device : {kHere, kThere}) {
      CHECK(cudaSetDevice(device));
      CHECK(cudaDeviceSynchronize());
    }
    return 0;
  }
  return 2;
}
