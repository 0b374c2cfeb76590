// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runs beside a kernel A that is held? B is a dependent launch behind A, with or without something between the two,
// and C, an event, a copy or another stream comes behind B. Each row is repeated; a count says in how many repeats the
// thing ran, or was over, while A had not ended. dependent_launch.txt has what was seen.
//
//     nvcc -arch=sm_90 -o dependent_launch dependent_launch.cu && ./dependent_launch 100
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <thread>

#define CHECK(x)                                                              \
  do {                                                                        \
    if (const cudaError_t r_ = (x)) {                                         \
      std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(r_));         \
      std::exit(1);                                                           \
    }                                                                         \
  } while (0)

namespace {

struct Flags {
  volatile int go, a_ended, b, c;
};

/// What a kernel notes: 1 if A had not ended, else 2.
__device__ int seen(const Flags* f) { return f->a_ended ? 2 : 1; }

__global__ void hold(Flags* f, bool triggers) {  // A
  if (triggers) cudaTriggerProgrammaticLaunchCompletion();
  const long long begin = clock64();
  while (!f->go && clock64() - begin < 2000000000LL) {}
  if (threadIdx.x == 0 && blockIdx.x == 0) f->a_ended = 1;
}
__global__ void second(Flags* f, bool waits) {  // B
  if (waits) cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
  if (threadIdx.x == 0 && blockIdx.x == 0) f->b = seen(f);
}
__global__ void third(Flags* f, bool waits) {  // C
  if (waits) cudaGridDependencySynchronize();
  if (threadIdx.x == 0 && blockIdx.x == 0) f->c = seen(f);
}

enum class Between { Nothing, Event, TimingEvent, TwoEvents, WaitOfNothing, Fill, HostFunction };
enum class Behind { Nothing, Plain, DependentWaits, DependentSilent, Event, OtherStream, Copy, EventAndDependent };

struct Row {
  const char* text;
  Between between;
  Behind behind;
};

constexpr Row kRows[] = {
    {"nothing between, plain C behind", Between::Nothing, Behind::Plain},
    {"nothing between, dependent C that waits", Between::Nothing, Behind::DependentWaits},
    {"nothing between, dependent C that does not", Between::Nothing, Behind::DependentSilent},
    {"nothing between, event behind", Between::Nothing, Behind::Event},
    {"nothing between, C of another stream behind", Between::Nothing, Behind::OtherStream},
    {"nothing between, copy behind", Between::Nothing, Behind::Copy},
    {"nothing between, event and dependent C that does not wait", Between::Nothing, Behind::EventAndDependent},
    {"event between", Between::Event, Behind::Nothing},
    {"event with timing between", Between::TimingEvent, Behind::Nothing},
    {"two events between", Between::TwoEvents, Behind::Nothing},
    {"wait for an event that is over between", Between::WaitOfNothing, Behind::Nothing},
    {"fill between", Between::Fill, Behind::Nothing},
    {"host function between", Between::HostFunction, Behind::Nothing},
};

struct Lab {
  Flags* flags = nullptr;
  int* device = nullptr;
  int* pinned = nullptr;
  cudaStream_t stream{}, other{};
  cudaEvent_t event{}, timing{}, over{};

  void make() {
    CHECK(cudaMallocHost(&flags, sizeof *flags));
    CHECK(cudaMalloc(&device, 64));
    CHECK(cudaMallocHost(&pinned, 64));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventCreate(&timing));
    CHECK(cudaEventCreateWithFlags(&over, cudaEventDisableTiming));
    CHECK(cudaEventRecord(over, other));
  }

  void launch(bool dependent, void (*kernel)(Flags*, bool), int blocks, bool argument) const {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = 128;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = dependent;
    CHECK(cudaLaunchKernelEx(&config, kernel, flags, argument));
  }

  void put(Between between) const {
    switch (between) {
      case Between::Nothing: return;
      case Between::TwoEvents: CHECK(cudaEventRecord(timing, stream)); [[fallthrough]];
      case Between::Event: CHECK(cudaEventRecord(event, stream)); return;
      case Between::TimingEvent: CHECK(cudaEventRecord(timing, stream)); return;
      case Between::WaitOfNothing: CHECK(cudaStreamWaitEvent(stream, over)); return;
      case Between::Fill: CHECK(cudaMemsetAsync(device + 8, 0, 4, stream)); return;
      case Between::HostFunction: CHECK(cudaLaunchHostFunc(stream, [](void*) {}, nullptr)); return;
    }
  }

  void put(Behind behind) const {
    switch (behind) {
      case Behind::Nothing: return;
      case Behind::Plain: return launch(false, third, 1, false);
      case Behind::DependentWaits: return launch(true, third, 1, true);
      case Behind::EventAndDependent: CHECK(cudaEventRecord(event, stream)); [[fallthrough]];
      case Behind::DependentSilent: return launch(true, third, 1, false);
      case Behind::Event: CHECK(cudaEventRecord(event, stream)); return;
      case Behind::OtherStream:
        CHECK(cudaEventRecord(event, stream));
        CHECK(cudaStreamWaitEvent(other, event));
        third<<<1, 128, 0, other>>>(flags, false);
        return;
      case Behind::Copy: CHECK(cudaMemcpyAsync(pinned, device, 4, cudaMemcpyDefault, stream)); return;
    }
  }

  struct Seen {
    int b = 0, c = 0, event = 0, copy = 0;
  };

  /// One repeat. `blocks`: of A and B.
  void run(const Row& row, bool triggers, bool waits, int blocks, Seen& seen) {
    flags->go = flags->a_ended = flags->b = flags->c = 0;
    *pinned = 0;
    CHECK(cudaMemset(device, 7, 4));
    CHECK(cudaDeviceSynchronize());
    launch(false, hold, blocks, triggers);
    put(row.between);
    launch(true, second, blocks, waits);
    put(row.behind);
    std::this_thread::sleep_for(std::chrono::milliseconds(8));
    seen.event += row.behind == Behind::Event && cudaEventQuery(event) == cudaSuccess;
    seen.copy += *const_cast<volatile int*>(pinned) != 0;
    const int b = flags->b, c = flags->c;
    flags->go = 1;
    CHECK(cudaDeviceSynchronize());
    seen.b += b == 1;
    seen.c += c == 1;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 100;
  Lab lab;
  lab.make();
  Lab::Seen warm;
  for (const Row& row : kRows) lab.run(row, true, false, 1, warm);
  std::printf("of %d repeats each; so often before A ended:\n", repeats);
  for (const int blocks : {1, 64}) {
    for (const bool triggers : {false, true}) {
      for (const bool waits : {false, true}) {
        for (const Row& row : kRows) {
          Lab::Seen seen;
          for (int repeat = 0; repeat < repeats; ++repeat) lab.run(row, triggers, waits, blocks, seen);
          std::printf("%2d blocks, A %s, B %s, %-57s: B %d, C %d, event %d, copy %d\n", blocks,
                      triggers ? "triggers     " : "never triggers", waits ? "waits    " : "never waits", row.text, seen.b,
                      seen.c, seen.event, seen.copy);
        }
      }
    }
  }
}
