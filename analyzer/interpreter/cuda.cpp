// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of CUDA by the catalogue of models (models/model.h), which says where a function has its stream and its memory.
// What it does to order is the business of ordering/, as at run time: the same rules judge a program that is
// interpreted and one that runs.
//
// Every call succeeds. Device memory has addresses and no contents; what the host is given back is zeros.
#include "analyzer/interpreter/cuda.h"

#include <cstring>
#include <utility>

#include "analyzer/interpreter/module.h"
#include "clang/AST/Decl.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"

namespace streamsan::analyzer::interpreter {

using api::EffectKind;
using ordering::AccessMode;
using ordering::Footprint;
using ordering::MemoryKind;

Cuda::Cuda(Symbols& symbols, const HostModule& host, ordering::HazardSink& sink, bool per_thread_default_stream)
    : symbols_(symbols), host_(host), sink_(sink), model_({}, sink), per_thread_(per_thread_default_stream) {
  places_.emplace_back();
  turns_.emplace_back();
  names_.emplace_back();
}

ordering::Call Cuda::now(Machine& machine, std::string name) {
  flush();
  end_host_function(machine);
  Place place;
  const auto& frames = machine.thread().frames;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) place.push_back(frame->at);
  // What a thread does for a made-up caller belongs to the call that started it.
  if (made_up_ && machine.thread().started_at != nullptr) place.push_back(machine.thread().started_at);
  places_.push_back(std::move(place));
  const Thread& thread = machine.thread();
  turns_.push_back({.thread = thread.number, .turns = thread.turns, .locked = thread.locks != 0});
  names_.push_back(std::move(name));
  const ordering::SiteId site{static_cast<std::uint32_t>(places_.size() - 1)};
  if (made_up_ && machine.thread().woken_at != nullptr) woken_[site] = machine.thread().woken_at;
  return {thread_, site};
}

ordering::StreamId Cuda::stream(Word handle) {
  if (handle == 2 || (handle == 0 && per_thread_)) {
    const ordering::StreamId own = model_.per_thread_stream(context_of(device_), default_stream_of_);
    if (default_stream_of_ != thread_) of_other_threads_.insert(own);
    return own;
  }
  if (const auto known = streams_.find(handle); known != streams_.end()) return known->second;
  return model_.legacy_stream(context_of(device_));
}
ordering::EventId Cuda::event(Word handle) {
  const auto [known, fresh] = events_.try_emplace(handle);
  if (fresh) known->second = model_.create_event();
  return known->second;
}

/// Now, or when the graph that the stream is captured into is launched.
void Cuda::enqueue(Word handle, ordering::Call call, const Action& action) {
  if (const auto captured = capturing_.find(handle); captured != capturing_.end()) {
    graphs_[captured->second].push_back({call.site, action});
  } else {
    action(call, stream(handle));
  }
}

