// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps the hazards that are worth a report, and counts the rest.
//
// A racy loop yields a hazard for every turn. Hazards between the same two sites of the same kind are one: only the
// first is kept, the others are a look-up and an increment. No text is made here (explain.h does that, at the end), so
// this is cheap enough to sit inside the model's hottest path.
#pragma once

#include <cstdint>
#include <vector>

#include "judge/handles.h"
#include "ordering/flat_map.h"
#include "ordering/hazard.h"

namespace streamsan::judge {

struct KeptHazard {
  ordering::Hazard hazard;
  std::uint64_t count = 1;
  // Handles may be destroyed and recycled before the report is made.
  StreamLife earlier_stream;
  StreamLife later_stream;
  EventLife event;
};

class Hazards : public ordering::HazardSink {
 public:
  explicit Hazards(std::size_t most) : most_(most) {}
  /// The handles to take names from; needed before the first hazard. (The model, which the handles refer to, wants its
  /// sink first.)
  void take_names_from(const Handles& handles) { handles_ = &handles; }

  void hazard(const ordering::Hazard& hazard) override;

  [[nodiscard]] const std::vector<KeptHazard>& kept() const { return kept_; }
  /// Distinct hazards beyond the limit: counted, not kept.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  std::size_t most_;
  const Handles* handles_ = nullptr;
  std::vector<KeptHazard> kept_;
  ordering::FlatMap<std::uint32_t> index_;  ///< fold key -> index in kept_
  std::uint64_t dropped_ = 0;
};

}  // namespace streamsan::judge
