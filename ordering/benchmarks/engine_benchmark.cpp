// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations per second of the ordering model on one core, and its memory, on ten million operations of four programs:
//   training   kernels of one stream on one 20 MiB pool, 1,000 pointers into it, thirty kernels: what a framework
//              with a caching allocator looks like from the driver;
//   handover   two streams that work on one pool in turn, ordered by an event each time;
//   measured   as handover, but the bytes of the kernels are known: three pieces each, now and then one of four rows;
//   pipeline   sixteen streams, a thousand allocations: an asynchronous copy in, an event, a kernel with three
//              pointers in another stream, an event, a copy out, stream-ordered scratch memory, now and then work in
//              the legacy stream and a synchronisation.
// All four are ordered, so a hazard means the benchmark or the model is wrong, and it exits 1.
//
// Prints one JSON object; "phases" has the same figure for each program, "forgotten" must be 0.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "ordering/model.h"

namespace {

using namespace streamsan::ordering;

class Count : public HazardSink {
 public:
  void hazard(const Hazard&) override { ++count; }
  std::uint64_t count = 0;
};

constexpr ContextId kContext{1};
constexpr ThreadId kThread{1};
constexpr Bytes kPool = Bytes{20} << 20;

class Driver {
 public:
  explicit Driver(Model& model) : model_(model) {}

  Call call() { return {kThread, SiteId{++site_ % 4096}}; }
  std::uint32_t random(std::uint32_t below) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::uint32_t>((state_ >> 33) % below);
  }
  void launch(StreamId stream, std::uint32_t kernel, Address read1, Address read2, Address write) {
    const PointerArgument pointers[] = {
        {read1, AccessMode::Read}, {read2, AccessMode::Read}, {write, AccessMode::Unknown}};
    const LaunchShape shape{.function = FunctionId{kernel}, .threads = 65536, .arguments_hash = read1 ^ write};
    model_.launch(call(), stream, shape, pointers);
  }

 private:
  Model& model_;
  std::uint32_t site_ = 0;
  std::uint64_t state_ = 42;
};

void training(Model& model, std::uint64_t operations) {
  Driver driver(model);
  const StreamId stream = model.create_stream(kContext, StreamKind::NonBlocking);
  const Address pool = 0x7f00'0000'0000;
  model.allocate(driver.call(), {pool, pool + kPool}, MemoryKind::Device);
  const auto tensor = [&] { return pool + Address{driver.random(1000)} * 20480; };
  for (std::uint64_t i = 0; i < operations; ++i) driver.launch(stream, driver.random(30), tensor(), tensor(), tensor());
  model.sync_context(driver.call(), kContext);
  model.returned(kThread, true);
  model.free(driver.call(), kContext, pool);
  model.returned(kThread, true);
}

void handover(Model& model, std::uint64_t operations) {
  Driver driver(model);
  const StreamId streams[] = {model.create_stream(kContext, StreamKind::NonBlocking),
                              model.create_stream(kContext, StreamKind::NonBlocking)};
  const EventId events[] = {model.create_event(), model.create_event()};
  const Address pool = 0x7f00'1000'0000;
  model.allocate(driver.call(), {pool, pool + kPool}, MemoryKind::Device);
  const auto tensor = [&] { return pool + Address{driver.random(1000)} * 20480; };
  for (std::uint64_t i = 0; i < operations / 3; ++i) {
    const StreamId stream = streams[i % 2];
    model.wait_event(driver.call(), stream, events[(i + 1) % 2]);
    driver.launch(stream, driver.random(30), tensor(), tensor(), tensor());
    model.record_event(driver.call(), stream, events[i % 2]);
  }
}

void measured(Model& model, std::uint64_t operations) {
  Driver driver(model);
  const StreamId streams[] = {model.create_stream(kContext, StreamKind::NonBlocking),
                              model.create_stream(kContext, StreamKind::NonBlocking)};
  const EventId events[] = {model.create_event(), model.create_event()};
  const Address pool = 0x7f00'2000'0000;
  model.allocate(driver.call(), {pool, pool + kPool}, MemoryKind::Device);
  const auto tensor = [&] { return pool + Address{driver.random(1000)} * 20480; };
  for (std::uint64_t i = 0; i < operations / 3; ++i) {
    const StreamId stream = streams[i % 2];
    model.wait_event(driver.call(), stream, events[(i + 1) % 2]);
    const Address table = pool + Address{driver.random(16)} * 20480;
    const KernelBytes columns{{.base = table, .width = 1024, .pitch = 5120, .rows = 4}, AccessMode::Read};
    const KernelBytes bytes[] = {
        {{.base = tensor(), .width = 20480}, AccessMode::Read},
        i % 16 == 0 ? columns : KernelBytes{{.base = tensor(), .width = 20480}, AccessMode::Read},
        {{.base = tensor(), .width = 20480}, AccessMode::Write}};
    const LaunchShape shape{.function = FunctionId{driver.random(30)}, .threads = 65536, .learned = i % 8 != 0};
    model.launch(driver.call(), stream, shape, {}, bytes);
    model.record_event(driver.call(), stream, events[i % 2]);
  }
}

