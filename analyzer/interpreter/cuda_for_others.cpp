// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA calls that are not the program's own: those of made-up callers (callers.h), and of libraries that are known but
// not followed.
//
// MADE-UP CALLERS make streams, events and memory. The type of a pointer does not show whether it is to host or device
// memory. A block is device memory until the program shows that it is not: the host touches it, or the direction of a
// copy says so. Then the machine stops, and the follower begins again, with host memory for that parameter or field
// (follow.cpp). Host blocks are pinned, because code that copies asynchronously expects that. It is not known whether
// real callers pass pinned memory, so the host's own accesses to it are no conflict (follow.cpp).
//
// The device is known for streams and events that the program makes, and for arguments that were made for a device.
//
// REPORTS ask where a stream or an event was made, and for the name of a kernel.
//
// CACHING ALLOCATORS. A returned block does no harm before it is handed out again, and until then its stream may wait
// for the work that still uses it. So the next allocation in that stream is assumed to get the block; and after each
// call, an allocation of the caller, who goes on to allocate for its own streams. The caller holds the blocks that it
// passes until the call is over. The address of a block is never used twice: the report is about the place where it was
// returned.
#include <cstring>
#include <unordered_map>
#include <utility>

#include "analyzer/interpreter/callers.h"
#include "analyzer/interpreter/cuda.h"
#include "analyzer/interpreter/module.h"
#include "analyzer/models/types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/xxhash.h"

namespace streamsan::analyzer::interpreter {
namespace {

// The number of a stream of the caller's: its index in its array, and above that the number of the array, from 1; 0: it
// is in no array.
constexpr unsigned kIndexBits = 16;
constexpr Word kAnyDevice = ~Word{0};

}  // namespace

std::string Cuda::kernel(ordering::SiteId site) const {
  const auto found = launched_.find(site);
  return found == launched_.end() ? std::string() : found->second;
}

std::optional<ordering::SiteId> Cuda::made(ordering::StreamId stream) const {
  const auto found = stream_sites_.find(stream);
  return found == stream_sites_.end() ? std::nullopt : std::optional(found->second);
}
std::optional<ordering::SiteId> Cuda::made(ordering::EventId event) const {
  const auto found = event_sites_.find(event);
  return found == event_sites_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t Cuda::number(ordering::StreamId stream) const {
  const auto own = made(stream);
  std::size_t result = 1;
  if (!own) return result;
  for (const auto& [other, site] : stream_sites_)
    if (other < stream && place(site).front() == place(*own).front()) ++result;
  return result;
}

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
    const ordering::StreamId made = model_.create_stream(context_of(device_), ordering::StreamKind::NonBlocking);
    streams_[known->second] = made;
    if (for_device_) stream_devices_[made] = device_;
  }
  return known->second;
}

Word Cuda::give_stream_of(Machine& machine, const Arguments& arguments) {
  return given_stream(machine, ((arguments.word(0) + 1) << kIndexBits) + arguments.word(1));
}

Word Cuda::on_device(Machine& machine, const Arguments& arguments) {
  for_device_ = arguments.word(0) != kAnyDevice;
  without_device_.erase(machine.thread().number);
  devices_[machine.thread().number] = device_ = for_device_ ? arguments.word(0) : 0;
  return 0;
}

Word Cuda::threw(Machine& machine, const Arguments&) {
  threw_.push_back(now(machine, "").site);
  return 0;
}

/// An event that was recorded, behind work that does not matter here.
Word Cuda::give_event(Machine& machine, const Arguments&) {
  const Word handle = reinterpret_cast<Word>(machine.memory().heap(64));
  const ordering::Call call = now(machine, "");
  model_.record_event(call, model_.create_stream(ordering::ContextId{1}, ordering::StreamKind::NonBlocking),
                      event(handle));
  return handle;
}

/// It may have waited for the streams that it knows of. 1: it is given host memory, to fill.
Word Cuda::call_back(Machine& machine, const Arguments& arguments) {
  if (arguments.word(0) == 1 || Memory::is_device(arguments.word(0))) {
    may_wait(machine);
    return 0;
  }
  machine.event();
  for (const auto& [number, handle] : given_streams_) {
    model_.sync_stream(now(machine, "a callback"), stream(handle));
    finish();
  }
  return 1;
}

