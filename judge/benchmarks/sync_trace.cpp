// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the trace of a long program that synchronises in many places, to time `streamsan check --syncs` on.
//
// Sixteen streams work on four hundred buffers, each stream on its own; now and then one is handed to another stream by
// an event. After every twenty operations the program waits at the next of its call sites: at most of them for one
// stream; at every fourth for the device, and then a kernel in one stream reads what another one wrote; at every tenth
// behind a copy to pinned memory.
//
// usage: streamsan_sync_trace FILE [OPERATIONS [SITES]]
// prints {"operations": ..., "sites": ...}
#include <cstdio>
#include <cstdlib>
#include <string>

#include "judge/testing/trace_builder.h"

namespace {

using namespace streamsan;

constexpr std::uint64_t kStreams = 16;
constexpr std::uint64_t kBuffersOfStream = 25;
constexpr std::uint64_t kBufferBytes = 1 << 16;
constexpr std::uint64_t kBetweenWaits = 20;
constexpr std::uint64_t kPinned = 0x7e00'0000'0000;

class Program {
 public:
  Program() {
    trace.module("/program", 0, 0x200000, 0x700000);
    for (std::uint64_t kernel = 1; kernel <= 30; ++kernel) {
      trace.function(kernel, "_Z6kernelPKfS0_Pf" + std::to_string(kernel));
    }
    for (std::uint64_t i = 0; i < kStreams; ++i) {
      trace.stream_create(stream(i), trace::NonBlocking::Yes);
      trace.event_create(event(i));
      for (std::uint64_t j = 0; j < kBuffersOfStream; ++j) trace.alloc(buffer(i, j), kBufferBytes);
    }
    trace.alloc(kPinned, kBufferBytes, ordering::MemoryKind::Pinned);
  }

  static std::uint64_t stream(std::uint64_t i) { return 0x1000 + i; }
  static std::uint64_t event(std::uint64_t i) { return 0x2000 + i; }
  static std::uint64_t buffer(std::uint64_t i, std::uint64_t j) {
    return 0x7f00'0000'0000 + (i * kBuffersOfStream + j) * 2 * kBufferBytes;
  }
  std::uint64_t random(std::uint64_t below) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return (state_ >> 33) % below;
  }
  std::uint64_t any_buffer(std::uint64_t i) { return buffer(i, random(kBuffersOfStream)); }
  void kernel(std::uint64_t i, std::uint64_t from) {
    const std::uint64_t input = any_buffer(from), output = any_buffer(i);
    trace.at({0x400000 + random(2000)});
    trace.launch(stream(i), 1 + random(30), {trace::pointer_word(0, input), trace::pointer_word(2, output)}, 65536,
                 input ^ output);
  }
  void hand_over(std::uint64_t from, std::uint64_t to) {
    trace.at({0x300000});
    trace.event_record(stream(from), event(from));
    trace.event_wait(stream(to), event(from));
  }

  trace::TraceBuilder trace;

 private:
  std::uint64_t state_ = 42;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::uint64_t operations = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10'000'000;
  const std::uint64_t sites = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 500;
  Program program;
  std::uint64_t done = 0, waits = 0;
  while (done < operations) {
    for (std::uint64_t i = 0; i < kBetweenWaits - 2; ++i, ++done) {
      const std::uint64_t in = program.random(kStreams);
      program.kernel(in, in);
    }
    const std::uint64_t from = program.random(kStreams), to = program.random(kStreams);
    program.hand_over(from, to);
    done += 2;
    const std::uint64_t site = waits++ % sites;
    if (site % 10 == 9) {
      program.trace.at({0x200000 + site});
      program.trace.copy_async("cuMemcpyDtoHAsync_v2", Program::stream(from), kPinned, program.any_buffer(from), 4096);
      ++done;
    }
    program.trace.at({0x500000 + 16 * site});
    if (site % 4 == 0) {
      program.trace.sync_context();
      program.kernel(to, (from + 1) % kStreams);
      program.trace.at({0x600000});
      program.trace.sync_stream(Program::stream(to));
      ++done;
    } else {
      program.trace.sync_stream(Program::stream(from));
    }
  }
  if (!program.trace.save(argv[1])) {
    std::perror(argv[1]);
    return 1;
  }
  std::printf("{\"operations\": %llu, \"sites\": %llu}\n", static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(sites));
  return 0;
}
