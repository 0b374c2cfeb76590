// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of the runtime against the toolkit's header, and against the driver functions that they are made of.
#include "analyzer/models/runtime.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "analyzer/models/tests/header.h"

namespace streamsan::analyzer {
namespace {

using api::Effect;
using api::EffectKind;

TEST(Runtime, HasEveryFunctionOfTheHeader) {
  ASSERT_GT(declared_runtime_functions().size(), 250u) << "the header was not read";
  std::set<std::string_view> rows;
  for (const RuntimeRow& row : runtime_rows()) rows.insert(row.function);
  for (const auto& [function, parameters] : declared_runtime_functions())
    EXPECT_TRUE(rows.contains(function)) << function << " has no row in runtime.def";
}

/// The headers define, under CUDA_API_PER_THREAD_DEFAULT_STREAM, cudaMemcpy as cudaMemcpy_ptds and so on.
TEST(Runtime, HasEveryPerThreadSpellingOfTheHeader) {
  std::ifstream file(STREAMSAN_RUNTIME_HEADER);
  const std::string header{std::istreambuf_iterator<char>(file), {}};
  const std::regex define("#\\s*define\\s+(\\w+)\\s+__CUDART_API_(PTDS|PTSZ)\\((\\w+)\\)");
  const Models models;
  int found = 0;
  for (std::sregex_iterator at(header.begin(), header.end(), define), end; at != end; ++at, ++found) {
    Callee callee;
    callee.qualified = (*at)[3].str() + ((*at)[2] == "PTDS" ? "_ptds" : "_ptsz");
    const Model* const model = models.find(callee);
    ASSERT_NE(model, nullptr) << callee.qualified;
    EXPECT_TRUE(model->per_thread) << callee.qualified;
    EXPECT_EQ(model->name, (*at)[1]);
  }
  EXPECT_GT(found, 50);
}

TEST(Runtime, HasOneRowForEachOverload) {
  std::set<std::pair<std::string_view, int>> seen;
  for (const RuntimeRow& row : runtime_rows())
    EXPECT_TRUE(seen.emplace(row.function, row.arguments).second) << row.function << " stands twice";
}

TEST(Runtime, PassedFunctionsSayWhy) {
  for (const RuntimeRow& row : runtime_rows()) {
    const Effect& effect = row.facts.effect;
    const bool passed =
        (effect.kind == EffectKind::Pass && row.facts.action == ActionKind::Effect) || effect.kind == EffectKind::Later;
    EXPECT_EQ(passed && effect.why.empty(), false) << row.function;
  }
}

/// Each position names a parameter whose type is what the position is for.
TEST(Runtime, PositionsNameParametersOfTheirType) {
  int compared = 0;
  for (const RuntimeRow& row : runtime_rows()) {
    if (row.arguments != kAnyArguments) continue;
    const auto found = declared_runtime_functions().find(std::string(row.function));
    if (found == declared_runtime_functions().end()) continue;
    const std::vector<std::string>& parameters = found->second;
    const auto expect = [&](int position, std::initializer_list<const char*> words, const char* what) {
      if (position < 0) return;
      ++compared;
      ASSERT_LT(static_cast<std::size_t>(position), parameters.size()) << row.function << " " << what;
      const std::string& text = parameters[static_cast<std::size_t>(position)];
      bool any = false;
      for (const char* word : words) any |= text.find(word) != std::string::npos;
      EXPECT_TRUE(any) << row.function << ": " << what << " at " << position << " is '" << text << "'";
    };
    const Effect& effect = row.facts.effect;
    if (effect.batch == api::Batch::Copies) {
      expect(effect.stream, {"cudaStream_t"}, "stream");
      expect(effect.dst, {"*const *dsts"}, "dst");
      expect(effect.src, {"*const *srcs"}, "src");
      expect(effect.bytes, {"size_t *sizes"}, "bytes");
      expect(effect.params, {"cudaMemcpyAttributes *"}, "attributes");
      continue;
    }
    expect(effect.stream, {"cudaStream_t"}, "stream");
    expect(effect.event, {"cudaEvent_t"}, "event");
    expect(row.facts.kind_argument, {"cudaMemcpyKind"}, "kind");
    expect(effect.flags, {"flags"}, "flags");
    if (effect.bytes >= 0 && row.facts.action == ActionKind::Effect)
      expect(effect.bytes, {"size_t count", "size_t size", "size_t width", "size_t *bytes"}, "bytes");
    expect(effect.dst, {"void *dst", "void *devPtr", "symbol", "struct cudaPitchedPtr"}, "dst");
    expect(effect.src,
           {"void *src", "symbol", "Parms *p", "cudaGraph_t ", "cudaGraphNode_t ", "*config", "*launchParamsList"},
           "src");
    expect(effect.extents, {"dim3 gridDim"}, "extents");
    expect(effect.params, {"args", "name", "*instantiateParams"}, "params");
    // Every function that takes one stream by value and enqueues or orders names it.
    if (effect.kind == EffectKind::Pass || effect.kind == EffectKind::Later || effect.kind == EffectKind::StreamDestroy)
      continue;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].starts_with("cudaStream_t ") && parameters[i].find('*') == std::string::npos) {
        EXPECT_EQ(effect.stream, static_cast<int>(i)) << row.function << " does not name its stream";
      }
    }
  }
  EXPECT_GT(compared, 130);
}

std::string shape(const Effect& effect) {
  std::string out;
  const auto add = [&](api::Position position, const char* name) {
    if (position != api::kAbsent) out += std::string(" ") + name;
  };
  add(effect.object, "object");
  add(effect.dst, "dst");
  add(effect.src, "src");
  add(effect.bytes, "bytes");
  add(effect.pitch, "pitch");
  add(effect.height, "height");
  add(effect.stream, "stream");
  add(effect.event, "event");
  add(effect.flags, "flags");
  add(effect.params, "params");
  add(effect.extents, "extents");
  return out;
}

