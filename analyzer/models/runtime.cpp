// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA runtime: runtime.def, read once for cuda*, and once more for the _ptds and _ptsz spellings that the headers
// put in their place when a translation unit asks for per-thread default streams.
#include "analyzer/models/runtime.h"

namespace streamsan::analyzer {

namespace {

using namespace api;
using ordering::StreamKind;

constexpr std::string_view driver_name(std::string_view name) { return name == "none" ? std::string_view() : name; }

/// 2-D copies of the runtime name their sides; those of the driver are given a descriptor.
constexpr Effect rows_2d(Position dst, Position src, Direction direction) {
  Effect effect = copy_2d(src);
  effect.dst = dst;
  effect.direction = direction;
  return effect;
}
constexpr Effect rows_2d_async(Position dst, Position src, Position stream, Direction direction) {
  Effect effect = copy_2d_async(src, stream);
  effect.dst = dst;
  effect.direction = direction;
  return effect;
}

constexpr RuntimeRow kRuntimeRows[] = {
#define SS_OVERLOAD(function_, arguments_, driver_, effect_, ...) \
  {.function = #function_,                                        \
   .arguments = arguments_,                                       \
   .driver = driver_name(#driver_),                               \
   .facts = {.effect = effect_, __VA_ARGS__}},
#define SS_RUNTIME(function_, driver_, effect_, ...) \
  {.function = #function_, .driver = driver_name(#driver_), .facts = {.effect = effect_, __VA_ARGS__}},
#include "analyzer/models/runtime.def"
#undef SS_RUNTIME
#undef SS_OVERLOAD
};

}  // namespace

bool has_per_thread_spelling(const RuntimeRow& row) {
  const EffectKind kind = row.facts.effect.kind;
  return (kind != EffectKind::Pass && kind != EffectKind::Share && kind != EffectKind::Later) ||
         row.function.starts_with("cudaStream") || row.function.starts_with("cudaGetDriverEntryPoint");
}

std::span<const RuntimeRow> runtime_rows() { return kRuntimeRows; }

void add_runtime(Catalog& catalog) {
  for (const RuntimeRow& row : runtime_rows()) {
    Model model = model_of(std::string(row.function), row.facts);
    model.driver = row.driver;
    model.of_api = ir::Api::Runtime;
    catalog.add(row.function, model, row.arguments);
    if (!has_per_thread_spelling(row)) continue;
    model.per_thread = true;
    catalog.add(std::string(row.function) + "_ptsz", model, row.arguments);
    catalog.add(std::string(row.function) + "_ptds", model, row.arguments);
  }
}

}  // namespace streamsan::analyzer
