// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows a program in an interpreter (machine.h), hands its calls of CUDA to the model of order (cuda.h), and makes
// hazards of what that finds.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/interpreter/cuda.h"
#include "analyzer/interpreter/follow.h"
#include "analyzer/interpreter/library.h"
#include "analyzer/interpreter/machine.h"
#include "analyzer/interpreter/torch.h"
#include "analyzer/lowering/sites.h"

namespace clang {
class SourceLocation;
class SourceManager;
}  // namespace clang

namespace streamsan::analyzer::interpreter {

/// The operation is in a callback that a made-up caller has passed to the program.
bool is_made_up(const Place& place);

class Follower : public World, public ordering::HazardSink {
 public:
  /// `symbols` and `host` are of the same translation unit, and outlive this.
  Follower(Symbols& symbols, const HostModule& host, const FollowOptions& options, Followed& followed);

  Outcome call(Machine& machine, const llvm::Function& function, const Arguments& arguments, Byte* result) override;
  bool takes(const llvm::Function& function) override {
    return Library::takes(function) || torch_.takes(function) || cuda_.takes(function);
  }
  void polled(Machine& machine) override { cuda_.may_wait(machine); }
  void touch(Machine& machine, Word address, std::size_t size, bool write) override {
    cuda_.touch(machine, address, size, write);
  }

  void hazard(const ordering::Hazard& hazard) override;
  bool wants_common_bytes(const ordering::Hazard&) override { return false; }

  /// Reports the host's last accesses; and, unless the run stopped early, what is still in use at its end.
  void end(Machine& machine) {
    cuda_.flush();
    if (!machine.stopped().empty()) return;
    cuda_.hand_out_again(machine);
    if (const std::vector<EmptyWait> waits = cuda_.empty_waits(); !waits.empty() && !may_be_recorded())
      for (const EmptyWait& wait : waits) empty_wait(wait);
  }
  /// When the CUDA calls were made, and which of them conflict.
  [[nodiscard]] Followed::Run run() const;
  [[nodiscard]] Cuda& cuda() { return cuda_; }
  [[nodiscard]] Torch& torch() { return torch_; }

  /// Does a conflict count? Asked before the hazard is made. Not set: all conflicts count.
  std::function<bool(const ordering::Hazard&)> counts;
  struct Sides {
    ordering::SiteId earlier{}, later{};
    bool of_array = false;            ///< their streams are elements of one array of the caller's
    ordering::StreamId from{}, to{};  ///< the streams of the earlier and the later side; the host has none
  };
  /// The sides of each finding, in the order of the findings.
  [[nodiscard]] const std::vector<Sides>& sides() const { return sides_; }
  /// The note of a finding that says how the run came there.
  std::string way = "main() was followed to here";

 private:
  void not_known(Machine& machine, const llvm::Function& function);
  clang::SourceLocation location(const llvm::Instruction& instruction) const;
  bool is_implicit(const llvm::Function& function) const;
  std::string_view line_at(clang::SourceLocation place) const;
  Where where(ordering::SiteId site) const;
  analyzer::Action action(const ordering::Access& access) const;
  Thing stream(ordering::StreamId stream) const;
  /// "Class::" of the method that made the stream; empty: no method did.
  [[nodiscard]] std::string class_of(ordering::StreamId stream) const;
  std::string argument(const Where& where, std::size_t which = 0) const;
  std::string made_for(const Where& where) const;

  const clang::SourceManager& sources_;
  Sites sites_;
  Symbols& symbols_;
  const HostModule& host_;
  Followed& followed_;
  Cuda cuda_;
  Torch torch_;
  Library library_;
  const Machine* machine_ = nullptr;
  [[nodiscard]] std::optional<Hazard> without_record(CheckCase which, ordering::SiteId site, ordering::EventId event,
                                                     ordering::StreamId on) const;
  void failing_record(const FailingRecord& record);
  /// Does the program record events in ways that this run does not show?
  [[nodiscard]] bool may_be_recorded() const;
  void empty_wait(const EmptyWait& wait);
  void overtaken_copy(const OvertakenCopy& copy);
  void add(Hazard made, const Sides& sides);

  std::vector<Sides> sides_;
  std::vector<std::pair<ordering::SiteId, ordering::SiteId>> met_;  ///< conflicts, one per pair of places
  std::set<std::pair<Place, Place>> met_at_;
  std::set<const llvm::Function*> harmless_;  ///< unknown functions that are harmless
  std::set<std::tuple<ordering::HazardKind, ordering::Order, Place, Place>> seen_;
  std::set<std::tuple<Check, Level, std::string, unsigned, std::string, unsigned>> told_;
};

}  // namespace streamsan::analyzer::interpreter