/// Where the runtime is not the driver with other positions, and why.
const std::map<std::string_view, std::string_view> kDifferent = {
    {"cudaDeviceReset", "of the current device, not of one named"},
    {"cudaThreadExit", "of the current device, not of one named"},
    {"cudaDeviceSynchronize", "of the current context, not of one named"},
    {"cudaThreadSynchronize", "of the current context, not of one named"},
    {"cudaStreamCreate", "has no flags: a blocking stream"},
    {"cudaEventCreate", "has no flags: an event that times"},
    {"cudaEventElapsedTime", "the driver's row needs nothing of it"},
    {"cudaMemcpy2D", "names its sides; the driver is given a descriptor"},
    {"cudaMemcpy2DAsync", "names its sides; the driver is given a descriptor"},
    {"cudaMemcpy2DFromArray", "names its sides; the driver is given a descriptor"},
    {"cudaMemcpy2DFromArrayAsync", "names its sides; the driver is given a descriptor"},
    {"cudaMemcpy2DArrayToArray", "names its sides; the driver is given a descriptor"},
    {"cudaMemset3D", "the pointer is a field of a struct passed by value"},
    {"cudaMemset3DAsync", "the pointer is a field of a struct passed by value"},
    {"cudaMalloc3D", "the pointer is a field of the struct it fills"},
    {"cudaGetSymbolAddress", "says no size"},
    {"cudaMemcpyBatchAsync", "the lists of a batch are not looked into"},
    {"cudaMemcpy3DBatchAsync", "the lists of a batch are not looked into"},
    {"cudaMemDiscardBatchAsync", "the lists of a batch are not looked into"},
    {"cudaMemDiscardAndPrefetchBatchAsync", "the lists of a batch are not looked into"},
    {"cudaSignalExternalSemaphoresAsync", "which semaphores and values these are is not looked at"},
    {"cudaWaitExternalSemaphoresAsync", "which semaphores and values these are is not looked at"},
    {"cudaLaunchKernelEx", "takes the kernel's arguments one by one"},
};

/// The recorder reads graphs back from the driver. streamsan-tidy does not look inside of them.
bool is_of_graphs_inside(const RuntimeRow& row, const Effect& theirs) {
  const bool of_graphs =
      row.function.starts_with("cudaGraph") || row.function.starts_with("cudaStreamUpdateCaptureDependencies");
  const bool inside = theirs.kind == EffectKind::Pass || theirs.kind == EffectKind::GraphAddNode ||
                      theirs.kind == EffectKind::GraphClone || theirs.kind == EffectKind::GraphUpdate ||
                      theirs.kind == EffectKind::GraphNodeUpdate;
  return of_graphs && inside && row.facts.effect.kind == EffectKind::Later;
}

/// Nor does it follow arrays, which the recorder does.
bool is_of_arrays(const Effect& theirs) {
  return theirs.kind == EffectKind::ArrayCreate || theirs.kind == EffectKind::ArrayPart ||
         theirs.kind == EffectKind::ArrayFree || theirs.kind == EffectKind::TextureCreate;
}

TEST(Runtime, AgreesWithTheDriver) {
  std::set<std::string_view> differ;
  int compared = 0;
  for (const RuntimeRow& row : runtime_rows()) {
    if (row.driver.empty()) {
      // What no driver function stands behind has no effect.
      EXPECT_TRUE(row.facts.effect.kind == EffectKind::Pass) << row.function;
      continue;
    }
    const api::Row* const driver = newest_row(row.driver);
    ASSERT_NE(driver, nullptr) << row.function << " is made of " << row.driver << ", which has no row";
    ++compared;
    const Effect& mine = row.facts.effect;
    const Effect& theirs = driver->effect;
    if (is_of_graphs_inside(row, theirs) || is_of_arrays(theirs)) continue;
    const bool same = mine.kind == theirs.kind && mine.form == theirs.form && mine.point == theirs.point &&
                      mine.unit == theirs.unit && mine.hides_order == theirs.hides_order &&
                      shape(mine) == shape(theirs);
    if (!same) differ.insert(row.function);
    EXPECT_TRUE(same || kDifferent.contains(row.function))
        << row.function << " is" << shape(mine) << " (" << name(mine.kind) << "), but " << row.driver << " is"
        << shape(theirs) << " (" << name(theirs.kind) << ")";
    // Even those that differ do the same kind of thing, and wait or do not wait alike.
    if (row.function == "cudaMalloc3D") continue;
    EXPECT_EQ(mine.kind, theirs.kind) << row.function;
    EXPECT_EQ(mine.form, theirs.form) << row.function;
  }
  EXPECT_GT(compared, 250);
  for (const auto& [function, why] : kDifferent)
    EXPECT_TRUE(differ.contains(function)) << function << " differs no longer";
}

TEST(Runtime, SynchronousHasNoStreamAndAsynchronousHasOne) {
  for (const RuntimeRow& row : runtime_rows()) {
    const std::string_view function = row.function;
    const Effect& effect = row.facts.effect;
    if (!function.starts_with("cudaMemcpy") && !function.starts_with("cudaMemset")) continue;
    EXPECT_EQ(function.ends_with("Async"), effect.stream != api::kAbsent) << function;
    EXPECT_EQ(function.ends_with("Async"), effect.form == api::CallForm::Asynchronous) << function;
  }
}

}  // namespace
}  // namespace streamsan::analyzer
