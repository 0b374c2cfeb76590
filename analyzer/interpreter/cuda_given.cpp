// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a made-up caller (callers.h) gives: streams, events and memory of its own.
//
// Whether a pointer is to memory of the host or of the device is not in its type. A block is the device's until the
// program shows that it is not: the host touches it, or a copy's direction says so. Then the machine stops, and the
// follower begins again with all in the host's memory that is given as that parameter or field (follow.cpp). The host's blocks are pinned: who copies
// asynchronously means that. Whether the caller's are is not known, so what the host itself does with them is no conflict
// (follow.cpp).
#include <cstring>
#include <unordered_map>

#include "analyzer/interpreter/callers.h"
#include "analyzer/interpreter/cuda.h"

namespace streamsan::analyzer::interpreter {

Word Cuda::given_memory(Machine& machine, Word size, bool of_host, Word given_as) {
  const Word at = of_host ? reinterpret_cast<Word>(machine.memory().pinned(size)) : machine.memory().device(size);
  if (at == 0) return 0;
  blocks_[at] = at + size;
  given_blocks_.push_back({{at, at + size}, given_as});
  model_.allocate(now(machine, ""), given_blocks_.back().first,
                  of_host ? ordering::MemoryKind::Pinned : ordering::MemoryKind::Device, context_of(device_));
  return at;
}

Word Cuda::give_memory(Machine& machine, const Arguments& arguments) {
  const Word size = arguments.word(0), given_as = arguments.word(2);
  const Word at = given_memory(machine, size, given_of_host_.contains(given_as), given_as);
  const std::size_t counted = arguments.word(1);
  constexpr Word kHowMany = 64;
  const bool of_host = machine.memory().is_pinned(at);
  for (Word i = 0; of_host && counted != 0 && counted <= sizeof i && (i + 1) * counted <= size; ++i) {
    const Word value = i % kHowMany;
    std::memcpy(reinterpret_cast<void*>(at + i * counted), &value, counted);
    if (i >= kHowMany * kHowMany) break;
  }
  return at;
}

Word Cuda::give_stream(Machine& machine, const Arguments& arguments) {
  return given_stream(machine, arguments.word(0));
}

Word Cuda::given_stream(Machine& machine, Word number) {
  const auto [known, fresh] = given_streams_.try_emplace(number);
  if (fresh) {
    known->second = reinterpret_cast<Word>(machine.memory().heap(64));
    streams_[known->second] = model_.create_stream(context_of(device_), ordering::StreamKind::NonBlocking);
  }
  return known->second;
}

/// It has been recorded, after nothing that matters here.
Word Cuda::give_event(Machine& machine, const Arguments&) {
  const Word handle = reinterpret_cast<Word>(machine.memory().heap(64));
  const ordering::Call call = now(machine, "");
  model_.record_event(call, model_.create_stream(ordering::ContextId{1}, ordering::StreamKind::NonBlocking),
                      event(handle));
  return handle;
}

/// It may have waited.
Word Cuda::call_back(Machine& machine, const Arguments&) {
  may_wait(machine);
  return 0;
}

bool Cuda::give(Machine& machine, std::string_view name, const Arguments& arguments, Byte* result) {
  using Giver = Word (Cuda::*)(Machine&, const Arguments&);
  static const std::unordered_map<std::string_view, Giver> kGivers = {
      {kGivenMemory, &Cuda::give_memory},
      {kGivenStream, &Cuda::give_stream},
      {kGivenEvent, &Cuda::give_event},
      {kCalledBack, &Cuda::call_back},
  };
  const auto giver = kGivers.find(name);
  if (giver == kGivers.end()) return false;
  const Word value = (this->*giver->second)(machine, arguments);
  if (result != nullptr) std::memcpy(result, &value, sizeof value);
  return true;
}

std::optional<Word> Cuda::given_as(Word address) const {
  for (const auto& [block, as] : given_blocks_)
    if (block.begin <= address && address < block.end) return as;
  return std::nullopt;
}

bool Cuda::is_given(ordering::StreamId stream) const {
  for (const auto& [number, handle] : given_streams_)
    if (const auto known = streams_.find(handle); known != streams_.end() && known->second == stream) return true;
  return false;
}

bool Cuda::fits(Machine& machine, Word address, Word bytes) {
  if (!made_up_) return true;
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return true;
  --block;
  if (address >= block->second || bytes <= block->second - address) return true;
  machine.stop("a copy that is longer than its memory");
  return false;
}

bool Cuda::sides_are_right(Machine& machine, const Model& model, const Arguments& arguments, Word dst, Word src) {
  constexpr Word kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3;
  Word direction = kDeviceToDevice;  // or by address: then nothing is wrong
  if (model.kind_argument >= 0)
    direction = arguments.word32(static_cast<std::size_t>(model.kind_argument));
  else if (model.effect.direction == api::Direction::HostToDevice)
    direction = kHostToDevice;
  else if (model.effect.direction == api::Direction::DeviceToHost)
    direction = kDeviceToHost;
  const auto is_wrong = [&](Word side) { return Memory::is_device(side) && given_as(side).has_value(); };
  if ((direction == kHostToHost || direction == kHostToDevice) && is_wrong(src)) {
    machine.stop_at(src, "a source that is the host's");
    return false;
  }
  if ((direction == kHostToHost || direction == kDeviceToHost) && is_wrong(dst)) {
    machine.stop_at(dst, "a target that is the host's");
    return false;
  }
  return true;
}

}  // namespace streamsan::analyzer::interpreter
