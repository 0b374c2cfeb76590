// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs one call of CUDA, by the kind of its effect. A captured action is done when its graph is launched. By then this
// call is over, so the action refers to nothing but Cuda.
#include "analyzer/interpreter/cuda_effects.h"

#include <algorithm>
#include <utility>

#include "analyzer/interpreter/module.h"
#include "clang/AST/Decl.h"
#include "llvm/IR/Function.h"

namespace streamsan::analyzer::interpreter {

using api::EffectKind;
using ordering::Footprint;
using ordering::MemoryKind;

Cuda::Effects::Effects(Cuda& cuda, Machine& machine, const Model& known, const Arguments& arguments)
    : cuda_(cuda),
      machine_(machine),
      known_(known),
      effect_(known.effect),
      arguments_(arguments),
      call_(cuda.now(machine, known.name)),
      context_(context_of(cuda.device_)),
      handle_(argument(effect_.stream)),
      form_(effect_.form == api::CallForm::Synchronous ? ordering::Form::Synchronous : ordering::Form::Asynchronous) {}

Word Cuda::Effects::argument(int position) const {
  return position >= 0 ? arguments_.word(static_cast<std::size_t>(position)) : Word{0};
}

Word Cuda::Effects::number(int position) const {
  return position >= 0 ? Word{arguments_.word32(static_cast<std::size_t>(position))} : Word{0};
}

Word Cuda::Effects::handle_out(const Ended* ended) const {
  const Word made = ended != nullptr ? ended->handle : reinterpret_cast<Word>(machine_.memory().heap(64));
  machine_.store(argument(effect_.object), made);
  return made;
}

// ---- streams and events ----

Outcome Cuda::Effects::create_stream() {
  const bool apart =
      known_.stream_kind ? *known_.stream_kind == ordering::StreamKind::NonBlocking : (number(effect_.flags) & 1) != 0;
  const ordering::StreamId made =
      cuda_.model_.create_stream(context_, apart ? ordering::StreamKind::NonBlocking : ordering::StreamKind::Blocking);
  if (cuda_.ended_streams_.empty()) {
    cuda_.streams_[handle_out()] = made;
  } else {
    cuda_.streams_[handle_out(&cuda_.ended_streams_.back())] = made;
    cuda_.had_handle_[made] = cuda_.ended_streams_.back();
    cuda_.ended_streams_.pop_back();
  }
  cuda_.stream_sites_[made] = call_.site;
  cuda_.stream_devices_[made] = cuda_.known_device(machine_);
  return Outcome::Done;
}

Outcome Cuda::Effects::destroy_stream() {
  if (const auto known = cuda_.streams_.find(argument(effect_.object)); known != cuda_.streams_.end()) {
    cuda_.model_.destroy_stream(known->second);
    cuda_.ended_streams_.push_back({.handle = known->first, .stream = known->second, .site = call_.site});
    cuda_.fronts_.erase(known->first);
    cuda_.streams_.erase(known);
  }
  return Outcome::Done;
}

Outcome Cuda::Effects::create_event() {
  const ordering::EventId made = cuda_.model_.create_event();
  cuda_.events_[handle_out()] = made;
  cuda_.event_sites_[made] = call_.site;
  cuda_.event_devices_[made] = cuda_.known_device(machine_);
  return Outcome::Done;
}

Outcome Cuda::Effects::destroy_event() {
  if (const auto known = cuda_.events_.find(argument(effect_.object)); known != cuda_.events_.end()) {
    cuda_.model_.destroy_event(known->second);
    cuda_.events_.erase(known);
  }
  return Outcome::Done;
}

Outcome Cuda::Effects::record() {
  const Word recorded = argument(effect_.event);
  if (const auto captured = cuda_.capturing_.find(handle_); captured != cuda_.capturing_.end())
    cuda_.capture_events_[recorded] = captured->second;
  cuda_.record(handle_, call_, recorded);
  return Outcome::Done;
}

Outcome Cuda::Effects::wait() {
  const Word waited = argument(effect_.event);
  if (const auto captured = cuda_.capture_events_.find(waited);
      captured != cuda_.capture_events_.end() && cuda_.graphs_.contains(captured->second))
    cuda_.capturing_.try_emplace(handle_, captured->second);
  cuda_.wait(handle_, call_, waited);
  return Outcome::Done;
}

Outcome Cuda::Effects::synchronise() {
  switch (effect_.kind) {
    case EffectKind::SyncStream:
      cuda_.waits_.push_back(call_.site);
      cuda_.model_.sync_stream(call_, cuda_.stream(handle_));
      cuda_.finish();
      return Outcome::Done;
    case EffectKind::SyncEvent:
      cuda_.empty_waits_.waited_by_host(cuda_.event(argument(effect_.event)), call_.site);
      cuda_.waits_.push_back(call_.site);
      cuda_.order(argument(effect_.event), call_.site, std::nullopt);
      cuda_.model_.sync_event(call_, cuda_.event(argument(effect_.event)));
      cuda_.finish();
      return Outcome::Done;
    case EffectKind::SyncContext:
      cuda_.waits_.push_back(call_.site);
      cuda_.model_.sync_context(call_, context_);
      cuda_.finish();
      return Outcome::Done;
    case EffectKind::QueryStream:
      cuda_.asked(call_.site);
      cuda_.model_.query_stream_succeeded(call_, cuda_.stream(handle_));
      return Outcome::Done;
    case EffectKind::QueryEvent:
      cuda_.asked(call_.site);
      cuda_.model_.query_event_succeeded(call_, cuda_.event(argument(effect_.event)));
      return Outcome::Done;
    default:
      return may_wait();
  }
}

// ---- copies and fills ----

Outcome Cuda::Effects::copy() {
  Word dst = argument(effect_.dst), src = argument(effect_.src);
  const Word bytes = argument(effect_.bytes);
  if (known_.symbol_argument >= 0) {
    Word& side = known_.symbol_argument == effect_.dst ? dst : src;
    side = cuda_.shadowed(machine_, side) + argument(known_.offset_argument);
  }
  if (!cuda_.sides_are_right(machine_, known_, arguments_, dst, src)) return Outcome::Done;
  if (!cuda_.fits(machine_, dst, bytes) || !cuda_.fits(machine_, src, bytes)) return Outcome::Done;
  // The effect on the contents of host memory.
  if (machine_.memory().contains(dst, bytes) && machine_.memory().contains(src, bytes) &&
      !machine_.move(dst, src, bytes))
    return Outcome::Stop;
  if (bytes > Memory::kMostSize) return Outcome::Stop;
  cuda_.keep_pointers(machine_, dst, src, bytes);
  cuda_.stage(machine_, call_.site, {src, src + bytes}, dst, handle_);
  cuda_.enqueue(handle_, call_,
                [&cuda = cuda_, dst, src, bytes, form = form_](ordering::Call here, ordering::StreamId stream) {
                  cuda.model_.copy(here, stream, linear(dst, bytes), linear(src, bytes), form);
                  cuda.finish();
                });
  return Outcome::Done;
}

Outcome Cuda::Effects::copy_rows() {
  if (effect_.dst < 0 || effect_.src < 0) return may_wait();
  const Word dst = argument(effect_.dst), src = argument(effect_.src);
  const Word width = argument(effect_.src + 2), height = argument(effect_.src + 3);
  const Footprint to{
      .base = dst, .width = width, .pitch = argument(effect_.dst + 1), .rows = height, .slices = 1, .slice_pitch = 0};
  const Footprint from{
      .base = src, .width = width, .pitch = argument(effect_.src + 1), .rows = height, .slices = 1, .slice_pitch = 0};
  const auto last = [](const Footprint& part) {
    return part.rows == 0 ? 0 : part.pitch * (part.rows - 1) + part.width;
  };
  if (!cuda_.sides_are_right(machine_, known_, arguments_, dst, src)) return Outcome::Done;
  if (!cuda_.fits(machine_, dst, last(to)) || !cuda_.fits(machine_, src, last(from))) return Outcome::Done;
  cuda_.keep_sides(call_.site, {src, src + last(from)}, {dst, dst + last(to)}, handle_);
  cuda_.forget_pointers(dst, last(to));
  cuda_.enqueue(handle_, call_,
                [&cuda = cuda_, to, from, form = form_](ordering::Call here, ordering::StreamId stream) {
                  cuda.model_.copy(here, stream, to, from, form);
                  cuda.finish();
                });
  return Outcome::Done;
}

Outcome Cuda::Effects::fill() {
  const Word dst = argument(effect_.dst), bytes = argument(effect_.bytes) * effect_.unit;
  if (bytes > Memory::kMostSize) return Outcome::Stop;
  if (!cuda_.fits(machine_, dst, bytes)) return Outcome::Done;
  cuda_.forget_pointers(dst, bytes);
  cuda_.enqueue(handle_, call_,
                [&cuda = cuda_, dst, bytes, form = form_](ordering::Call here, ordering::StreamId stream) {
                  cuda.model_.fill(here, stream, linear(dst, bytes), form);
                  cuda.finish();
                });
  return Outcome::Done;
}

// ---- memory ----

Outcome Cuda::Effects::allocate() {
  const Word size = std::max<Word>(argument(effect_.bytes), 1), at = machine_.memory().device(size);
  if (at == 0) return Outcome::Stop;
  machine_.store(argument(effect_.object), at);
  cuda_.allocated(call_, {at, at + size}, MemoryKind::Device);
  return Outcome::Done;
}

Outcome Cuda::Effects::allocate_rows() {
  const Word width = argument(effect_.pitch + 1), pitch = (width + 511) / 512 * 512, height = argument(effect_.height);
  const Word at = height > Memory::kMostSize ? 0 : machine_.memory().device(pitch * height);
  if (at == 0) return Outcome::Stop;
  machine_.store(argument(effect_.object), at);
  machine_.store(argument(effect_.pitch), pitch);
  cuda_.allocated(call_, {at, at + std::max<Word>(pitch * height, 1)}, MemoryKind::Device);
  return Outcome::Done;
}

Outcome Cuda::Effects::allocate_on_host() {
  const Word size = std::max<Word>(argument(effect_.bytes), 1);
  Byte* const at = machine_.memory().pinned(size);
  if (at == nullptr) return Outcome::Stop;
  machine_.store(argument(effect_.object), reinterpret_cast<Word>(at));
  cuda_.allocated(call_, {reinterpret_cast<Word>(at), reinterpret_cast<Word>(at) + size},
                  effect_.kind == EffectKind::AllocHost ? MemoryKind::Pinned : MemoryKind::Managed);
  return Outcome::Done;
}

Outcome Cuda::Effects::allocate_in_order() {
  const Word size = std::max<Word>(argument(effect_.bytes), 1), at = machine_.memory().device(size);
  if (at == 0) return Outcome::Stop;
  machine_.store(argument(effect_.object), at);
  cuda_.blocks_[at] = at + size;
  cuda_.allocations_.push_back(call_.site);
  cuda_.enqueue(handle_, call_, [&cuda = cuda_, at, size](ordering::Call here, ordering::StreamId stream) {
    cuda.model_.allocate_async(here, stream, {at, at + size});
  });
  return Outcome::Done;
}

Outcome Cuda::Effects::free() {
  if (argument(effect_.object) == 0) return Outcome::Done;
  if (const auto* memory = cuda_.model_.find_allocation(argument(effect_.object)))
    cuda_.staged_.freed(*memory, call_.site);
  cuda_.model_.free(call_, context_, argument(effect_.object));
  cuda_.finish();
  return Outcome::Done;
}

Outcome Cuda::Effects::free_in_order() {
  const Word at = argument(effect_.object);
  if (at != 0)
    cuda_.enqueue(handle_, call_, [&cuda = cuda_, at](ordering::Call here, ordering::StreamId stream) {
      cuda.model_.free_async(here, stream, at);
    });
  return Outcome::Done;
}

Outcome Cuda::Effects::change_addresses() {
  switch (effect_.kind) {
    case EffectKind::Map:
      cuda_.map(machine_, call_, {argument(effect_.object), argument(effect_.object) + argument(effect_.bytes)});
      return Outcome::Done;
    case EffectKind::Unmap:
      cuda_.model_.unmap(call_, context_,
                         {argument(effect_.object), argument(effect_.object) + argument(effect_.bytes)});
      cuda_.finish();
      return Outcome::Done;
    case EffectKind::Register:
      machine_.watch(argument(effect_.object), argument(effect_.bytes));
      cuda_.model_.allocate(call_, {argument(effect_.object), argument(effect_.object) + argument(effect_.bytes)},
                            MemoryKind::Registered, context_);
      return Outcome::Done;
    case EffectKind::Unregister:
      cuda_.model_.free(call_, context_, argument(effect_.object));
      cuda_.finish();
      return Outcome::Done;
    default:
      return may_wait();
  }
}

// ---- other work of streams ----

Outcome Cuda::Effects::host_function() {
  if (cuda_.capturing_.contains(handle_)) {
    cuda_.enqueue(handle_, call_, [&cuda = cuda_](ordering::Call here, ordering::StreamId stream) {
      cuda.model_.host_function(here, stream);
    });
    return Outcome::Done;
  }
  // cudaLaunchHostFunc(stream, function, data); cudaStreamAddCallback(stream, function, data, flags).
  const bool callback = host_call(known_.name) == HostCall::Callback;
  const llvm::Function* const function = machine_.image().function_at(arguments_.word(1));
  const auto* declaration = function == nullptr ? nullptr : cuda_.declared(*function);
  cuda_.host_function_ = HostFunction{.thread = machine_.thread().number,
                                      .depth = machine_.thread().frames.size(),
                                      .stream = cuda_.stream(handle_),
                                      .call = call_,
                                      .name = declaration == nullptr || declaration->getDeclName().isEmpty()
                                                  ? "a host function"
                                                  : "host function '" + declaration->getNameAsString() + "'"};
  if (callback) {
    const Word given[] = {handle_, 0, arguments_.word(2)};
    machine_.call_next(arguments_.word(1), given);
  } else {
    const Word given[] = {arguments_.word(2)};
    machine_.call_next(arguments_.word(1), given);
  }
  return Outcome::Done;
}

Outcome Cuda::Effects::act() {
  if (effect_.batch == api::Batch::Copies) return cuda_.copy_batch(machine_, known_, arguments_);
  if (cuda_.value_operation(machine_, host_call(known_.name), handle_, call_, arguments_)) return Outcome::Done;
  cuda_.enqueue(handle_, call_, [&cuda = cuda_](ordering::Call here, ordering::StreamId stream) {
    cuda.model_.stream_action(here, stream);
  });
  return Outcome::Done;
}

Outcome Cuda::Effects::join_all() {
  if (cuda_.value_operation(machine_, host_call(known_.name), handle_, call_, arguments_)) return Outcome::Done;
  cuda_.enqueue(handle_, call_, [&cuda = cuda_](ordering::Call here, ordering::StreamId stream) {
    cuda.model_.stream_joins_all(here, stream);
  });
  return Outcome::Done;
}

// ---- captures and graphs ----

Outcome Cuda::Effects::begin_capture() {
  const Word graph = reinterpret_cast<Word>(machine_.memory().heap(64));
  cuda_.graphs_[graph];
  cuda_.capturing_[handle_] = graph;
  return Outcome::Done;
}

Outcome Cuda::Effects::end_capture() {
  const auto captured = cuda_.capturing_.find(handle_);
  if (captured == cuda_.capturing_.end()) return Outcome::Done;
  const Word graph = captured->second;
  std::erase_if(cuda_.capturing_, [graph](const auto& one) { return one.second == graph; });
  std::erase_if(cuda_.capture_events_, [graph](const auto& one) { return one.second == graph; });
  machine_.store(argument(effect_.object), graph);
  return Outcome::Done;
}

Outcome Cuda::Effects::instantiate() {
  const Word made = handle_out(), variable = argument(effect_.object);
  cuda_.graphs_[made] = cuda_.graphs_[arguments_.word(1)];
  cuda_.graph_changes_.push_back(
      {call_.site, cuda_.graph_homes_[made] = machine_.memory().is_stack(variable) ? 0 : variable});
  return Outcome::Done;
}

Outcome Cuda::Effects::launch_graph() {
  const Word graph = argument(effect_.object);
  const ordering::StreamId in = cuda_.stream(handle_);
  cuda_.model_.graph_launch(call_, in, graph);
  // Launches of one graph follow each other: the first graph_launch() waits for the launch before, the second one is
  // what the next launch waits for.
  cuda_.launch_captured(machine_, graph, call_, known_.name, in);
  cuda_.model_.graph_launch(call_, in, graph);
  return Outcome::Done;
}

/// A call that is not followed may make order.
Outcome Cuda::Effects::may_wait() {
  cuda_.may_wait(machine_);
  return Outcome::Done;
}

Outcome Cuda::Effects::run() {
  if (effect_.exports_event || effect_.imported) cuda_.empty_waits_.exported();
  cuda_.note_changes(effect_, arguments_.word(0), call_.site);
  switch (effect_.kind) {
    case EffectKind::StreamCreate:
      return create_stream();
    case EffectKind::StreamDestroy:
      return destroy_stream();
    case EffectKind::EventCreate:
      return create_event();
    case EffectKind::EventDestroy:
      return destroy_event();
    case EffectKind::EventRecord:
      return record();
    case EffectKind::EventWait:
      return wait();
    case EffectKind::SyncStream:
    case EffectKind::SyncEvent:
    case EffectKind::SyncContext:
    case EffectKind::QueryStream:
    case EffectKind::QueryEvent:
      return synchronise();
    case EffectKind::Copy:
      return copy();
    case EffectKind::Copy2D:
      return copy_rows();
    case EffectKind::Fill:
      return fill();
    case EffectKind::Alloc:
      return allocate();
    case EffectKind::AllocPitch:
      return allocate_rows();
    case EffectKind::AllocHost:
    case EffectKind::AllocManaged:
      return allocate_on_host();
    case EffectKind::AllocAsync:
      return allocate_in_order();
    case EffectKind::Free:
    case EffectKind::FreeHost:
      return free();
    case EffectKind::FreeAsync:
      return free_in_order();
    case EffectKind::Map:
    case EffectKind::Unmap:
    case EffectKind::Register:
    case EffectKind::Unregister:
      return change_addresses();
    case EffectKind::HostFunction:
      return host_function();
    case EffectKind::StreamAction:
      return act();
    case EffectKind::StreamJoinsAll:
      return join_all();
    case EffectKind::CaptureBegin:
      return begin_capture();
    case EffectKind::CaptureEnd:
      return end_capture();
    case EffectKind::GraphInstantiate:
      return instantiate();
    case EffectKind::GraphLaunch:
      return launch_graph();
    case EffectKind::GraphUpdate:
      // A graph that was not captured has unknown nodes.
      cuda_.graphs_[arguments_.word(0)] = cuda_.graphs_[arguments_.word(1)];
      return Outcome::Done;
    case EffectKind::GraphNodeUpdate:
      cuda_.graphs_[argument(effect_.object)].clear();  // what it does now is not known
      return Outcome::Done;
    case EffectKind::Pass:
    case EffectKind::Share:
    case EffectKind::GlobalLookup:
    case EffectKind::FunctionLookup:
    case EffectKind::PointerAttribute:
    case EffectKind::Init:
      return Outcome::Done;
    default:
      return may_wait();
  }
}

}  // namespace streamsan::analyzer::interpreter