bool Cuda::give(Machine& machine, std::string_view name, const Arguments& arguments, Byte* result) {
  using Giver = Word (Cuda::*)(Machine&, const Arguments&);
  static const std::unordered_map<std::string_view, Giver> kGivers = {
      {kGivenMemory, &Cuda::give_memory},
      {kGivenStream, &Cuda::give_stream},
      {kGivenStreamOf, &Cuda::give_stream_of},
      {kOnDevice, &Cuda::on_device},
      {kThrew, &Cuda::threw},
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

std::optional<Word> Cuda::given_number(ordering::StreamId stream) const {
  for (const auto& [number, handle] : given_streams_)
    if (const auto known = streams_.find(handle); known != streams_.end() && known->second == stream) return number;
  return std::nullopt;
}

bool Cuda::are_several(ordering::StreamId a, ordering::StreamId b) const {
  const std::optional<Word> first = given_number(a), second = given_number(b);
  return first && second && *first != *second && *first >> kIndexBits != 0 &&
         *first >> kIndexBits == *second >> kIndexBits;
}

bool Cuda::fits(Machine& machine, Word address, Word bytes) {
  if (!made_up_) return true;
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return true;
  --block;
  if (address >= block->second || bytes <= block->second - address) return true;
  machine.ask_too_much("a copy that is longer than its memory");
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

/// An event of another device is not recorded (documented at cuEventRecord); whether the program looks at the error is
/// not known.
void Cuda::record(Word handle, ordering::Call call, Word recorded) {
  empty_waits_.recorded(event(recorded), place(call.site));
  enqueue(handle, call, [this, recorded](ordering::Call here, ordering::StreamId stream) {
    // A record that fails shows as well which wait it was meant for.
    if (made_up_) records_.insert_or_assign(event(recorded), std::pair(stream, here.site));
    const auto of_event = event_devices_.find(event(recorded));
    const auto of_stream = stream_devices_.find(stream);
    if (of_event == event_devices_.end() || of_stream == stream_devices_.end() ||
        of_event->second == of_stream->second || std::max(of_event->second, of_stream->second) >= kDevices) {
      model_.record_event(here, stream, event(recorded));
    } else if (on_failing_record) {
      on_failing_record({.site = here.site,
                         .event = of_event->first,
                         .stream = stream,
                         .event_device = of_event->second,
                         .stream_device = of_stream->second});
    }
  });
}

void Cuda::lose_device(const Machine& machine) { without_device_.insert(machine.thread().number); }

Word Cuda::known_device(const Machine& machine) const {
  return without_device_.contains(machine.thread().number) ? kDevices : device_;
}

void Cuda::order(Word waited, ordering::SiteId site, std::optional<ordering::StreamId> by) {
  if (const auto record = records_.find(event(waited)); record != records_.end())
    orders_.push_back({.from = record->second.first, .to = by, .recorded = record->second.second, .waited = site});
}

void Cuda::wait(Word handle, ordering::Call call, Word waited) {
  enqueue(handle, call, [this, waited](ordering::Call here, ordering::StreamId stream) {
    model_.wait_event(here, stream, event(waited));
    if (made(event(waited))) empty_waits_.waited({.event = event(waited), .stream = stream, .site = here.site});
    order(waited, here.site, stream);
  });
}

std::vector<EmptyWait> Cuda::empty_waits() const {
  const auto records = [this](const llvm::Function& function) {
    const Model* model = spelled(function.getName().str(), function.arg_size());
    return model != nullptr && model->action == ActionKind::Effect &&
           model->effect.kind == api::EffectKind::EventRecord;
  };
  const auto are_alike = [this](ordering::EventId a, ordering::EventId b) {
    const auto one = made(a), other = made(b);
    return one && other && place(*one).front() == place(*other).front();
  };
  return empty_waits_.found(*host_.module(), records, are_alike);
}

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
  submit(stream, now(machine, name), shape, {}, bytes);
}

namespace {

/// A hash of bytes of the host; 0: they are not in its memory.
std::uint64_t hash_of(Machine& machine, ordering::Range range) {
  if (!machine.memory().contains(range.begin, range.size())) return 0;
  return llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const std::uint8_t*>(range.begin), range.size()));
}

}  // namespace

void Cuda::stage(Machine& machine, ordering::SiteId site, ordering::Range source, Word target, Word stream) {
  const ordering::Range written{target, target + source.size()};
  if (!Memory::is_device(target)) staged_.written(written, std::nullopt);
  if (!Memory::is_device(source.begin) && capturing_.contains(stream))
    staged_.captured(site, source, target, hash_of(machine, source));
  keep_sides(site, source, written, stream);
}

void Cuda::keep_sides(ordering::SiteId site, ordering::Range source, ordering::Range target, Word stream) {
  if (!capturing_.contains(stream)) return;
  if (!Memory::is_device(target.begin)) staged_.keeps(site, target, true);
  if (!Memory::is_device(source.begin)) staged_.keeps(site, source, false);
}

bool Cuda::edits_graph(const llvm::Function& function, const Model& model) const {
  const clang::FunctionDecl* declaration = declared(function);
  if (declaration == nullptr || model.effect.kind == api::EffectKind::Pass ||
      model.effect.kind == api::EffectKind::GraphNodeUpdate)
    return false;
  return std::ranges::any_of(declaration->parameters(), [](const clang::ParmVarDecl* parameter) {
    const auto* pointer = parameter->getType()->getAs<clang::PointerType>();
    const clang::RecordDecl* record = pointer == nullptr ? nullptr : pointer->getPointeeType()->getAsRecordDecl();
    return record != nullptr && is_graph_node(record->getName());
  });
}