Outcome Cuda::effect(Machine& machine, const Model& model, const Arguments& arguments) {
  const api::Effect& effect = model.effect;
  const auto argument = [&](int position) {
    return position >= 0 ? arguments.word(static_cast<std::size_t>(position)) : Word{0};
  };
  const auto number = [&](int position) {
    return position >= 0 ? Word{arguments.word32(static_cast<std::size_t>(position))} : Word{0};
  };
  const ordering::Call call = now(machine, model.name);
  if (effect.exports_event || effect.imported) empty_waits_.exported();
  note_changes(effect, arguments.word(0), call.site);
  const ordering::ContextId context = context_of(device_);
  const Word handle = argument(effect.stream);
  const ordering::Form form =
      effect.form == api::CallForm::Synchronous ? ordering::Form::Synchronous : ordering::Form::Asynchronous;
  const auto handle_out = [&](const Ended* ended = nullptr) {
    const Word made = ended != nullptr ? ended->handle : reinterpret_cast<Word>(machine.memory().heap(64));
    machine.store(argument(effect.object), made);
    return made;
  };
  switch (effect.kind) {
    case EffectKind::StreamCreate: {
      const bool apart =
          model.stream_kind ? *model.stream_kind == ordering::StreamKind::NonBlocking : (number(effect.flags) & 1) != 0;
      const ordering::StreamId made =
          model_.create_stream(context, apart ? ordering::StreamKind::NonBlocking : ordering::StreamKind::Blocking);
      if (ended_streams_.empty()) {
        streams_[handle_out()] = made;
      } else {
        streams_[handle_out(&ended_streams_.back())] = made;
        had_handle_[made] = ended_streams_.back();
        ended_streams_.pop_back();
      }
      stream_sites_[made] = call.site;
      stream_devices_[made] = known_device(machine);
      return Outcome::Done;
    }
    case EffectKind::StreamDestroy:
      if (const auto known = streams_.find(argument(effect.object)); known != streams_.end()) {
        model_.destroy_stream(known->second);
        ended_streams_.push_back({.handle = known->first, .stream = known->second, .site = call.site});
        fronts_.erase(known->first);
        streams_.erase(known);
      }
      return Outcome::Done;
    case EffectKind::EventCreate: {
      const ordering::EventId made = model_.create_event();
      events_[handle_out()] = made;
      event_sites_[made] = call.site;
      event_devices_[made] = known_device(machine);
      return Outcome::Done;
    }
    case EffectKind::EventDestroy:
      if (const auto known = events_.find(argument(effect.object)); known != events_.end()) {
        model_.destroy_event(known->second);
        events_.erase(known);
      }
      return Outcome::Done;
    case EffectKind::EventRecord: {
      const Word recorded = argument(effect.event);
      if (const auto captured = capturing_.find(handle); captured != capturing_.end())
        capture_events_[recorded] = captured->second;
      record(handle, call, recorded);
      return Outcome::Done;
    }
    case EffectKind::EventWait: {
      const Word waited = argument(effect.event);
      if (const auto captured = capture_events_.find(waited);
          captured != capture_events_.end() && graphs_.contains(captured->second))
        capturing_.try_emplace(handle, captured->second);
      wait(handle, call, waited);
      return Outcome::Done;
    }
    case EffectKind::SyncStream:
      waits_.push_back(call.site);
      model_.sync_stream(call, stream(handle));
      finish();
      return Outcome::Done;
    case EffectKind::SyncEvent:
      empty_waits_.waited_by_host(event(argument(effect.event)), call.site);
      waits_.push_back(call.site);
      order(argument(effect.event), call.site, std::nullopt);
      model_.sync_event(call, event(argument(effect.event)));
      finish();
      return Outcome::Done;
    case EffectKind::SyncContext:
      waits_.push_back(call.site);
      model_.sync_context(call, context);
      finish();
      return Outcome::Done;
    case EffectKind::QueryStream:
      asked(call.site);
      model_.query_stream_succeeded(call, stream(handle));
      return Outcome::Done;
    case EffectKind::QueryEvent:
      asked(call.site);
      model_.query_event_succeeded(call, event(argument(effect.event)));
      return Outcome::Done;
    case EffectKind::Copy: {
      Word dst = argument(effect.dst), src = argument(effect.src);
      const Word bytes = argument(effect.bytes);
      if (model.symbol_argument >= 0) {
        Word& side = model.symbol_argument == effect.dst ? dst : src;
        side = shadowed(machine, side) + argument(model.offset_argument);
      }
      if (!sides_are_right(machine, model, arguments, dst, src)) return Outcome::Done;
      if (!fits(machine, dst, bytes) || !fits(machine, src, bytes)) return Outcome::Done;
      // What the host can see of it.
      if (machine.memory().contains(dst, bytes) && machine.memory().contains(src, bytes) &&
          !machine.move(dst, src, bytes))
        return Outcome::Stop;
      if (bytes > Memory::kMostSize) return Outcome::Stop;
      keep_pointers(machine, dst, src, bytes);
      stage(machine, call.site, {src, src + bytes}, dst, handle);
      enqueue(handle, call, [this, dst, src, bytes, form](ordering::Call here, ordering::StreamId stream) {
        model_.copy(here, stream, linear(dst, bytes), linear(src, bytes), form);
        finish();
      });
      return Outcome::Done;
    }
    case EffectKind::Copy2D: {
      if (effect.dst < 0 || effect.src < 0) break;
      const Word dst = argument(effect.dst), src = argument(effect.src);
      const Word width = argument(effect.src + 2), height = argument(effect.src + 3);
      const Footprint to{.base = dst,
                         .width = width,
                         .pitch = argument(effect.dst + 1),
                         .rows = height,
                         .slices = 1,
                         .slice_pitch = 0};
      const Footprint from{.base = src,
                           .width = width,
                           .pitch = argument(effect.src + 1),
                           .rows = height,
                           .slices = 1,
                           .slice_pitch = 0};
      const auto last = [](const Footprint& part) {
        return part.rows == 0 ? 0 : part.pitch * (part.rows - 1) + part.width;
      };
      if (!sides_are_right(machine, model, arguments, dst, src)) return Outcome::Done;
      if (!fits(machine, dst, last(to)) || !fits(machine, src, last(from))) return Outcome::Done;
      keep_sides(call.site, {src, src + last(from)}, {dst, dst + last(to)}, handle);
      forget_pointers(dst, last(to));
      enqueue(handle, call, [this, to, from, form](ordering::Call here, ordering::StreamId stream) {
        model_.copy(here, stream, to, from, form);
        finish();
      });
      return Outcome::Done;
    }
    case EffectKind::Fill: {
      const Word dst = argument(effect.dst), bytes = argument(effect.bytes) * effect.unit;
      if (bytes > Memory::kMostSize) return Outcome::Stop;
      if (!fits(machine, dst, bytes)) return Outcome::Done;
      forget_pointers(dst, bytes);
      enqueue(handle, call, [this, dst, bytes, form](ordering::Call here, ordering::StreamId stream) {
        model_.fill(here, stream, linear(dst, bytes), form);
        finish();
      });
      return Outcome::Done;
    }
    case EffectKind::Alloc: {
      const Word size = std::max<Word>(argument(effect.bytes), 1), at = machine.memory().device(size);
      if (at == 0) return Outcome::Stop;
      machine.store(argument(effect.object), at);
      allocated(call, {at, at + size}, MemoryKind::Device);
      return Outcome::Done;
    }
    case EffectKind::AllocPitch: {
      const Word width = argument(effect.pitch + 1), pitch = (width + 511) / 512 * 512,
                 height = argument(effect.height);
      const Word at = height > Memory::kMostSize ? 0 : machine.memory().device(pitch * height);
      if (at == 0) return Outcome::Stop;
      machine.store(argument(effect.object), at);
      machine.store(argument(effect.pitch), pitch);
      allocated(call, {at, at + std::max<Word>(pitch * height, 1)}, MemoryKind::Device);
      return Outcome::Done;
    }
    case EffectKind::AllocHost:
    case EffectKind::AllocManaged: {
      const Word size = std::max<Word>(argument(effect.bytes), 1);
      Byte* const at = machine.memory().pinned(size);
      if (at == nullptr) return Outcome::Stop;
      machine.store(argument(effect.object), reinterpret_cast<Word>(at));
      allocated(call, {reinterpret_cast<Word>(at), reinterpret_cast<Word>(at) + size},
                effect.kind == EffectKind::AllocHost ? MemoryKind::Pinned : MemoryKind::Managed);
      return Outcome::Done;
    }
    case EffectKind::AllocAsync: {
      const Word size = std::max<Word>(argument(effect.bytes), 1), at = machine.memory().device(size);
      if (at == 0) return Outcome::Stop;
      machine.store(argument(effect.object), at);
      blocks_[at] = at + size;
      allocations_.push_back(call.site);
      enqueue(handle, call, [this, at, size](ordering::Call here, ordering::StreamId stream) {
        model_.allocate_async(here, stream, {at, at + size});
      });
      return Outcome::Done;
    }
    case EffectKind::Free:
    case EffectKind::FreeHost:
      if (argument(effect.object) == 0) return Outcome::Done;
      if (const auto* memory = model_.find_allocation(argument(effect.object))) staged_.freed(*memory, call.site);
      model_.free(call, context, argument(effect.object));
      finish();
      return Outcome::Done;
    case EffectKind::Map:
      map(machine, call, {argument(effect.object), argument(effect.object) + argument(effect.bytes)});
      return Outcome::Done;
    case EffectKind::Unmap:
      model_.unmap(call, context, {argument(effect.object), argument(effect.object) + argument(effect.bytes)});
      finish();
      return Outcome::Done;
    case EffectKind::FreeAsync: {
      const Word at = argument(effect.object);
      if (at != 0)
        enqueue(handle, call,
                [this, at](ordering::Call here, ordering::StreamId stream) { model_.free_async(here, stream, at); });
      return Outcome::Done;
    }
    case EffectKind::Register:
      machine.watch(argument(effect.object), argument(effect.bytes));
      model_.allocate(call, {argument(effect.object), argument(effect.object) + argument(effect.bytes)},
                      MemoryKind::Registered, context);
      return Outcome::Done;
    case EffectKind::Unregister:
      model_.free(call, context, argument(effect.object));
      finish();
      return Outcome::Done;
    case EffectKind::HostFunction: {
      if (capturing_.contains(handle)) {
        enqueue(handle, call,
                [this](ordering::Call here, ordering::StreamId stream) { model_.host_function(here, stream); });
        return Outcome::Done;
      }
      // cudaLaunchHostFunc(stream, function, data); cudaStreamAddCallback(stream, function, data, flags).
      const bool callback = host_call(model.name) == HostCall::Callback;
      const llvm::Function* const function = machine.image().function_at(arguments.word(1));
      const auto* declaration = function == nullptr ? nullptr : declared(*function);
      host_function_ = HostFunction{.thread = machine.thread().number,
                                    .depth = machine.thread().frames.size(),
                                    .stream = stream(handle),
                                    .call = call,
                                    .name = declaration == nullptr || declaration->getDeclName().isEmpty()
                                                ? "a host function"
                                                : "host function '" + declaration->getNameAsString() + "'"};
      if (callback) {
        const Word given[] = {handle, 0, arguments.word(2)};
        machine.call_next(arguments.word(1), given);
      } else {
        const Word given[] = {arguments.word(2)};
        machine.call_next(arguments.word(1), given);
      }
      return Outcome::Done;
    }
    case EffectKind::StreamAction:
      if (effect.batch == api::Batch::Copies) return copy_batch(machine, model, arguments);
      if (value_operation(machine, host_call(model.name), handle, call, arguments)) return Outcome::Done;
      enqueue(handle, call,
              [this](ordering::Call here, ordering::StreamId stream) { model_.stream_action(here, stream); });
      return Outcome::Done;
    case EffectKind::StreamJoinsAll:
      if (value_operation(machine, host_call(model.name), handle, call, arguments)) return Outcome::Done;
      enqueue(handle, call,
              [this](ordering::Call here, ordering::StreamId stream) { model_.stream_joins_all(here, stream); });
      return Outcome::Done;
    case EffectKind::CaptureBegin: {
      const Word graph = reinterpret_cast<Word>(machine.memory().heap(64));
      graphs_[graph];
      capturing_[handle] = graph;
      return Outcome::Done;
    }
    case EffectKind::CaptureEnd: {
      const auto captured = capturing_.find(handle);
      if (captured == capturing_.end()) return Outcome::Done;
      const Word graph = captured->second;
      std::erase_if(capturing_, [graph](const auto& one) { return one.second == graph; });
      std::erase_if(capture_events_, [graph](const auto& one) { return one.second == graph; });
      machine.store(argument(effect.object), graph);
      return Outcome::Done;
    }
    case EffectKind::GraphInstantiate: {
      const Word made = handle_out(), variable = argument(effect.object);
      graphs_[made] = graphs_[arguments.word(1)];
      graph_changes_.push_back({call.site, graph_homes_[made] = machine.memory().is_stack(variable) ? 0 : variable});
      return Outcome::Done;
    }
    case EffectKind::GraphLaunch: {
      const Word graph = argument(effect.object);
      const ordering::StreamId in = stream(handle);
      model_.graph_launch(call, in, graph);
      // Launches of one graph follow each other: the first graph_launch() waits for the one before, the second is what
      // the next one waits for.
      launch_captured(machine, graph, call, model.name, in);
      model_.graph_launch(call, in, graph);
      return Outcome::Done;
    }
    case EffectKind::GraphUpdate:
      // A graph that was not captured has nodes that are not known.
      graphs_[arguments.word(0)] = graphs_[arguments.word(1)];
      return Outcome::Done;
    case EffectKind::GraphNodeUpdate:
      graphs_[argument(effect.object)].clear();  // what it does now is not known
      return Outcome::Done;
    case EffectKind::Pass:
    case EffectKind::Share:
    case EffectKind::GlobalLookup:
    case EffectKind::FunctionLookup:
    case EffectKind::PointerAttribute:
    case EffectKind::Init:
      return Outcome::Done;
    default:
      break;
  }
  may_wait(machine);  // what is not followed may make order
  return Outcome::Done;
}

