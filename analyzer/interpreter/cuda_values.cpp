// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words in memory that streams write and wait for (cuStreamWriteValue32, cuStreamWaitValue32).
//
// A wait for a value that a stream has been told to write is a wait for that write, and so for what is in front of it in
// its stream (R-MOP-01, R-MOP-03). Only the last write to the word counts: it counts up, or is set and cleared in turn, and
// a caller who knows better is not accused. Where that is not what is waited for, or somebody else has written there since,
// the wait is for a write that is not known, perhaps for a later one: what comes before what is not known from there on,
// and the run ends.
#include "analyzer/interpreter/cuda.h"

namespace streamsan::analyzer::interpreter {
namespace {

/// By the flags of cuStreamWaitValue.
bool satisfies(Word value, Word wanted, Word flags, bool wide) {
  constexpr Word kKind = 3, kEqual = 1, kAnd = 2;
  switch (flags & kKind) {
    case kEqual:
      return value == wanted;
    case kAnd:
      return (value & wanted) != 0;
    case kKind:
      return (~(value | wanted) & (wide ? ~Word{0} : Word{0xffffffff})) != 0;
    default:  // at least that, cyclically
      return wide ? static_cast<std::int64_t>(value - wanted) >= 0
                  : static_cast<std::int32_t>(static_cast<std::uint32_t>(value - wanted)) >= 0;
  }
}

}  // namespace

bool Cuda::value_operation(Machine& machine, std::string_view name, Word handle, ordering::Call call,
                           const Arguments& arguments) {
  const bool write = name.starts_with("cuStreamWriteValue"), wide = name.find("Value64") != std::string_view::npos;
  if (!write && !name.starts_with("cuStreamWaitValue")) return false;
  const Word address = arguments.word(1), flags = arguments.word32(3);
  const Word value = wide ? arguments.word(2) : arguments.word32(2);
  if (!capturing_.empty()) return false;
  if (write) {
    const ordering::EventId written = model_.create_event();
    enqueue(handle, call, [this, written](ordering::Call here, ordering::StreamId stream) {
      model_.stream_action(here, stream);
      model_.record_event(here, stream, written);
    });
    value_writes_[address] = {.value = value, .written = written};
    return true;
  }
  const auto known = value_writes_.find(address);
  if (known == value_writes_.end() || !satisfies(known->second.value, value, flags, wide)) {
    machine.stop("a wait for a value that no stream is known to write");
    return true;
  }
  enqueue(handle, call, [this, written = known->second.written](ordering::Call here, ordering::StreamId stream) {
    model_.wait_event(here, stream, written);
  });
  return true;
}

}  // namespace streamsan::analyzer::interpreter
