// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the interpreted program calls of CUDA, handed to the model of order. See cuda.cpp.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/interpreter/machine.h"
#include "analyzer/lowering/kernel_effects.h"
#include "analyzer/models/model.h"
#include "ordering/model.h"

namespace clang {
class ASTContext;
}

namespace streamsan::analyzer {
class HostModule;
}

namespace streamsan::analyzer::interpreter {

inline ordering::Footprint linear(Word base, Word bytes) {
  return {.base = base, .width = bytes, .pitch = 0, .rows = 1, .slices = 1, .slice_pitch = 0};
}

/// A call of the program: the instructions under way, innermost first.
using Place = std::vector<const llvm::Instruction*>;

class Cuda {
 public:
  Cuda(clang::ASTContext& context, const Models& models, const HostModule& host, ordering::HazardSink& sink,
       bool per_thread_default_stream);

  Outcome call(Machine& machine, const llvm::Function& function, const Arguments& arguments, Byte* result);
  /// Is it a library's function, in a header, whose meaning is known?
  bool takes(const llvm::Function& function);
  /// Tells what the host has touched last.
  void flush();
  /// From now on the host knows all work to be done: for calls that are not known and may have waited.
  void may_wait(Machine& machine);
  void touch(Machine& machine, Word address, std::size_t size, bool write);
  void host_freed(Machine& machine, Word address, std::size_t size);

  [[nodiscard]] const Place& place(ordering::SiteId site) const { return places_[static_cast<std::size_t>(site)]; }
  /// What the operation at a site is called: "kernel 'scale'".
  [[nodiscard]] const std::string& name(ordering::SiteId site) const { return names_[static_cast<std::size_t>(site)]; }
  [[nodiscard]] std::optional<ordering::SiteId> made(ordering::StreamId stream) const;
  [[nodiscard]] std::optional<ordering::SiteId> made(ordering::EventId event) const;
  /// Of those that were made at the same place, counted from 1.
  [[nodiscard]] std::size_t number(ordering::StreamId stream) const;
  [[nodiscard]] ordering::StreamKind kind(ordering::StreamId stream) const { return model_.kind_of(stream); }

 private:
  struct Touch {
    const llvm::Instruction* by = nullptr;
    std::size_t depth = 0;
    std::uint64_t events = 0;
    bool write = false;
    friend bool operator==(const Touch&, const Touch&) = default;
  };
  using Action = std::function<void(ordering::StreamId)>;
  struct Capture {
    std::vector<std::pair<Word, Action>> work;  ///< stream, what is done
  };

  Outcome called(Machine& machine, const llvm::Function& function, const std::string& name, const Arguments& arguments,
                 Byte* result);
  ordering::Call now(Machine& machine, std::string name);
  ordering::StreamId stream(Word handle);
  ordering::EventId event(Word handle);
  void enqueue(Word stream, const Action& action);
  void finish() { model_.returned(thread_, true); }
  Outcome effect(Machine& machine, const Model& model, const Arguments& arguments, Byte* result);
  bool property(Machine& machine, std::string_view name, const Arguments& arguments, Byte* result);
  bool launch(Machine& machine, std::string_view name, const Arguments& arguments, Byte* result);
  void launch_kernel(Machine& machine, const llvm::Function& stub, std::uint64_t threads, Word parameters, Word stream,
                     bool overlaps);
  void library_work(Machine& machine, const llvm::Function& function, const Model& model, const Arguments& arguments);
  Word shadowed(Machine& machine, Word variable);
  bool put(Machine& machine, Word address, Word value, std::size_t size = 8);

  clang::ASTContext& context_;
  const Models& models_;
  const HostModule& host_;
  ordering::Model model_;
  KernelEffects kernels_;
  std::vector<Place> places_;
  std::vector<std::string> names_;
  std::map<Word, ordering::StreamId> streams_;
  std::map<Word, ordering::EventId> events_;
  std::map<ordering::StreamId, ordering::SiteId> stream_sites_;
  std::map<ordering::EventId, ordering::SiteId> event_sites_;
  std::map<Word, GridBehaviour> fronts_;  ///< of the last kernel in a stream
  std::map<Word, Word> handle_streams_;   ///< of a library's handle
  std::map<Word, Word> shadows_;          ///< variables of the device, by that of the host
  std::map<Word, std::pair<Word, std::size_t>> arrays_;
  std::map<Word, Capture> graphs_;
  std::map<Word, Word> capturing_;  ///< stream -> graph
  std::map<Word, Word> capture_events_;
  std::map<Word, std::size_t> watched_;  ///< registered host memory
  std::map<std::string, std::uint32_t> functions_;
  std::map<const llvm::Function*, const Model*> taken_;
  ordering::ThreadId thread_{1};
  bool per_thread_ = false;  ///< what 0 means as a stream
  Touch last_touch_;
  ordering::Call touch_call_;
  std::map<std::size_t, Word> devices_;  ///< the current one of each thread
  Word device_ = 0;                      ///< that of the thread that calls
  ordering::Range touched_{};            ///< by touch_call_, and not yet told
  std::size_t in_host_function_ = 0;     ///< depth of the frames below it; 0: in none
  struct Launch {
    Word grid[2] = {1, 1};
    Word block[2] = {1, 1};
    Word shared = 0;
    Word stream = 0;
  };
  std::vector<Launch> launches_;  ///< configured, and not yet made
};

}  // namespace streamsan::analyzer::interpreter