void Cuda::may_wait(Machine& machine) {
  machine.event();
  for (Word device = 0; device < 4; ++device) {
    model_.sync_context(now(machine, "an unknown function"), context_of(device));
    finish();
  }
}

const clang::FunctionDecl* Cuda::declared(const llvm::Function& function) const {
  return llvm::dyn_cast_or_null<clang::FunctionDecl>(host_.declaration(function.getName()));
}

const Model* Cuda::spelled(const std::string& name, std::size_t arguments) const {
  Callee callee;
  callee.qualified = callee.name = name;
  callee.arguments = static_cast<unsigned>(arguments);
  return symbols_.models().find(callee);
}

Outcome Cuda::call(Machine& machine, const llvm::Function& function, const Arguments& arguments, Byte* result) {
  std::string name = function.getName().str();
  device_ = devices_[machine.thread().number];
  default_stream_of_ = ordering::ThreadId{static_cast<std::uint32_t>(machine.thread().number + 1)};
  // Spelt so, 0 means the thread's own stream.
  const bool of_thread = name.ends_with("_ptsz") || name.ends_with("_ptds");
  if (of_thread) name.resize(name.size() - 5);
  const bool before = std::exchange(per_thread_, per_thread_ || of_thread);
  const std::uint64_t events = machine.events();
  const Outcome outcome = called(machine, function, name, arguments, result);
  // Threads of the program take turns, call by call: what one of them has waited for, the others mostly have not.
  if (machine.events() != events) machine.give_way();
  per_thread_ = before;
  return outcome;
}

