// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver: no rows here, they are those of ordering/api/cuda_api.def, which the run-time half obeys too.
//
// cuda.h turns the name a program writes into that of its newest version (cuMemcpyHtoDAsync -> cuMemcpyHtoDAsync_v2),
// or into the _ptsz spelling where per-thread default streams are asked for. So each export has a model, shown under
// the name that was written, and the written name itself stands for the newest version (a header without the defines).
#include <charconv>

#include "analyzer/models/catalog.h"

namespace streamsan::analyzer {

namespace {

/// 1 for an export without a suffix.
int version(const api::Row& row) {
  std::string_view suffix = row.symbol.substr(row.base.size());
  int number = 1;
  if (suffix.starts_with("_v")) std::from_chars(suffix.data() + 2, suffix.data() + suffix.size(), number);
  return number;
}

}  // namespace

const api::Row* newest_row(std::string_view base) {
  const api::Row* best = nullptr;
  for (const api::Row& row : api::kRows) {
    if (row.base != base || row.default_stream != api::DefaultStream::Legacy) continue;
    if (best == nullptr || version(row) > version(*best)) best = &row;
  }
  return best;
}

void add_driver(Catalog& catalog) {
  std::unordered_map<std::string_view, const api::Row*> newest;
  for (const api::Row& row : api::kRows) {
    Model model;
    model.name = row.base;
    model.effect = row.effect;
    model.driver = row.base;
    model.of_api = ir::Api::Driver;
    model.per_thread = row.default_stream == api::DefaultStream::PerThread;
    if (row.effect.asks_event_time) {
      // The run-time half needs nothing of it; the check event-timing-misuse does.
      model.action = ActionKind::Elapsed;
      model.effect.event = 1;
      model.effect.object = 2;
    }
    if (row.effect.swaps_capture_mode) model.action = ActionKind::SwapCaptureMode;
    if (row.effect.switches_context) model.action = ActionKind::SetDevice;
    // An unversioned symbol is an older function than the name that a program writes.
    if (row.symbol != row.base) catalog.add(row.symbol, model);
    const api::Row*& best = newest[row.base];
    if (!model.per_thread && (best == nullptr || version(row) > version(*best))) {
      best = &row;
      catalog.put_first(std::string(row.base), model, kAnyArguments);
    }
  }
}

}  // namespace streamsan::analyzer
