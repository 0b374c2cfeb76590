// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HIP: the runtime's functions, and those of the driver that have no runtime function of that name, under HIP's prefix.
// hip.def has the few that differ. HIP's per-thread spellings end in _spt. What HIP does differently on its own
// hardware (a null stream that does not wait for blocking streams in the same cases) is not modelled: CUDA's rules
// hold, which on such devices may hide a race.
#include "analyzer/models/runtime.h"

namespace streamsan::analyzer {

namespace {

using namespace api;

constexpr Effect in_stream(Position stream, Effect effect) {
  effect.stream = stream;
  return effect;
}

constexpr ModelRow kHipRows[] = {
#define SS_HIP_AS(function_, cuda_)
#define SS_HIP(function_, effect_, ...) {.pattern = #function_, .facts = {.effect = effect_, __VA_ARGS__}},
#include "analyzer/models/hip.def"
#undef SS_HIP
#undef SS_HIP_AS
};

constexpr std::pair<std::string_view, std::string_view> kSame[] = {
#define SS_HIP_AS(function_, cuda_) {#function_, #cuda_},
#define SS_HIP(function_, effect_, ...)
#include "analyzer/models/hip.def"
#undef SS_HIP
#undef SS_HIP_AS
};

void add_as(Catalog& catalog, const std::string& name, Model model, int arguments) {
  model.name = name;
  model.of_api = ir::Api::Hip;
  catalog.add(name, std::move(model), arguments);
}

}  // namespace

void add_hip(Catalog& catalog) {
  for (const ModelRow& row : kHipRows) {
    Model model = model_of({}, row.facts);
    model.of_api = ir::Api::Hip;
    catalog.add(row.pattern, model, row.arguments);
  }
  for (const auto& [hip, cuda] : kSame)
    if (const Model* model = catalog.find(cuda, 0)) add_as(catalog, std::string(hip), *model, kAnyArguments);
  constexpr std::string_view kRuntimePrefix = "cuda";
  for (const RuntimeRow& row : runtime_rows()) {
    if (!row.function.starts_with(kRuntimePrefix)) continue;
    const std::string name = "hip" + std::string(row.function.substr(kRuntimePrefix.size()));
    Model model = model_of(name, row.facts);
    model.driver = row.driver;
    model.of_api = ir::Api::Hip;
    catalog.add(name, model, row.arguments);
    if (!has_per_thread_spelling(row)) continue;
    model.per_thread = true;
    catalog.add(name + "_spt", std::move(model), row.arguments);
  }
  constexpr std::string_view kDriverPrefix = "cu";
  for (const api::Row& row : kRows) {
    const std::string base(row.base);
    const std::string name = "hip" + base.substr(kDriverPrefix.size());
    if (const Model* model = catalog.find(base, 0)) add_as(catalog, name, *model, kAnyArguments);
  }
}

}  // namespace streamsan::analyzer
