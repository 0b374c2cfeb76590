// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The distribution of steps: enough order that many programs are right, little enough that many are not.
#include "ordering/tests/random_program.h"

#include <cstdlib>
#include <sstream>
#include <utility>

namespace streamsan::ordering::testing {
namespace {

struct Weighted {
  StepKind kind;
  const char* name;
  int weight;
};

constexpr Weighted kSteps[] = {
    {StepKind::CreateStream, "CreateStream", 4},
    {StepKind::DestroyStream, "DestroyStream", 2},
    {StepKind::CreateEvent, "CreateEvent", 2},
    {StepKind::DestroyEvent, "DestroyEvent", 1},
    {StepKind::Allocate, "Allocate", 4},
    {StepKind::AllocateAsync, "AllocateAsync", 3},
    {StepKind::Free, "Free", 3},
    {StepKind::FreeAsync, "FreeAsync", 2},
    {StepKind::Unmap, "Unmap", 1},
    {StepKind::SyncMemory, "SyncMemory", 1},
    {StepKind::Launch, "Launch", 10},
    {StepKind::LaunchKnown, "LaunchKnown", 10},
    {StepKind::LaunchChain, "LaunchChain", 5},
    {StepKind::Copy, "Copy", 12},
    {StepKind::Batch, "Batch", 6},
    {StepKind::Fill, "Fill", 5},
    {StepKind::Action, "Action", 3},
    {StepKind::HostFunction, "HostFunction", 2},
    {StepKind::JoinsAll, "JoinsAll", 1},
    {StepKind::GraphMake, "GraphMake", 5},
    {StepKind::GraphChange, "GraphChange", 2},
    {StepKind::GraphLaunch, "GraphLaunch", 10},
    {StepKind::Record, "Record", 9},
    {StepKind::RecordByLaunch, "RecordByLaunch", 3},
    {StepKind::Wait, "Wait", 12},
    {StepKind::RecordContext, "RecordContext", 2},
    {StepKind::WaitContext, "WaitContext", 2},
    {StepKind::SyncStream, "SyncStream", 4},
    {StepKind::SyncEvent, "SyncEvent", 3},
    {StepKind::SyncContext, "SyncContext", 2},
    {StepKind::QueryStream, "QueryStream", 2},
    {StepKind::QueryEvent, "QueryEvent", 2},
    {StepKind::HostAccess, "HostAccess", 3},
    {StepKind::HostFree, "HostFree", 2},
    {StepKind::BlockAllocate, "BlockAllocate", 11},
    {StepKind::BlockFree, "BlockFree", 10},
    {StepKind::BlockUse, "BlockUse", 2},
    {StepKind::Signal, "Signal", 2},
    {StepKind::Await, "Await", 2},
    {StepKind::ThreadAfter, "ThreadAfter", 10},
};

const char* name_of(StepKind kind) {
  for (const Weighted& each : kSteps) {
    if (each.kind == kind) return each.name;
  }
  return "?";
}

bool infers(StepKind kind) { return kind == StepKind::Launch; }

}  // namespace

Program random_program(std::uint64_t seed) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15ull + 1);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint8_t>(random() % n); };
  Program program;
  program.seed = seed;
  constexpr Options::HostThreads kThreads[] = {Options::HostThreads::Joined, Options::HostThreads::Separate,
                                               Options::HostThreads::Seen, Options::HostThreads::Strict};
  program.host_threads = kThreads[below(4)];
  program.two_contexts = below(4) == 0;
  program.exact_only = below(3) == 0;
  program.one_memory = below(3) == 0;
  program.arrays = !program.one_memory && below(2) == 0;
  const std::uint8_t threads = static_cast<std::uint8_t>(1 + below(3));
  const auto add = [&](StepKind kind) {
    Step step{.kind = kind, .thread = below(threads), .stream = below(256), .object = below(256)};
    for (std::uint8_t& each : step.detail) each = below(256);
    program.steps.push_back(step);
  };

  for (std::uint64_t i = below(4); i > 0; --i) add(StepKind::CreateStream);
  for (std::uint64_t i = 1 + below(2); i > 0; --i) add(StepKind::CreateEvent);
  for (std::uint64_t i = 1 + below(3); i > 0; --i) add(below(3) ? StepKind::Allocate : StepKind::AllocateAsync);

  int total = 0;
  for (const Weighted& each : kSteps) total += each.weight;
  const std::uint64_t length = 8 + below(48);
  while (program.steps.size() < length) {
    int choice = static_cast<int>(random() % static_cast<std::uint64_t>(total));
    const Weighted* picked = kSteps;
    while (choice >= picked->weight) choice -= (picked++)->weight;
    if (program.exact_only && infers(picked->kind)) continue;
    if (picked->kind == StepKind::ThreadAfter && !program.sees_threads()) continue;
    add(picked->kind);
  }
  return program;
}

std::string describe(const Program& program) {
  std::ostringstream text;
  text << "seed " << program.seed << ", host threads " << static_cast<int>(program.host_threads)
       << (program.two_contexts ? ", two contexts" : "") << (program.one_memory ? ", one memory" : "")
       << (program.arrays ? ", arrays" : "") << '\n';
  std::size_t number = 0;
  for (const Step& step : program.steps) {
    text << "  site " << ++number << ": " << name_of(step.kind) << " thread=" << int{step.thread}
         << " stream=" << int{step.stream} << " object=" << int{step.object} << " detail=";
    for (const std::uint8_t each : step.detail) text << int{each} << ' ';
    text << '\n';
  }
  return text.str();
}

Program shrink(Program program, const std::function<bool(const Program&)>& goes_wrong) {
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (std::size_t i = program.steps.size(); i-- > 0;) {
      Program candidate = program;
      candidate.steps.erase(candidate.steps.begin() + static_cast<std::ptrdiff_t>(i));
      if (!goes_wrong(candidate)) continue;
      program = std::move(candidate);
      shorter = true;
    }
  }
  return program;
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace streamsan::ordering::testing