void pipeline(Model& model, std::uint64_t operations) {
  Driver driver(model);
  constexpr std::uint32_t kPairs = 8;
  constexpr std::uint32_t kBuffers = 1000;
  constexpr Bytes kBuffer = 65536;
  std::vector<StreamId> copy_streams;
  std::vector<StreamId> kernel_streams;
  std::vector<EventId> copied;
  std::vector<EventId> computed;
  for (std::uint32_t i = 0; i < kPairs; ++i) {
    const StreamKind kind = i % 2 ? StreamKind::Blocking : StreamKind::NonBlocking;
    copy_streams.push_back(model.create_stream(kContext, kind));
    kernel_streams.push_back(model.create_stream(kContext, kind));
    copied.push_back(model.create_event());
    computed.push_back(model.create_event());
  }
  const StreamId legacy = model.legacy_stream(kContext);
  const Address device = 0x7f01'0000'0000;
  const Address host = 0x7e00'0000'0000;
  for (std::uint32_t i = 0; i < kBuffers; ++i) {
    const bool pinned = i % 4 == 0;
    const Address base = (pinned ? host : device) + Address{i} * kBuffer * 2;
    model.allocate(driver.call(), {base, base + kBuffer}, pinned ? MemoryKind::Pinned : MemoryKind::Device);
  }
  // Buffer i belongs to pair i % kPairs; buffers of one pair are handed from stream to stream by events.
  const auto buffer = [&](std::uint32_t pair, bool pinned) {
    std::uint32_t i = driver.random(kBuffers / (kPairs * 4)) * kPairs * 4 + (pinned ? 0 : 1 + driver.random(3));
    i += pair * 4;
    i %= kBuffers / (kPairs * 4) * kPairs * 4;
    return (pinned ? host : device) + Address{i} * kBuffer * 2;
  };
  std::uint64_t scratch = 0;
  for (std::uint64_t done = 0; done < operations;) {
    const std::uint32_t pair = driver.random(kPairs);
    const Footprint in{buffer(pair, true), kBuffer, kBuffer, 1};
    const Footprint first{buffer(pair, false), kBuffer, kBuffer, 1};
    model.wait_event(driver.call(), copy_streams[pair], computed[pair]);
    model.copy(driver.call(), copy_streams[pair], first, in, Form::Asynchronous);
    model.returned(kThread, true);
    model.record_event(driver.call(), copy_streams[pair], copied[pair]);
    model.wait_event(driver.call(), kernel_streams[pair], copied[pair]);
    const Address temporary = 0x7d00'0000'0000 + (scratch++ % 64) * kBuffer;
    model.allocate_async(driver.call(), kernel_streams[pair], {temporary, temporary + kBuffer});
    driver.launch(kernel_streams[pair], driver.random(30), first.base, buffer(pair, false), temporary);
    driver.launch(kernel_streams[pair], driver.random(30), temporary, first.base, buffer(pair, false));
    model.free_async(driver.call(), kernel_streams[pair], temporary);
    model.record_event(driver.call(), kernel_streams[pair], computed[pair]);
    done += 9;
    if (driver.random(50) == 0) {
      model.sync_stream(driver.call(), kernel_streams[pair]);
      model.returned(kThread, true);
    }
    if (driver.random(50) == 0) {
      model.stream_action(driver.call(), legacy);
      ++done;
    }
  }
}

/// ru_maxrss would do, but it starts with what the process that started this one had in memory.
std::uint64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

struct Phase {
  const char* name;
  void (*run)(Model&, std::uint64_t);
  std::uint64_t operations;
};

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t total = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const Phase phases[] = {{"training", training, total * 2 / 10},
                          {"handover", handover, total * 2 / 10},
                          {"measured", measured, total / 10},
                          {"pipeline", pipeline, total / 2}};
  Count sink;
  Model model({Options::HostThreads::Seen}, sink);
  std::string detail;
  double seconds = 0;
  for (const Phase& phase : phases) {
    const std::uint64_t before = model.statistics().operations;
    const auto start = std::chrono::steady_clock::now();
    phase.run(model, phase.operations);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    seconds += took.count();
    const double rate = static_cast<double>(model.statistics().operations - before) / took.count();
    detail +=
        (detail.empty() ? "" : ",") + ("\"" + std::string(phase.name) + "\":") + std::to_string(std::uint64_t(rate));
  }
  const Statistics statistics = model.statistics();
  std::printf(
      "{\"name\":\"engine-ops-per-s\",\"value\":%.0f,\"peak_rss_bytes\":%llu,\"operations\":%llu,\"accesses\":%llu,"
      "\"hazards\":%llu,\"shadow_entries\":%llu,\"forgotten\":%llu,\"phases\":{%s}}\n",
      static_cast<double>(statistics.operations) / seconds, static_cast<unsigned long long>(peak_resident_bytes()),
      static_cast<unsigned long long>(statistics.operations), static_cast<unsigned long long>(statistics.accesses),
      static_cast<unsigned long long>(statistics.hazards), static_cast<unsigned long long>(statistics.shadow_entries),
      static_cast<unsigned long long>(statistics.forgotten), detail.c_str());
  return sink.count == 0 ? 0 : 1;
}
