// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small language for tests of the model: programs of a few lines, and what is found in them.
//
// Tests are named after the rules they pin down, in pairs: one in which the rule's absence is a hazard, and a silent
// twin. write() and read() are exact accesses of 256 bytes that no host waits for, so nothing but the rule under test
// orders them. SiteIds count the calls, so a test can tell from a report which call it names.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "ordering/model.h"

namespace streamsan::ordering::testing {

class Recorder : public HazardSink {
 public:
  void hazard(const Hazard& hazard) override { hazards.push_back(hazard); }
  std::vector<Hazard> hazards;
};

class ModelTest : public ::testing::Test {
 protected:
  static constexpr ContextId kContext{7};
  static constexpr ContextId kOtherContext{8};
  static constexpr ThreadId kMain{1};
  static constexpr ThreadId kWorker{2};
  static constexpr Bytes kAccess = 256;
  static constexpr Bytes kMemory = 4096;

  explicit ModelTest(Options options = {}) : model(options, recorder) {}

  Call call(ThreadId thread = kMain) { return {thread, SiteId{++site}}; }

  StreamId non_blocking() { return model.create_stream(kContext, StreamKind::NonBlocking); }
  StreamId blocking() { return model.create_stream(kContext, StreamKind::Blocking); }
  StreamId legacy() { return model.legacy_stream(kContext); }

  Address memory(MemoryKind kind = MemoryKind::Device, std::optional<ContextId> device = std::nullopt) {
    const Range range = fresh_range();
    model.allocate(call(), range, kind, device);
    return range.begin;
  }
  Address async_memory(StreamId stream) {
    const Range range = fresh_range();
    model.allocate_async(call(), stream, range);
    return range.begin;
  }
  /// Addresses that nobody has had.
  Range fresh_range() {
    const Address base = next_address;
    next_address += kMemory * 2;
    return {base, base + kMemory};
  }
  static Footprint bytes(Address base, Bytes width = kAccess) { return {base, width, width, 1}; }
  static Footprint array(Bytes width = kAccess) { return {0, width, width, 1}; }
  static Footprint pageable(Bytes width = kAccess) { return {0x7777'0000'0000, width, width, 1}; }

  OpId write(StreamId stream, Address base) {
    const OpId op = model.fill(call(), stream, bytes(base), Form::Asynchronous);
    model.returned(kMain, true);
    return op;
  }
  OpId read(StreamId stream, Address base) {
    const OpId op = model.copy(call(), stream, array(), bytes(base), Form::Asynchronous);
    model.returned(kMain, true);
    return op;
  }
  OpId copy(StreamId stream, Footprint dst, Footprint src, Form form) {
    const OpId op = model.copy(call(), stream, dst, src, form);
    model.returned(kMain, true);
    return op;
  }
  OpId kernel(StreamId stream, std::uint32_t function, Address pointer, AccessMode mode = AccessMode::Unknown,
              std::uint64_t threads = 1024, std::uint64_t hash = 0) {
    const PointerArgument argument{pointer, mode};
    const LaunchShape shape{.function = FunctionId{function}, .threads = threads, .arguments_hash = hash};
    return model.launch(call(), stream, shape, {&argument, 1});
  }
  void sync_stream(StreamId stream, bool ok = true) {
    model.sync_stream(call(), stream);
    model.returned(kMain, ok);
  }
  void sync_context(bool ok = true) {
    model.sync_context(call(), kContext);
    model.returned(kMain, ok);
  }
  void sync_event(EventId event, bool ok = true) {
    model.sync_event(call(), event);
    model.returned(kMain, ok);
  }
  void free(Address base, bool ok = true) {
    model.free(call(), kContext, base);
    model.returned(kMain, ok);
  }
  /// An event recorded now in `from` and waited for in `to`.
  void edge(StreamId from, StreamId to) {
    const EventId event = model.create_event();
    model.record_event(call(), from, event);
    model.wait_event(call(), to, event);
    model.destroy_event(event);
  }

  /// The hazards since the last call.
  std::vector<Hazard> found() { return std::exchange(recorder.hazards, {}); }
  bool silent() { return found().empty(); }
  /// Exactly one certain hazard of the kind.
  bool one(HazardKind kind, Order order = Order::Unordered) {
    const std::vector<Hazard> hazards = found();
    return hazards.size() == 1 && hazards[0].kind == kind && hazards[0].order == order &&
           hazards[0].certainty == Certainty::Certain && (order == Order::Latent) == hazards[0].leaned_on.has_value();
  }
  bool one_latent(HazardKind kind, Rule rule) {
    const std::vector<Hazard> hazards = found();
    return hazards.size() == 1 && hazards[0].kind == kind && hazards[0].order == Order::Latent &&
           hazards[0].leaned_on == rule;
  }

  Recorder recorder;
  Model model;
  std::uint32_t site = 0;
  Address next_address = 0x10'0000;
};

class SeparateThreads : public ModelTest {
 protected:
  SeparateThreads() : ModelTest({Options::HostThreads::Separate}) {}
};

}  // namespace streamsan::ordering::testing
