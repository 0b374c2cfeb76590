// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/execute.h"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "testsuite/gpu/random/calls.cuh"
#include "testsuite/gpu/random/graphs.cuh"

namespace streamsan::lab {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

}  // namespace

class Hardware::Impl {
 public:
  Impl(unsigned devices, microseconds settle) : settle_(settle), places_(devices), peeks_(devices), calls_(places_) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, sizeof(Shared), cudaHostAllocMapped | cudaHostAllocPortable), "pinned memory");
    shared_ = static_cast<Shared*>(memory);
    ones_host_ = pinned(1);
    landing_ = pinned(0);
    ones_pageable_.assign(kElements, 1);
    landing_pageable_.assign(kElements, 0);
    for (unsigned device = 0; device < devices; ++device) prepare(device);
    clear();
    for (unsigned thread = 0; thread < 2; ++thread) workers_[thread] = std::thread([this, thread] { serve(thread); });
    watchdog_ = std::thread([this] { watch(); });
    check(cudaSetDevice(0), "device");
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    woken_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    watchdog_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Observation run(const Program& program) {
    Running running;
    running.program = &program;
    Observation seen;
    try {
      prepare(running);
      seen = observe(running);
    } catch (const std::exception& error) {
      running.trouble = error.what();
    }
    seen.trouble = running.trouble;
    if (!running.trouble.empty()) seen.valid = false;
    for (std::size_t i = 0; i < seen.steps.size(); ++i) seen.steps[i].succeeded = running.succeeded[i];
    clean(running);
    return seen;
  }

 private:
  unsigned* pinned(unsigned value) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, kElements * sizeof(unsigned), cudaHostAllocPortable), "pinned memory");
    auto* words = static_cast<unsigned*>(memory);
    for (std::size_t i = 0; i < kElements; ++i) words[i] = value;
    return words;
  }

  void prepare(unsigned device) {
    check(cudaSetDevice(static_cast<int>(device)), "device");
    Places& places = places_[device];
    places = {.shared = shared_,
              .ones_host = ones_host_,
              .landing = landing_,
              .ones_pageable = ones_pageable_.data(),
              .landing_pageable = landing_pageable_.data()};
    make_places(places);
    check(cudaStreamCreateWithFlags(&peeks_[device], cudaStreamNonBlocking), "stream");
  }

  // ---- one program ----------------------------------------------------------------------------------------------------
  void prepare(Running& running) {
    const Program& program = *running.program;
    check(cudaSetDevice(0), "device");
    running.succeeded.resize(program.steps.size());
    running.arguments.resize(kCells);
    for (std::size_t cell = 0; cell < kCells; ++cell) running.arguments[cell] = {shared_, cell, false};
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const Step& step = program.steps[i];
      running.arguments[i].held = step.work.held;
      if (step.work.op == Op::Free && !running.idle) check(cudaMalloc(&running.idle, 4096), "memory");
      if (step.work.op == Op::FreeHost && !running.idle_host) check(cudaHostAlloc(&running.idle_host, 4096, 0), "memory");
      if (step.work.op == Op::FreeArray && !running.idle_array) running.idle_array = new_array();
      if (uses_stream(step.work.op) && (step.stream.index < kFirstFresh)) calls_.stream_of(step);
    }
    GraphMaker maker(program, places_[0], running.arguments.data(), tools_, tools_of_bodies_);
    for (std::size_t g = 0; g < program.graphs.size(); ++g) {
      running.graphs.emplace_back();
      if (is_body(program, g)) continue;
      running.graphs.back() = maker.make(g);
      check(cudaGraphUpload(running.graphs.back().exec, peeks_[0]), "upload");
    }
    for (unsigned event = 0; event < 2 * kEvents; ++event) running.events[event] = nullptr;
    for (const Step& step : program.steps) {
      if (uses_event(step.work.op)) calls_.event_of(running, step.object);
    }
    synchronize();
  }

  /// Looks until nothing changes any more.
  Observation observe(Running& running) {
    const Program& program = *running.program;
    Observation seen;
    seen.steps.resize(program.steps.size());
    running_ = &running;
    finished_ = 0;
    {
      const std::lock_guard lock(mutex_);
      deadline_ = Clock::now() + milliseconds(1000);
      ++turn_;
    }
    woken_.notify_all();
    const Clock::time_point begin = Clock::now();
    Clock::time_point changed = begin;
    std::size_t last = ~std::size_t{0};
    for (;;) {
      const std::size_t now = state(running);
      if (now != last) last = now, changed = Clock::now();
      const bool may_end = shared_->gate.started != 0 || Clock::now() - begin > milliseconds(200);
      if (may_end && Clock::now() - changed > settle_) break;
      std::this_thread::sleep_for(microseconds(20));
    }
    look(running, seen);
    seen.started = shared_->gate.started != 0;
    seen.valid = shared_->gate.timed_out == 0 && shared_->gate.open == 0;
    open();
    const Clock::time_point opened = Clock::now();
    while (running.returned < program.steps.size() && !running.failed) {
      if (Clock::now() - opened > std::chrono::seconds(10)) hangs(program);
      std::this_thread::sleep_for(microseconds(5));
    }
    {
      const std::lock_guard lock(mutex_);
      deadline_ = Clock::time_point::max();
    }
    while (finished_ != 2) std::this_thread::yield();
    running_ = nullptr;
    synchronize();
    return seen;
  }

  [[noreturn]] static void hangs(const Program& program) {
    std::fprintf(stderr, "this program does not end:\n%s", describe(program).c_str());
    std::_Exit(3);
  }

  /// A number that is another one when something has happened.
  std::size_t state(const Running& running) const {
    std::size_t sum = running.returned + 1000 * shared_->gate.started;
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      const volatile unsigned& landing = landing_[cell];
      const volatile unsigned& pageable = landing_pageable_[cell];
      sum += (shared_->marks[cell].begun + shared_->marks[cell].waited + (landing != 0) + (pageable != 0)) * (cell + 7);
    }
    for (const volatile unsigned& written : shared_->written) sum += written;
    return sum;
  }

  void look(const Running& running, Observation& seen) {
    const Program& program = *running.program;
    const std::size_t returned = running.returned;
    peek_at_devices(program, returned);
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      seen.steps[i].returned = i < returned;
      look_at(program.steps[i].work, cell_of_step(i), seen);
      if (program.steps[i].work.op == Op::WriteValue)
        seen.cells[i].begun = shared_->written[program.steps[i].object] != 0;
    }
    for (std::size_t g = 0; g < program.graphs.size(); ++g) {
      for (std::size_t n = 0; n < program.graphs[g].nodes.size(); ++n)
        look_at(program.graphs[g].nodes[n].work, cell_of_node(g, n), seen);
    }
  }

  void look_at(const Work& work, std::size_t cell, Observation& seen) const {
    const volatile unsigned& landing = landing_[cell];
    const volatile unsigned& pageable = landing_pageable_[cell];
    if (work.op == Op::Copy || work.op == Op::Fill) {
      seen.cells[cell].begun = shared_->slots[cell] != 0 || landing != 0 || pageable != 0;
    } else {
      seen.cells[cell].begun = static_cast<std::uint8_t>(shared_->marks[cell].begun);
      seen.cells[cell].waited = static_cast<std::uint8_t>(shared_->marks[cell].waited);
    }
  }

  static bool writes_device(const Work& work) {
    if (work.op == Op::Fill) return !work.pinned;
    return work.op == Op::Copy && is_on_device(sides_of(work.route).to);
  }

  /// Only where it tells anything, and not while a call keeps launches out: it would let the gate time out.
  void peek_at_devices(const Program& program, std::size_t returned) {
    if (returned < program.steps.size() && keeps_launches_out(program.steps[returned])) return;
    bool wanted = false;
    for (const Step& step : program.steps) wanted |= writes_device(step.work);
    for (const Graph& graph : program.graphs) {
      for (const Node& node : graph.nodes) wanted |= writes_device(node.work);
    }
    if (!wanted) return;
    for (unsigned device = 0; device < places_.size(); ++device) {
      check(cudaSetDevice(static_cast<int>(device)), "device");
      peek(places_[device], ++peeked_, peeks_[device]);
      const Clock::time_point begin = Clock::now();
      while (shared_->peeked != peeked_ && Clock::now() - begin < milliseconds(20)) std::this_thread::sleep_for(microseconds(5));
    }
  }

  void open() {
    shared_->gate.open = 1;
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }

  void synchronize() {
    for (unsigned device = 0; device < places_.size(); ++device) {
      check(cudaSetDevice(static_cast<int>(device)), "device");
      check(cudaDeviceSynchronize(), "synchronisation");
    }
    check(cudaSetDevice(0), "device");
  }

  void clean(Running& running) {
    open();
    try {
      synchronize();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "the GPU is lost (%s):\n%s", error.what(), describe(*running.program).c_str());
      std::_Exit(4);
    }
    for (MadeGraph& graph : running.graphs) destroy(graph);
    for (const cudaEvent_t event : running.events) {
      if (event) cudaEventDestroy(event);
    }
    if (running.idle) cudaFree(running.idle);
    if (running.idle_host) cudaFreeHost(running.idle_host);
    if (running.idle_array) cudaFreeArray(running.idle_array);
    for (void* memory : running.allocated) cudaFree(memory);
    for (void* memory : running.allocated_host) cudaFreeHost(memory);
    for (const cudaArray_t array : running.allocated_arrays) cudaFreeArray(array);
    calls_.destroy_fresh_streams();
    cudaGetLastError();
    clear();
  }

  void clear() {
    for (unsigned device = 0; device < places_.size(); ++device) {
      check(cudaSetDevice(static_cast<int>(device)), "device");
      wipe(places_[device]);
      check(cudaDeviceSynchronize(), "synchronisation");
    }
    std::memset(static_cast<void*>(shared_), 0, sizeof(Shared));
    std::memset(landing_, 0, kElements * sizeof(unsigned));
    landing_pageable_.assign(kElements, 0);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    check(cudaSetDevice(0), "device");
  }

  // ---- the two threads ------------------------------------------------------------------------------------------------
  void serve(unsigned thread) {
    std::size_t turn = 0;
    for (unsigned device = 0; device < places_.size(); ++device) {
      cudaSetDevice(static_cast<int>(device));
      cudaStreamSynchronize(cudaStreamPerThread);
    }
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        woken_.wait(lock, [&] { return over_ || turn_ != turn; });
        if (over_) return;
        turn = turn_;
      }
      make_calls(thread, *running_);
      ++finished_;
    }
  }

  void make_calls(unsigned thread, Running& running) {
    const std::vector<Step>& steps = running.program->steps;
    for (;;) {
      const std::size_t next = running.returned;
      if (next >= steps.size() || running.failed) return;
      if (steps[next].thread != thread) {
        std::this_thread::yield();
        continue;
      }
      try {
        calls_.make(running, next);
        running.returned = next + 1;
      } catch (const std::exception& error) {
        running.trouble = describe(steps[next]) + ": " + error.what();
        running.failed = true;
        return;
      }
    }
  }

  void watch() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      woken_.wait_for(lock, milliseconds(50));
      if (Clock::now() < deadline_ || shared_->gate.open != 0) continue;
      shared_->gate.timed_out = 1;
      open();
    }
  }

  microseconds settle_;
  Shared* shared_ = nullptr;
  unsigned* ones_host_ = nullptr;
  unsigned* landing_ = nullptr;
  std::vector<unsigned> ones_pageable_;
  std::vector<unsigned> landing_pageable_;
  std::vector<Places> places_;       ///< by device
  std::vector<cudaStream_t> peeks_;  ///< by device
  unsigned peeked_ = 0;
  CaptureTools tools_, tools_of_bodies_;
  Calls calls_;
  std::thread workers_[2];
  std::thread watchdog_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::size_t turn_ = 0;
  bool over_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::atomic<unsigned> finished_{0};  ///< threads, of this program
  Running* running_ = nullptr;
};

Hardware::Hardware(unsigned devices, std::chrono::microseconds settle) : impl_(std::make_unique<Impl>(devices, settle)) {}
Hardware::~Hardware() = default;
Observation Hardware::run(const Program& program) { return impl_->run(program); }

}  // namespace streamsan::lab
