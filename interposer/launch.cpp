// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/launch.h"

#include <cstddef>
#include <cstring>

#include "interposer/contention.h"
#include "interposer/footprint_records.h"
#include "interposer/gate.h"
#include "interposer/handle_table.h"
#include "interposer/host/loans.h"
#include "interposer/hot.h"
#include "interposer/process.h"
#include "interposer/promises.h"
#include "interposer/stack.h"
#include "interposer/writer.h"

namespace streamsan::recorder {
namespace {

/// The packed buffer of the `extra` form: {POINTER, buffer, SIZE, &size, END}.
struct PackedBuffer {
  const char* bytes = nullptr;
  std::size_t size = 0;
};

PackedBuffer find_packed(void** extra) {
  // Values of CU_LAUNCH_PARAM_END, _BUFFER_POINTER and _BUFFER_SIZE: part of the driver's ABI.
  constexpr std::uintptr_t kEnd = 0;
  constexpr std::uintptr_t kPointer = 1;
  constexpr std::uintptr_t kSize = 2;
  PackedBuffer found;
  for (; extra && reinterpret_cast<std::uintptr_t>(*extra) != kEnd; extra += 2) {
    auto tag = reinterpret_cast<std::uintptr_t>(extra[0]);
    if (tag == kPointer) found.bytes = static_cast<const char*>(extra[1]);
    if (tag == kSize) found.size = *static_cast<const std::size_t*>(extra[1]);
    if (tag != kPointer && tag != kSize) break;
  }
  return found;
}

}  // namespace

/// Where the bytes of a parameter are; nullptr: not there.
STREAMSAN_HOT_CODE const char* Launch::parameter_bytes(unsigned index) const {
  if (call_.params) return static_cast<const char*>(call_.params[index]);
  const PackedBuffer packed = find_packed(call_.extra);
  const Parameter& parameter = function_->parameters[index];
  const bool inside = packed.bytes && std::size_t{parameter.offset} + parameter.size <= packed.size;
  return inside ? packed.bytes + parameter.offset : nullptr;
}

STREAMSAN_HOT_CODE std::uint64_t Launch::threads() const {
  std::uint64_t threads = 1;
  for (std::uint64_t extent : call_.extents) threads *= extent;
  return threads;
}

STREAMSAN_HOT_CODE void Launch::read() {
  read_ = true;
  if (call_.function > 1) function_ = function_info(call_.function);
  for (std::uint64_t extent : call_.extents) arguments_.extent(extent);
  for (unsigned i = 0; function_ && i < function_->count; ++i) {
    const char* bytes = parameter_bytes(i);
    if (!bytes) break;
    arguments_.parameter(i, bytes, function_->parameters[i].size);
  }
  const ArgumentHashes hashes = arguments_.hashes();
  hash_ = hashes.all;
  std::uint64_t kernel = function_ ? mix_bits(function_->id + 1) ^ mix_bits(call_.shared_bytes) : 0;
  // One CUkernel serves all contexts, and module variables are elsewhere in each.
  if (learning()) {
    const std::uint64_t context = context_of(call_.stream);
    kernel = mix_bits(kernel ^ (context ? context : current_context()));
  }
  // Field by field: a compiler makes the whole on the stack first, eight bytes at a time, and copies sixteen at a time,
  // which waits for the stores.
  subject_.handle = call_.function;
  subject_.function = function_;
  subject_.stream = call_.stream;
  subject_.hashes.key = mix_bits(hashes.all ^ kernel);
  subject_.hashes.shape = mix_bits(hashes.shape ^ kernel);
  subject_.hashes.buffers = mix_bits(hashes.buffers ^ kernel);
  subject_.hashes.family = mix_bits(hashes.extents ^ kernel);
  subject_.arguments = &arguments_;
  subject_.shared_bytes = call_.shared_bytes;
}

STREAMSAN_HOT_CODE void Launch::before(const void* frame) {
  expect_function(call_.function);
  expect_record();
  expect_stack(frame);
  if (!learning()) return expect_description(call_.function);
  read();
  subject_.contends = !any_capture() && launch_contends(call_.stream, arguments_.pointers(), arguments_.count());
  subject_.may_poll = launch_may_poll(arguments_.pointers(), arguments_.count(), threads());
  subject_.promised = is_promised();
  measuring_ = begin_measuring(subject_);
  if (!measuring_) {
    Gate::enter();
    inside_ = true;
  }
}

STREAMSAN_HOT_CODE bool Launch::wants_retry(bool succeeded) {
  if (inside_) Gate::leave();
  inside_ = false;
  if (succeeded) return false;
  if (measuring_) {
    measuring_ = false;
    finish_measuring(subject_, false);
  } else if (!settle_after_failure()) {
    return false;
  }
  Gate::enter();
  inside_ = true;
  return true;
}

/// What a program outside needs to compute the launch's bytes from its code.
void Launch::write_arguments() const {
  const std::size_t bytes = function_->bytes;
  const std::size_t words = trace::kExtentWords + (bytes + 7) / 8;
  static_assert(trace::kExtentWords + kMostArgumentBytes / 8 <= trace::kMaxContinuations * trace::kContinuationWords);
  Slot slot = start_record({.kind = trace::Kind::Arguments, .continuations = continuations_of_words(words)});
  if (!slot) return;
  auto& w = slot.record->as<trace::Kind::Arguments>();
  w.hash = hash_;
  w.function = function_->id;
  w.argument_bytes = bytes;
  auto& extent = *reinterpret_cast<trace::Extent*>(slot.continuation());
  for (unsigned i = 0; i < 3; ++i) {
    extent.grid[i] = static_cast<std::uint32_t>(call_.extents[i]);
    extent.block[i] = static_cast<std::uint32_t>(call_.extents[3 + i]);
  }
  auto* packed = reinterpret_cast<char*>(&extent + 1);
  for (unsigned i = 0; i < function_->count; ++i) {
    const char* from = parameter_bytes(i);
    if (from) std::memcpy(packed + function_->parameters[i].offset, from, function_->parameters[i].size);
  }
  publish(slot);
}

STREAMSAN_HOT_CODE unsigned Launch::continuations(const LaunchKnowledge& known) const {
  return continuations_of_words(arguments_.count() + (known.footprint ? 1 : 0) + (known.promise ? 1 : 0));
}

STREAMSAN_HOT_CODE void Launch::fill(trace::Record& record, const LaunchKnowledge& known) const {
  const unsigned pointers = arguments_.count();
  record.kind = trace::Kind::Launch;
  record.flags = static_cast<std::uint16_t>(
      call_.stream.flags | (call_.programmatic ? trace::kProgrammatic : 0) |
      (known.footprint ? trace::kHasFootprint : 0) | (known.promise ? trace::kHasPromise : 0) |
      (known.measured ? trace::kMeasured : 0) | (known.waits ? trace::kWaits : 0));
  auto& w = record.as<trace::Kind::Launch>();
  w.stream = call_.stream.handle;
  w.context = call_.stream.context;
  w.function = function_ ? function_->id : 0;
  w.threads = threads();
  w.hash = hash_;
  w.pointers = pointers;
  auto* continuation = reinterpret_cast<std::uint64_t*>(&record + 1);
  if (pointers) std::memcpy(continuation, arguments_.pointers(), pointers * sizeof(std::uint64_t));
  auto* ids = continuation + pointers;
  if (known.footprint) *ids++ = known.footprint;
  if (known.promise) *ids = known.promise;
}

std::uint64_t Launch::node_key() const {
  return function_ && function_->layout_known && function_->count > 0 ? promise_key(function_->name, hash_) : 0;
}

void Launch::prepare_node() {
  read();
  if (function_) known_ = known_of(subject_);
  if (any_promised_earlier()) known_.promise = promised_earlier(node_key());
  if (known_.first) write_arguments();
}

void Launch::fill_node(trace::Record& record) const {
  fill(record, known_);
  record.continuations = static_cast<std::uint8_t>(continuations(known_));
  record.in_stream() = {};
}

STREAMSAN_HOT_CODE Slot Launch::after(bool succeeded, const void* frame) {
  if (inside_) Gate::leave();
  LaunchKnowledge known;
  if (!succeeded) return {};
  if (measuring_) known = finish_measuring(subject_, true);
  if (!read_) read();
  if (!measuring_ && function_) known = known_of(subject_);
  if (is_promised()) [[unlikely]]
    known.promise = keep_promise(arguments_, any_capture() ? node_key() : 0);
  if (known.first) write_arguments();
  stack_ = capture_stack(frame);
  Slot slot = start_record(
      {.kind = trace::Kind::Launch, .api = call_.api, .stack = stack_, .continuations = continuations(known)});
  if (!slot) return slot;
  fill(*slot.record, known);
  publish(slot);
  lend_from(arguments_.pointers(), arguments_.count(), call_.stream, slot.position);
  return slot;
}

void Launch::recorded_event(std::uint64_t event, std::uint64_t flags, std::uint16_t when) const {
  Slot slot = start_record({.kind = trace::Kind::EventRecord,
                            .api = call_.api,
                            .flags = static_cast<std::uint16_t>(call_.stream.flags | when),
                            .stack = stack_});
  if (!slot) return;
  auto& w = slot.record->as<trace::Kind::EventRecord>();
  w.stream = call_.stream.handle;
  w.context = call_.stream.context;
  w.event = event;
  w.call_flags = flags;
  publish(slot);
}

}  // namespace streamsan::recorder
