// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The judge: reads one process's records in order and tells the ordering model what they mean.
//
// One function for each record kind, and no knowledge of order in any of them: what orders what is decided in
// ordering/. What is decided here:
//   * BLOCKING CALLS come as two records. The first says what was asked; CallEnd says that the thread has its thread of
//     control back, and only then does the model learn of the edge to the host (Model::returned). A call that does not
//     block returns at once. A CallEnd that never comes (the process died, the number of threads does not fit a record)
//     is taken as a return, which errs towards silence.
//   * CAPTURED CALLS do not reach the model (handles.h). A launch of the graph is then one operation without accesses.
//   * SHADOWED DEFINITIONS: looking up the same module variable twice is not a new allocation.
//
// Hazards go to the HazardSink of the model's constructor. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interposer/trace/reader.h"
#include "judge/handles.h"
#include "judge/places.h"
#include "ordering/model.h"

namespace streamsan::judge {

class Judge {
 public:
  Judge(ordering::Options options, ordering::HazardSink& sink) : model_(options, sink), handles_(model_) {}

  void consume(const trace::Item& item);

  [[nodiscard]] const ordering::Model& model() const { return model_; }
  [[nodiscard]] const Places& places() const { return places_; }
  [[nodiscard]] const Handles& handles() const { return handles_; }
  /// What the recorder had to say, one line each.
  [[nodiscard]] const std::vector<std::string>& messages() const { return messages_; }
  /// Functions that were called and are not modelled: "cuGraphAddNode (3 calls)".
  [[nodiscard]] const std::vector<std::string>& unmodelled() const { return unmodelled_; }

 private:
  ordering::Call call(const trace::Record& record, std::uint32_t kernel = 0);
  ordering::StreamId stream_of(const trace::Record& record);
  void blocks(const trace::Item& item);
  void finish_pending(ordering::ThreadId thread);

  void launch(const trace::Item& item);
  void copy(const trace::Item& item);
  void fill(const trace::Item& item);
  void allocate(const trace::Record& record);
  void free(const trace::Item& item);
  void wait_event(const trace::Record& record);
  void sync_event(const trace::Item& item);
  void call_end(const trace::Item& item);

  ordering::Model model_;
  Handles handles_;
  Places places_;
  ordering::FlatMap<std::uint64_t> pending_;  ///< thread -> position + 1 of its blocking call
  ordering::FlatMap<std::uint64_t> graphs_;   ///< raw exec handle -> key of its present life
  std::uint64_t next_graph_ = 1;
  std::vector<ordering::PointerArgument> pointers_;  ///< scratch
  std::vector<std::string> messages_;
  std::vector<std::string> unmodelled_;
};

}  // namespace streamsan::judge
