// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs calls of CUDA by the catalogue of models (models/model.h), which says which arguments are the stream and the
// memory. ordering/ decides about the order, as at run time: the same rules judge a program that is interpreted and one
// that runs.
//
// Every call succeeds. Device memory has addresses and no contents; the host reads zeros from it.
#include "analyzer/interpreter/cuda.h"

#include <cstring>
#include <utility>

#include "analyzer/interpreter/cuda_effects.h"
#include "analyzer/interpreter/module.h"
#include "clang/AST/Decl.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"

namespace streamsan::analyzer::interpreter {

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
  // The work of a thread belongs to the call of the made-up caller that started it.
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

/// Does the action now, or, if the stream is captured, when the graph is launched.
void Cuda::enqueue(Word handle, ordering::Call call, const Action& action) {
  if (const auto captured = capturing_.find(handle); captured != capturing_.end()) {
    graphs_[captured->second].push_back({call.site, action});
  } else {
    action(call, stream(handle));
  }
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
  // In functions with this suffix, stream 0 means the per-thread default stream.
  const bool of_thread = name.ends_with("_ptsz") || name.ends_with("_ptds");
  if (of_thread) name.resize(name.size() - 5);
  const bool before = std::exchange(per_thread_, per_thread_ || of_thread);
  const std::uint64_t events = machine.events();
  const Outcome outcome = called(machine, function, name, arguments, result);
  // Threads of the program take turns, call by call: a wait of one thread is mostly no wait of the others.
  if (machine.events() != events) machine.give_way();
  per_thread_ = before;
  return outcome;
}

Outcome Cuda::called(Machine& machine, const llvm::Function& function, const std::string& name,
                     const Arguments& arguments, Byte* result) {
  if (const auto taken = taken_.find(&function); taken != taken_.end()) {
    machine.event();
    library_work(machine, function, *taken->second, arguments);
    // The result is an iterator: assume that it points behind the output.
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
      return Effects(*this, machine, *model, arguments).run();
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
        // A handle of cuFFT is an int.
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