Outcome Cuda::called(Machine& machine, const llvm::Function& function, const std::string& name,
                     const Arguments& arguments, Byte* result) {
  if (const auto taken = taken_.find(&function); taken != taken_.end()) {
    machine.event();
    library_work(machine, function, *taken->second, arguments);
    // An iterator: behind what was written, as far as anybody knows.
    if (result != nullptr && function.getReturnType()->isPointerTy()) {
      for (std::size_t i = arguments.size(); i-- > 0;) {
        const Word last = arguments.word(i);
        if (!Memory::is_device(last)) continue;
        std::memcpy(result, &last, sizeof last);
        break;
      }
    }
    return Outcome::Done;
  }
  if (give(machine, name, arguments, result)) return Outcome::Done;
  const HostCall what = host_call(name);
  if (launch(machine, what, arguments) || kernel_handles_.call(machine, what, arguments)) {
    machine.event();
    return Outcome::Done;
  }
  if (property(machine, what, arguments, result)) return Outcome::Done;
  const bool cuda = is_cuda_name(name);
  const Model* model = spelled(name, arguments.size());
  if (message(machine, model, name, arguments)) return Outcome::Done;
  if (model != nullptr) machine.event();
  for (const std::string_view ending : {"_v2", "_v3", "_v4"})
    if (model == nullptr && std::string_view(name).ends_with(ending))
      model = spelled(name.substr(0, name.size() - ending.size()), arguments.size());
  if (model == nullptr && !cuda) return Outcome::Unknown;
  if (model == nullptr) {
    may_wait(machine);
    return Outcome::Done;
  }
  if (staged_.any() && edits_graph(function, *model)) staged_ = {};
  switch (model->action) {
    case ActionKind::Effect:
      return effect(machine, *model, arguments);
    case ActionKind::SetDevice:
      if (model->value_argument < 0) {
        lose_device(machine);  // contexts of the driver are not followed
        return Outcome::Unknown;
      }
      device_ = devices_[machine.thread().number] = arguments.word32(static_cast<std::size_t>(model->value_argument));
      without_device_.erase(machine.thread().number);
      return Outcome::Done;
    case ActionKind::SetHandleStream:
      handle_streams_[arguments.word(0)] = arguments.word(1);
      if (!model->uses_work_area) work_areas_.erase(arguments.word(0));
      return Outcome::Done;
    case ActionKind::LibraryWork:
    case ActionKind::Communication:
      library_work(machine, function, *model, arguments);
      return Outcome::Done;
    case ActionKind::Nothing:
      if (model->work_area_argument >= 0)
        work_areas_[arguments.word(0)] = arguments.word(static_cast<std::size_t>(model->work_area_argument));
      if (model->makes_handle) {
        // Of cuFFT a handle is an int.
        const clang::FunctionDecl* maker = declared(function);
        const bool narrow = maker != nullptr && maker->getNumParams() > 0 &&
                            maker->getParamDecl(0)->getType()->isPointerType() &&
                            maker->getParamDecl(0)->getType()->getPointeeType()->isIntegerType();
        machine.store(arguments.word(0), reinterpret_cast<Word>(machine.memory().heap(64)), narrow ? 4 : 8);
      }
      return Outcome::Done;
    default:
      return Outcome::Unknown;
  }
}

}  // namespace streamsan::analyzer::interpreter
