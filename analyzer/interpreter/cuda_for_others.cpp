// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What libraries that are not followed, and are known, do with CUDA: work, copies, waiting, and memory of caching allocators.
//
// A block that was given back does no harm before it is handed out again, and until then the stream that it is for may wait
// for whoever uses it still. So the next allocation in that stream is taken to get it; and at the end that of the caller,
// who goes on to allocate for its own streams. Its address is not used twice for all that: what is told is the place where
// it was given back.
#include <utility>

#include "analyzer/interpreter/cuda.h"

namespace streamsan::analyzer::interpreter {

Word Cuda::device(const Machine& machine) {
  device_ = devices_[machine.thread().number];
  return device_;
}

Word Cuda::make_stream(Machine& machine, const std::string& name) {
  const Word handle = reinterpret_cast<Word>(machine.memory().heap(64));
  const ordering::StreamId made = model_.create_stream(context_of(device_), ordering::StreamKind::NonBlocking);
  streams_[handle] = made;
  stream_sites_[made] = now(machine, name).site;
  return handle;
}

void Cuda::work(Machine& machine, const std::string& name, Word stream,
                const std::vector<ordering::KernelBytes>& bytes) {
  machine.event();
  const ordering::LaunchShape shape{.function = number_of(name), .threads = 1024, .arguments_hash = 0};
  enqueue(stream, now(machine, name), [this, shape, bytes](ordering::Call here, ordering::StreamId in) {
    model_.launch(here, in, shape, {}, bytes);
  });
}

void Cuda::copy(Machine& machine, const std::string& name, Word stream, const ordering::Footprint& dst,
                const ordering::Footprint& src) {
  machine.event();
  enqueue(stream, now(machine, name), [this, dst, src](ordering::Call here, ordering::StreamId in) {
    model_.copy(here, in, dst, src, ordering::Form::Asynchronous);
    finish();
  });
}

void Cuda::wait_for(Machine& machine, const std::string& name, Word handle) {
  machine.event();
  const ordering::Call call = now(machine, name);
  waits_.push_back(call.site);
  model_.sync_stream(call, stream(handle));
  finish();
}

Word Cuda::take_block(Machine& machine, const std::string& name, std::optional<Word> handle, Word bytes) {
  const Word size = std::max<Word>(bytes, 1);
  const Word at = handle ? machine.memory().device(size) : reinterpret_cast<Word>(machine.memory().pinned(size));
  if (at == 0) return 0;
  // What was given back for the stream may be what is handed out now.
  std::vector<Returned> kept;
  for (const Returned& block : std::exchange(returned_blocks_, {}))
    if (block.stream == handle)
      hand_out_again(machine, block);
    else
      kept.push_back(block);
  returned_blocks_ = std::move(kept);
  const ordering::Range range{at, at + size};
  blocks_[at] = range.end;
  lent_blocks_[at] = {.range = range, .stream = handle};
  const ordering::Call call = now(machine, name);
  model_.allocate(call, range, handle ? ordering::MemoryKind::Device : ordering::MemoryKind::Pinned,
                  context_of(device_));
  model_.block_allocate(call, handle ? std::optional(stream(*handle)) : std::nullopt, range);
  return at;
}

void Cuda::use_block(Word handle, Word block) {
  if (lent_blocks_.contains(block)) model_.block_use({thread_, ordering::SiteId{}}, stream(handle), block);
}

void Cuda::return_block(Machine& machine, const std::string& name, Word block) {
  const auto lent = lent_blocks_.find(block);
  if (lent == lent_blocks_.end()) return;
  const Returned of = lent->second;
  lent_blocks_.erase(lent);
  // Memory of a graph is the graph's.
  if (!capturing_.empty()) return;
  model_.block_free_unchecked(now(machine, name), block);
  returned_blocks_.push_back(of);
}

void Cuda::hand_out_again(Machine& machine, const Returned& block) {
  const ordering::Call call = now(machine, "an allocation");
  model_.block_allocate(call, block.stream ? std::optional(stream(*block.stream)) : std::nullopt, block.range);
  model_.block_free_unchecked(call, block.range.begin);
}

void Cuda::hand_out_again(Machine& machine) {
  for (const Returned& block : std::exchange(returned_blocks_, {})) {
    const auto known = block.stream ? streams_.find(*block.stream) : streams_.end();
    const bool is_callers = !block.stream || *block.stream == 0 || (known != streams_.end() && is_given(known->second));
    if (is_callers) hand_out_again(machine, block);
  }
}

}  // namespace streamsan::analyzer::interpreter