void Cuda::allocated(ordering::Call call, ordering::Range memory, ordering::MemoryKind kind) {
  blocks_[memory.begin] = memory.end;
  allocations_.push_back(call.site);
  model_.allocate(call, memory, kind, context_of(device_));
}

void Cuda::note_changes(const api::Effect& effect, Word first, ordering::SiteId site) {
  using enum api::EffectKind;
  if (effect.destroys_graph || effect.kind == GraphUpdate || effect.kind == GraphNodeUpdate)
    graph_changes_.push_back({site, graph_homes_[first]});
  if (effect.kind == Free || effect.kind == FreeHost || effect.kind == FreeAsync) frees_.push_back(site);
}

/// Does, here, an action that was captured elsewhere.
void Cuda::launch_captured(Machine& machine, Word graph, ordering::Call call, const std::string& name,
                           ordering::StreamId in) {
  const auto bytes = [&](ordering::Range range) { return hash_of(machine, range); };
  for (const auto& [captured, action] : graphs_[graph]) {
    const std::string& what = this->name(captured);
    const ordering::Call here = now(machine, what.empty() ? name : what + " of a graph");
    of_graphs_.insert_or_assign(here.site, captured);
    launched_by_.emplace(here.site, graph_homes_[graph]);
    action(here, in);
    if (const auto overtaken = staged_.launched(captured, call.site, bytes); overtaken && on_overtaken_copy)
      on_overtaken_copy(*overtaken);
    if (const auto gone = staged_.freed_side(captured)) {
      using ordering::AccessMode, ordering::AccessSource;
      ordering::Hazard found{.kind = ordering::HazardKind::UseAfterFree, .overlap = gone->bytes};
      found.earlier = {
          .site = gone->freed, .mode = AccessMode::Write, .source = AccessSource::Free, .on_stream = false};
      found.later = {.site = here.site, .stream = in, .range = gone->bytes};
      found.later.mode = gone->written ? AccessMode::Write : AccessMode::Read;
      found.allocation = gone->memory;
      found.freed = gone->freed;
      sink_.hazard(found);
    }
  }
}

void Cuda::copy(Machine& machine, const std::string& name, Word stream, const ordering::Footprint& dst,
                const ordering::Footprint& src) {
  machine.event();
  const ordering::Call call = now(machine, name);
  stage(machine, call.site, {src.base, src.base + src.width}, dst.base, stream);
  enqueue(stream, call, [this, dst, src](ordering::Call here, ordering::StreamId in) {
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
  // A block that was returned for this stream may be handed out now.
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

void Cuda::return_block(Machine& machine, const std::string& name, Word block, bool at_once) {
  const auto lent = lent_blocks_.find(block);
  if (lent == lent_blocks_.end()) return;
  const Returned of = lent->second;
  lent_blocks_.erase(lent);
  // Memory that a graph allocated belongs to the graph.
  if (!capturing_.empty()) return;
  if (of.given && !at_once) {
    held_.push_back({.block = of, .call = now(machine, name)});
    return;
  }
  model_.block_free_unchecked(now(machine, name), block);
  returned_blocks_.push_back(of);
}

void Cuda::lend(Machine& machine, Word handle, Word block) {
  const auto known = blocks_.find(block);
  if (known == blocks_.end()) return;
  const ordering::Range range{block, known->second};
  lent_blocks_[block] = {.range = range, .stream = handle, .given = true};
  model_.block_allocate(now(machine, ""), stream(handle), range);
}

bool Cuda::is_lent(Word block) const {
  const auto lent = lent_blocks_.find(block);
  return lent != lent_blocks_.end() && lent->second.given;
}

void Cuda::keep_lent(Word block) {
  if (is_lent(block)) lent_blocks_.erase(block);
}

void Cuda::hand_out_again(Machine& machine, const Returned& block) {
  const ordering::Call call = now(machine, "an allocation");
  model_.block_allocate(call, block.stream ? std::optional(stream(*block.stream)) : std::nullopt, block.range);
  model_.block_free_unchecked(call, block.range.begin);
}

void Cuda::hand_out_again(Machine& machine) {
  for (const Held& held : std::exchange(held_, {})) {
    model_.block_free_unchecked(held.call, held.block.range.begin);
    returned_blocks_.push_back(held.block);
  }
  std::vector<Returned> kept;
  for (const Returned& block : std::exchange(returned_blocks_, {})) {
    const auto known = block.stream ? streams_.find(*block.stream) : streams_.end();
    const bool is_callers = !block.stream || *block.stream == 0 || (known != streams_.end() && is_given(known->second));
    if (is_callers)
      hand_out_again(machine, block);
    else
      kept.push_back(block);
  }
  returned_blocks_ = std::move(kept);
}

}  // namespace streamsan::analyzer::interpreter
