// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host's own accesses to memory that the GPU may use. Its queries about devices and streams, which make no order:
// there are two devices with much memory, and no number is 0. And copies in batches, whose lists are in host memory.
#include <cstring>
#include <utility>

#include "analyzer/interpreter/cuda.h"
#include "analyzer/interpreter/values.h"
#include "analyzer/models/model.h"

namespace streamsan::analyzer::interpreter {

Word Cuda::shadowed(Machine& machine, Word variable) {
  const auto [known, fresh] = shadows_.try_emplace(variable);
  if (fresh) {
    constexpr std::size_t kSize = 1U << 16U;
    known->second = machine.memory().device(kSize);
    model_.allocate(now(machine, "a variable"), {known->second, known->second + kSize}, ordering::MemoryKind::Device,
                    context_of(device_));
  }
  return known->second;
}

void Cuda::touch(Machine& machine, Word address, std::size_t size, bool write) {
  if (write) forget_values(address, address + size);
  end_host_function(machine);
  if (host_function_ && host_function_->thread == machine.thread().number) {
    if (write) staged_.written({address, address + size}, std::nullopt);
    host_function_->settled = false;
    host_function_->touches.emplace_back(
        now(machine, host_function_->name),
        ordering::KernelBytes{.bytes = linear(address, size),
                              .mode = write ? ordering::AccessMode::Write : ordering::AccessMode::Read});
    return;
  }
  // A loop touches one element after the other: with one instruction, in one call, without a CUDA call in between.
  const auto& frames = machine.thread().frames;
  const Touch touch{frames.back().at, frames.size(), machine.events(), write};
  if (touch != last_touch_) {
    touch_call_ = now(machine, "");
    last_touch_ = touch;
  }
  if (touched_.begin == touched_.end) {
    touched_ = {address, address + size};
  } else if (address == touched_.end) {
    touched_.end += size;
  } else {
    flush();
    touched_ = {address, address + size};
  }
}

void Cuda::end_host_function(Machine& machine) {
  if (!host_function_) return;
  const bool is_own = host_function_->thread == machine.thread().number;
  const auto& frames = machine.thread().frames;
  const std::size_t depth = host_function_->depth;
  if (is_own ? frames.size() > depth && frames[depth].call == nullptr : host_function_->settled) return;
  host_function_->settled = true;
  const auto touches = std::exchange(host_function_->touches, {});
  const HostFunction function = *host_function_;
  if (is_own) host_function_.reset();
  const ordering::LaunchShape one_thread{.function = number_of(function.name), .threads = 1};
  for (const auto& [call, bytes] : touches) model_.launch(call, function.stream, one_thread, {}, {&bytes, 1});
  model_.host_function(function.call, function.stream);  // last: it may tell the host that all of this is done
}

void Cuda::flush() {
  if (touched_.begin == touched_.end) return;
  const ordering::Range range = std::exchange(touched_, {});
  if (last_touch_.write) staged_.written(range, touch_call_.site);
  model_.host_access(touch_call_, range, last_touch_.write ? ordering::AccessMode::Write : ordering::AccessMode::Read);
}

void Cuda::host_freed(Machine& machine, Word address, std::size_t size) {
  const ordering::Call call = now(machine, "");
  const ordering::Range range{address, address + size};
  staged_.freed({.range = range, .kind = ordering::MemoryKind::Pageable}, call.site);
  model_.host_free(call, range);
}

/// Addresses that are not reserved are refused: a made-up caller has passed an address that does not exist.
void Cuda::map(Machine& machine, ordering::Call call, ordering::Range range) {
  const auto after = reserved_.upper_bound(range.begin);
  if (after == reserved_.begin() || range.end > std::prev(after)->second) {
    if (made_up_) machine.give_up("addresses that are not reserved");
    return;
  }
  blocks_[range.begin] = range.end;
  model_.allocate(call, range, ordering::MemoryKind::Device, context_of(device_));
}

/// A name, and then numbers other than 0.
bool Cuda::device_properties(Machine& machine, const Arguments& arguments) {
  const Word at = arguments.word(0);
  if (!machine.writes(at, 700)) return true;
  auto* const numbers = reinterpret_cast<std::uint32_t*>(at);
  for (std::size_t i = 72; i < 175; ++i) numbers[i] = 64;
  return true;
}

bool Cuda::property(Machine& machine, HostCall what, const Arguments& arguments, Byte* result) {
  const auto out = [&](std::size_t argument, Word value, std::size_t size) {
    return machine.store(arguments.word(argument), value, size);
  };
  const auto block = [&] { return reinterpret_cast<Word>(machine.memory().heap(16)); };
  switch (what) {
    case HostCall::DeviceHandle:
      return out(0, arguments.word32(1), 4);
    case HostCall::Granularity:
      return out(0, Word{2} << 20U, 8);
    case HostCall::ReserveAddresses: {
      const Word at = machine.memory().device(arguments.word(1));
      reserved_[at] = at + arguments.word(1);
      return out(0, at, 8);
    }
    case HostCall::CreateMemory:
      return out(0, block(), 8);
    case HostCall::DeviceMemory:
      return out(0, Word{80} << 30U, 8);
    case HostCall::DeviceCount:
      return out(0, kDevices, 4);
    case HostCall::CurrentDevice:
      return out(0, device_, 4);
    case HostCall::Priorities:
      return out(0, 0, 4) && out(1, static_cast<Word>(-5), 4);
    case HostCall::FreeMemory:
      return out(0, Word{64} << 30U, 8) && out(1, Word{80} << 30U, 8);
    case HostCall::DeviceAttribute:
      return out(0, 64, 4);
    case HostCall::DevicePeers:
      return out(0, 1, 4);
    case HostCall::Version:
      return out(0, 13000, 4);
    case HostCall::CaptureState:
      return out(1, capturing_.contains(arguments.word(0)) ? 1 : 0, 4);
    case HostCall::DeviceName:
      return out(0, arguments.word(1), 8);
    case HostCall::Occupancy:
      return out(0, 2, 4);
    case HostCall::ElapsedTime:
      return out(0, 0x3f800000, 4);
    case HostCall::ErrorTextStored:
      return out(1, block(), 8);
    case HostCall::ErrorText: {
      const Word at = block();
      if (result != nullptr) std::memcpy(result, &at, sizeof at);
      return true;
    }
    case HostCall::DeviceProperties:
      return device_properties(machine, arguments);
    default:
      return false;
  }
}

/// cudaMemcpyBatchAsync(dsts, srcs, sizes, count, attributes, firsts, number of those, [failed,] stream). The
/// attributes at place i are those of the copies from firsts[i] on. Before CUDA 13 there is one parameter more.
Outcome Cuda::copy_batch(Machine& machine, const Model& model, const Arguments& arguments) {
  constexpr Word kMost = 4096, kAttributes = 24;  // bytes; the order is what it begins with
  const api::Effect& effect = model.effect;
  const auto word = [&](int position) { return arguments.word(static_cast<std::size_t>(position)); };
  const Word dsts = word(effect.dst), srcs = word(effect.src), sizes = word(effect.bytes), count = word(effect.count);
  const Word attributes = word(effect.params), firsts = word(effect.params + 1), kinds = word(effect.params + 2);
  const Word handle = arguments.word(arguments.size() - 1);
  if (count > kMost || kinds > kMost) return Outcome::Stop;
  for (const auto& [list, bytes] : {std::pair(dsts, count * sizeof(Word)), std::pair(srcs, count * sizeof(Word)),
                                    std::pair(sizes, count * sizeof(Word)), std::pair(firsts, kinds * sizeof(Word)),
                                    std::pair(attributes, kinds * kAttributes)})
    if (bytes != 0 && !machine.reads(list, bytes)) return Outcome::Stop;
  std::vector<ordering::BatchPart> parts;
  Word kind = 0;
  for (Word i = 0; i < count; ++i) {
    const auto of = [&](Word list) { return load_word(list + i * sizeof(Word)); };
    while (kind + 1 < kinds && load_word(firsts + (kind + 1) * sizeof(Word)) <= i) ++kind;
    const Word size = of(sizes);
    if (!fits(machine, of(dsts), size) || !fits(machine, of(srcs), size)) return Outcome::Done;
    std::uint32_t order = 1;
    if (kinds != 0) std::memcpy(&order, reinterpret_cast<const void*>(attributes + kind * kAttributes), sizeof order);
    forget_pointers(of(dsts), size);
    parts.push_back({.dst = linear(of(dsts), size),
                     .src = linear(of(srcs), size),
                     .order = order == 2   ? ordering::SourceOrder::DuringCall
                              : order == 3 ? ordering::SourceOrder::Any
                                           : ordering::SourceOrder::Stream});
  }
  enqueue(handle, now(machine, model.name), [this, parts](ordering::Call here, ordering::StreamId stream) {
    model_.batch(here, stream, parts);
    finish();
  });
  return Outcome::Done;
}

// ---- words that streams write and wait for ----
//
// Words in memory that streams write and wait for (cuStreamWriteValue32, cuStreamWaitValue32).
//
// A wait for a value that a stream writes is a wait for that write, and so for the work in front of it in that stream
// (R-MOP-01, R-MOP-03). Only the last write to the word counts: programs count the word up, or set and clear it in
// turn; if a program knows better, nothing is reported. If the last write is not the one that is waited for, or other
// code has written the word since, the wait is for an unknown write, perhaps a later one: the order is unknown from
// there on, and the run ends.

namespace {

/// Does the value satisfy the wait, by the flags of cuStreamWaitValue?
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

bool Cuda::value_operation(Machine& machine, HostCall what, Word handle, ordering::Call call,
                           const Arguments& arguments) {
  const bool write = what == HostCall::WriteWord32 || what == HostCall::WriteWord64;
  const bool wide = what == HostCall::WriteWord64 || what == HostCall::WaitWord64;
  if (!write && what != HostCall::WaitWord32 && what != HostCall::WaitWord64) return false;
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

// ---- messages ----
//
// Messages between processes (MPI). The library does not know streams: the GPU must have written the data when a send
// is called, and must no longer use the memory that a receive writes. So each is an access of the host, at the call.
// The size of an element is not looked up: the access is to the first byte, so it meets accesses that begin at the same
// place.

bool Cuda::message(Machine& machine, const Model* model, std::string_view name, const Arguments& arguments) {
  const MessageCall what = message_call(name);
  if (what == MessageCall::None) return false;
  if (what == MessageCall::MpiRank || what == MessageCall::MpiRanks) {
    machine.store(arguments.word(1), what == MessageCall::MpiRank ? 0 : 2, 4);
    return true;
  }
  const bool ucx = what == MessageCall::Ucx;
  if (model == nullptr && ucx) return false;  // it may call back
  if (model == nullptr || (model->action != ActionKind::HostTouch && model->action != ActionKind::Post)) return true;
  machine.event();
  // A message to nobody, or of no elements, does nothing.
  const auto number = [&](int position) {
    return static_cast<std::int32_t>(arguments.word32(static_cast<std::size_t>(position)));
  };
  if (model->peer_argument >= 0 && number(model->peer_argument) < 0) return true;
  // Sizes are of type size_t in UCX, and int in MPI.
  if (model->count_argument >= 0 && number(model->count_argument) == 0 &&
      (!ucx || arguments.word(static_cast<std::size_t>(model->count_argument)) == 0))
    return true;
  for (const Role& role : model->roles) {
    if (role.argument < 0 || (role.mode != ir::Mode::Read && role.mode != ir::Mode::Write)) continue;
    const Word at = arguments.word(static_cast<std::size_t>(role.argument));
    if (!Memory::is_device(at) && !machine.memory().is_pinned(at)) continue;
    model_.host_access(now(machine, std::string(name)), {at, at + 1},
                       role.mode == ir::Mode::Read ? ordering::AccessMode::Read : ordering::AccessMode::Write);
    finish();
  }
  return true;
}

}  // namespace streamsan::analyzer::interpreter
