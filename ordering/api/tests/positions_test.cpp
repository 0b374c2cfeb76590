// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every position of every row points at the right parameter.
//
// The rows are written by hand and the wrappers believe them, so a wrong number is read as a stream, a size or an
// address without complaint. Here each kind of effect says which positions it has, of which type the parameter must be
// and how cuda.h calls it; all rows are held against that. Types come from decltype, names from the header: a swapped
// source and destination have the same type. The other direction is tested too: a function that takes a stream must say
// where, unless it stands on the short list of those for which the stream is only a thing to read or set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <typeindex>
#include <vector>

#include "ordering/api/row.h"
#include "ordering/api/tests/declarations.h"
#include "ordering/api/tests/signatures.h"

namespace streamsan::api {
namespace {

using Types = std::vector<std::type_index>;
using Names = std::vector<std::string_view>;  ///< lower case; empty: any name

struct Slot {
  const char* role;
  Position Effect::* position;
  Types types;
  Names names;
  bool optional = false;
};

#define SS_ROLE(role) \
  std::pair { #role, &Effect::role }
const std::vector<std::pair<const char*, Position Effect::*>> kPositions = {
    SS_ROLE(object), SS_ROLE(dst),     SS_ROLE(src),       SS_ROLE(bytes),    SS_ROLE(pitch),
    SS_ROLE(height), SS_ROLE(stream),  SS_ROLE(event),     SS_ROLE(flags),    SS_ROLE(params),
    SS_ROLE(count),  SS_ROLE(extents), SS_ROLE(dst_array), SS_ROLE(src_array)};
#undef SS_ROLE

template <typename... T>
Types any_of() {
  return {typeid(T)...};
}

// CUdeviceptr_v1 and the sizes that go with it are unsigned int.
const Types kDevice = any_of<CUdeviceptr, CUdeviceptr_v1>();
const Types kDeviceOut = any_of<CUdeviceptr*, CUdeviceptr_v1*>();
const Types kHost = any_of<void*, const void*>();
const Types kSize = any_of<std::size_t, unsigned int>();
const Types kShape = any_of<const CUDA_ARRAY_DESCRIPTOR*, const CUDA_ARRAY_DESCRIPTOR_v1*,
                            const CUDA_ARRAY3D_DESCRIPTOR*, const CUDA_ARRAY3D_DESCRIPTOR_v1*>();
const Types kSizeOut = any_of<std::size_t*, unsigned int*>();

Types both(Types a, const Types& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Slot object(Types types, Names names = {}) { return {"object", &Effect::object, std::move(types), std::move(names)}; }
Slot bytes(Types types, Names names) { return {"bytes", &Effect::bytes, std::move(types), std::move(names)}; }
Slot stream() { return {"stream", &Effect::stream, any_of<CUstream>(), {}}; }
Slot event() { return {"event", &Effect::event, any_of<CUevent>(), {}}; }
Slot flags() { return {"flags", &Effect::flags, any_of<unsigned int>(), {"flags"}}; }
Slot number(Names names) { return {"count", &Effect::count, any_of<unsigned int>(), std::move(names)}; }
Slot source(Types types, Names names = {}) { return {"src", &Effect::src, std::move(types), std::move(names)}; }
Slot params() { return {"params", &Effect::params, any_of<void**>(), {"kernelparams"}}; }
Slot optional(Slot slot) {
  slot.optional = true;
  return slot;
}

std::vector<Slot> copy_slots(const Effect& effect) {
  const Direction d = effect.direction;
  const bool array = d == Direction::Array;
  Slot dst{"dst", &Effect::dst, kDevice, {"dst", "dstdevice"}};
  Slot src{"src", &Effect::src, kDevice, {"src", "srcdevice"}};
  if (d == Direction::DeviceToHost) dst.types = any_of<void*>(), dst.names = {"dsthost"};
  if (d == Direction::HostToDevice) src.types = any_of<const void*>(), src.names = {"srchost"};
  if (array) {
    dst = optional({"dst", &Effect::dst, both(kDevice, any_of<void*>()), {"dstdevice", "dsthost"}});
    src = optional({"src", &Effect::src, both(kDevice, any_of<const void*>()), {"srcdevice", "srchost"}});
  }
  std::vector<Slot> out = {dst, src, bytes(kSize, {"bytecount"}), optional(stream())};
  if (!array) return out;
  out.push_back(optional({"dst_array", &Effect::dst_array, any_of<CUarray>(), {"dstarray"}}));
  out.push_back(optional({"src_array", &Effect::src_array, any_of<CUarray>(), {"srcarray"}}));
  return out;
}

std::vector<Slot> semaphore_slots() {
  return {object(any_of<const CUexternalSemaphore*>()),
          source(any_of<const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS*, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS*>()),
          number({"numextsems"}), stream()};
}

std::vector<Slot> batch_slots(const Effect& effect) {
  const auto array = [](const char* role, Position Effect::* position, Names names) {
    return Slot{role, position, any_of<CUdeviceptr*>(), std::move(names)};
  };
  const Slot count{"count", &Effect::count, any_of<std::size_t>(), {"count", "numops"}};
  const Slot sizes = bytes(any_of<std::size_t*>(), {"sizes"});
  switch (effect.batch) {
    case Batch::None:
      if (effect.word_bits != 0)
        return {object(any_of<CUdeviceptr>(), {"addr"}), source(any_of<cuuint32_t, cuuint64_t>(), {"value"}), stream(),
                optional(flags())};
      return effect.semaphores ? semaphore_slots() : std::vector<Slot>{optional(stream())};
    case Batch::Copies:
      return {array("dst", &Effect::dst, {"dsts"}),
              array("src", &Effect::src, {"srcs"}),
              sizes,
              count,
              stream(),
              {"params", &Effect::params, any_of<CUmemcpyAttributes*>(), {"attrs"}}};
    case Batch::Copies3D:
      return {source(any_of<CUDA_MEMCPY3D_BATCH_OP*>()), count, stream()};
    case Batch::Discards:
      return {array("dst", &Effect::dst, {"dptrs"}), sizes, count, stream()};
    case Batch::Decompress:
      return {source(any_of<CUmemDecompressParams*>()), count, stream()};
  }
  return {};
}

/// The positions that a row's kind has. What is not listed must be absent.
std::vector<Slot> slots_of(const Effect& effect) {
  using enum EffectKind;
  switch (effect.kind) {
    case Pass:
    case Share:
    case Later:
    case Lookup:
    case Init:
      return {};
    case Launch:
      return {object(any_of<CUfunction>()),
              {"extents", &Effect::extents, any_of<unsigned int>(), {"griddimx"}},
              stream(),
              params()};
    case LaunchConfig:
      return {object(any_of<CUfunction>()), source(any_of<const CUlaunchConfig*>(), {"config"}), params()};
    case Copy:
      return copy_slots(effect);
    case Copy2D:
      return {{"src", &Effect::src, any_of<const CUDA_MEMCPY2D*, const CUDA_MEMCPY2D_v1*>(), {"pcopy"}},
              optional(stream())};
    case Copy3D:
      return {source(any_of<const CUDA_MEMCPY3D*, const CUDA_MEMCPY3D_v1*, const CUDA_MEMCPY3D_PEER*>(), {"pcopy"}),
              optional(stream())};
    case Fill:
      return {{"dst", &Effect::dst, kDevice, {"dstdevice"}}, bytes(kSize, {"n"}), optional(stream())};
    case Fill2D:
      return {{"dst", &Effect::dst, kDevice, {"dstdevice"}},
              bytes(kSize, {"width"}),
              {"pitch", &Effect::pitch, kSize, {"dstpitch"}},
              {"height", &Effect::height, kSize, {"height"}},
              optional(stream())};
    case Alloc:
      return {object(kDeviceOut, {"dptr"}), bytes(kSize, {"bytesize"})};
    case AllocPitch:
      return {object(kDeviceOut, {"dptr"}),
              {"pitch", &Effect::pitch, kSizeOut, {"ppitch"}},
              {"height", &Effect::height, kSize, {"height"}}};
    case AllocHost:
      return {object(any_of<void**>(), {"pp"}), bytes(kSize, {"bytesize"})};
    case AllocManaged:
      return {object(any_of<CUdeviceptr*>(), {"dptr"}), bytes(any_of<std::size_t>(), {"bytesize"})};
    case AllocAsync:
      return {object(any_of<CUdeviceptr*>(), {"dptr"}), bytes(any_of<std::size_t>(), {"bytesize"}), stream()};
    case Register:
      return {object(any_of<void*>(), {"p"}), bytes(any_of<std::size_t>(), {"bytesize"})};
    case Map:
      return {object(any_of<CUdeviceptr>(), {"ptr"}), bytes(any_of<std::size_t>(), {"size"})};
    case Import:
      return {object(kDeviceOut, {"pdptr", "ptr_out", "devptr", "pdevptr"})};
    case GlobalLookup:
      return {object(kDeviceOut, {"dptr"}), bytes(kSizeOut, {"bytes"})};
    case Free:
      return {object(kDevice, {"dptr"})};
    case FreeHost:
    case Unregister:
      return {object(any_of<void*>(), {"p"})};
    case FreeAsync:
      return {object(any_of<CUdeviceptr>(), {"dptr"}), stream()};
    case Unmap:
      return {object(any_of<CUdeviceptr>(), {"ptr", "dptr"}), optional(bytes(any_of<std::size_t>(), {"size"}))};
    case ArrayCreate:
      return {object(any_of<CUarray*, CUmipmappedArray*>()), source(kShape), optional(number({"nummipmaplevels"}))};
    case ArrayPart:
      return {object(any_of<CUarray*>()), source(any_of<CUarray, CUmipmappedArray>()), number({"level", "planeidx"})};
    case ArrayFree:
      return {object(any_of<CUarray, CUmipmappedArray>())};
    case TextureCreate:
      return {object(any_of<CUtexObject*, CUsurfObject*>()), source(any_of<const CUDA_RESOURCE_DESC*>())};
    case StreamCreate:
      return {object(any_of<CUstream*>()), flags()};
    case StreamDestroy:
      return {object(any_of<CUstream>())};
    case EventCreate:
      return {object(any_of<CUevent*>()), optional(flags())};
    case EventDestroy:
      return {object(any_of<CUevent>())};
    case EventRecord:
      return {event(), stream(), optional(flags())};
    case EventWait:
      return {event(), stream(), flags()};
    case ContextRecord:
    case ContextWait:
      return {object(any_of<CUcontext, CUgreenCtx>(), {"hctx"}), event()};
    case LaunchList:
      return {source(any_of<CUDA_LAUNCH_PARAMS*>()), number({"numdevices"}), flags()};
    case SyncStream:
    case QueryStream:
    case HostFunction:
    case CaptureBegin:
      return {stream()};
    case PointerAttribute:
      return {object(any_of<CUdeviceptr>(), {"ptr"}),
              {"src", &Effect::src, any_of<const void*>(), {"value"}},
              {"flags", &Effect::flags, any_of<CUpointer_attribute>(), {"attribute"}}};
    case StreamAction:
    case StreamJoinsAll:
      return batch_slots(effect);
    case SyncEvent:
    case QueryEvent:
      return {event()};
    case SyncContext:
      return {optional(object(any_of<CUcontext>()))};
    case CaptureEnd:
      return {object(any_of<CUgraph*>()), stream()};
    case GraphInstantiate:
      return {object(any_of<CUgraphExec*>()), source(any_of<CUgraph>()),
              optional({"flags", &Effect::flags, any_of<unsigned long long>(), {"flags"}}),
              optional({"params", &Effect::params, any_of<CUDA_GRAPH_INSTANTIATE_PARAMS*>(), {}})};
    case GraphLaunch:
      return {object(any_of<CUgraphExec>()), stream()};
    case GraphUpdate:
    case GraphNodeUpdate:
      return {object(any_of<CUgraphExec>()),
              source(effect.kind == GraphUpdate ? any_of<CUgraph>() : any_of<CUgraphNode>())};
    case GraphAddNode:
      return {object(any_of<CUgraphNode*>()), optional({"src", &Effect::src, any_of<CUgraph>(), {"childgraph"}})};
    case GraphClone:
      return {object(any_of<CUgraph*>()), {"src", &Effect::src, any_of<CUgraph>(), {}}};
    case FunctionLookup:
      return {object(any_of<CUfunction*, CUkernel*>()),
              optional({"params", &Effect::params, any_of<const char*>(), {"name"}}),
              optional({"src", &Effect::src, any_of<CUkernel>(), {}})};
    case Unload:
      return {object(any_of<CUmodule, CUlibrary>())};
    case ContextDestroy:
      return {object(any_of<CUcontext, CUdevice>(), {"ctx", "dev"})};
  }
  return {};
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

const std::vector<Parameter>& parameters(const Row& row) {
  return signatures()[static_cast<std::size_t>(&row - kRows)];
}

std::optional<std::size_t> find_parameter(const Row& row, std::type_index type) {
  const auto& all = parameters(row);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return p.type == type; });
  if (found == all.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
}

bool has_type_in(const Row& row, std::initializer_list<std::type_index> types) {
  return std::any_of(types.begin(), types.end(), [&](std::type_index t) { return find_parameter(row, t).has_value(); });
}

/// "parameter 2, `size_t ByteCount`"
std::string shown(const Row& row, Position position) {
  const auto& all = parameters(row);
  const std::string number = "parameter " + std::to_string(position);
  if (position < 0 || static_cast<std::size_t>(position) >= all.size()) {
    return number + ", but it has " + std::to_string(all.size()) + " parameters";
  }
  return number + ", `" + all[static_cast<std::size_t>(position)].declaration + "`";
}

bool in_arity(const Row& row, Position position) {
  return position >= 0 && static_cast<std::size_t>(position) < parameters(row).size();
}

void check_slot(const Row& row, const Slot& slot) {
  const Position position = row.effect.*slot.position;
  if (position == kAbsent) {
    EXPECT_TRUE(slot.optional) << row.symbol << ": " << name(row.effect.kind) << " needs a position for " << slot.role;
    return;
  }
  ASSERT_TRUE(in_arity(row, position)) << row.symbol << ": " << slot.role << " is " << shown(row, position);
  const Parameter& parameter = parameters(row)[static_cast<std::size_t>(position)];
  EXPECT_TRUE(std::find(slot.types.begin(), slot.types.end(), parameter.type) != slot.types.end())
      << row.symbol << ": " << slot.role << " is " << shown(row, position) << ": wrong type";
  EXPECT_TRUE(slot.names.empty() ||
              std::find(slot.names.begin(), slot.names.end(), lower(parameter.name)) != slot.names.end())
      << row.symbol << ": " << slot.role << " is " << shown(row, position) << ": wrong by its name";
}

TEST(ApiPositions, each_has_the_type_and_name_of_its_role) {
  for (const Row& row : kRows) {
    for (const Slot& slot : slots_of(row.effect)) check_slot(row, slot);
  }
}

TEST(ApiPositions, none_beyond_those_of_the_kind) {
  for (const Row& row : kRows) {
    const std::vector<Slot> slots = slots_of(row.effect);
    for (const auto& [role, position] : kPositions) {
      const bool listed = std::ranges::any_of(slots, [p = position](const Slot& s) { return s.position == p; });
      EXPECT_TRUE(listed || row.effect.*position == kAbsent)
          << row.symbol << ": " << name(row.effect.kind) << " has no " << role << ", the row says "
          << int{row.effect.*position};
    }
  }
}

TEST(ApiPositions, every_stream_parameter_is_named_in_its_row) {
  for (const Row& row : kRows) {
    const EffectKind kind = row.effect.kind;
    if (kind == EffectKind::Pass || kind == EffectKind::Share || kind == EffectKind::Later) continue;
    const std::optional<std::size_t> takes = find_parameter(row, typeid(CUstream));
    const Position said = kind == EffectKind::StreamDestroy ? row.effect.object : row.effect.stream;
    EXPECT_EQ(said, takes ? static_cast<Position>(*takes) : kAbsent) << row.symbol << ": position of its stream";
  }
}

TEST(ApiPositions, a_context_to_wait_for_is_named_in_its_row) {
  for (const Row& row : kRows) {
    if (row.effect.kind != EffectKind::SyncContext) continue;
    const std::optional<std::size_t> takes = find_parameter(row, typeid(CUcontext));
    EXPECT_EQ(row.effect.object, takes ? static_cast<Position>(*takes) : kAbsent) << row.symbol;
  }
}

TEST(ApiPositions, launch_extents_are_six_in_a_row_and_extra_follows_params) {
  for (const Row& row : kRows) {
    const Effect& effect = row.effect;
    const auto& all = parameters(row);
    if (effect.kind == EffectKind::Launch) {
      ASSERT_TRUE(in_arity(row, static_cast<Position>(effect.extents + 5))) << row.symbol;
      const char* const expected[] = {"griddimx", "griddimy", "griddimz", "blockdimx", "blockdimy", "blockdimz"};
      for (std::size_t i = 0; i < std::size(expected); ++i) {
        const Parameter& extent = all[static_cast<std::size_t>(effect.extents) + i];
        EXPECT_EQ(lower(extent.name), expected[i]) << row.symbol;
        EXPECT_TRUE(extent.type == typeid(unsigned int)) << row.symbol << ": " << extent.declaration;
      }
    }
    if (effect.kind == EffectKind::Launch || effect.kind == EffectKind::LaunchConfig) {
      const std::size_t next = static_cast<std::size_t>(effect.params) + 1;
      EXPECT_TRUE(next == all.size() || (all[next].name == "extra" && all[next].type == typeid(void**))) << row.symbol;
    }
  }
}

TEST(ApiPositions, a_fill_has_the_unit_of_its_value) {
  for (const Row& row : kRows) {
    if (row.effect.kind != EffectKind::Fill && row.effect.kind != EffectKind::Fill2D) continue;
    ASSERT_TRUE(in_arity(row, static_cast<Position>(row.effect.bytes - 1))) << row.symbol;
    EXPECT_EQ(row.effect.unit, parameters(row)[static_cast<std::size_t>(row.effect.bytes) - 1].size) << row.symbol;
  }
}

TEST(ApiEffects, form_and_direction_agree_with_the_name) {
  const std::map<std::string_view, Direction> directions = {
      {"HtoD", Direction::HostToDevice},   {"DtoH", Direction::DeviceToHost}, {"DtoD", Direction::DeviceToDevice},
      {"Peer", Direction::DeviceToDevice}, {"HtoA", Direction::Array},        {"AtoH", Direction::Array},
      {"DtoA", Direction::Array},          {"AtoD", Direction::Array},        {"AtoA", Direction::Array}};
  for (const Row& row : kRows) {
    const EffectKind kind = row.effect.kind;
    const bool fill = kind == EffectKind::Fill || kind == EffectKind::Fill2D;
    if (kind != EffectKind::Copy && kind != EffectKind::Copy2D && kind != EffectKind::Copy3D && !fill) continue;
    const bool async = row.base.ends_with("Async");
    EXPECT_EQ(row.effect.form == CallForm::Asynchronous, async) << row.symbol;
    EXPECT_EQ(row.effect.point == RecordPoint::End, async) << row.symbol;
    if (kind != EffectKind::Copy) continue;
    Direction expected = Direction::ByAddress;
    for (const auto& [part, direction] : directions) {
      if (row.base.find(part) != std::string_view::npos) expected = direction;
    }
    EXPECT_TRUE(row.effect.direction == expected) << row.symbol << ": direction";
    // Of an array copy exactly the sides that have an address are named.
    if (expected != Direction::Array) continue;
    EXPECT_EQ(row.effect.dst == kAbsent, row.base.find("toA") != std::string_view::npos) << row.symbol;
    EXPECT_EQ(row.effect.src == kAbsent, row.base.find("Ato") != std::string_view::npos) << row.symbol;
    EXPECT_EQ(row.effect.dst_array == kAbsent, row.effect.dst != kAbsent) << row.symbol;
    EXPECT_EQ(row.effect.src_array == kAbsent, row.effect.src != kAbsent) << row.symbol;
  }
}

TEST(ApiEffects, a_lookup_is_named_by_one_thing) {
  for (const Row& row : kRows) {
    if (row.effect.kind != EffectKind::FunctionLookup) continue;
    EXPECT_NE(row.effect.params == kAbsent, row.effect.src == kAbsent) << row.symbol;
  }
}

TEST(ApiEffects, what_is_not_modelled_says_why) {
  for (const Row& row : kRows) {
    const EffectKind kind = row.effect.kind;
    if (kind != EffectKind::Pass && kind != EffectKind::Share && kind != EffectKind::Later) continue;
    EXPECT_GE(row.effect.why.size(), 10u) << row.symbol;
    EXPECT_FALSE(row.effect.why.ends_with('.')) << row.symbol << ": a clause, not a sentence";
    EXPECT_EQ(row.effect.why.find('|'), std::string_view::npos) << row.symbol << ": would break the page's table";
  }
}

TEST(ApiEffects, order_is_hidden_by_what_is_not_modelled_only) {
  std::size_t hiding = 0;
  for (const Row& row : kRows) {
    if (!row.effect.hides_order) continue;
    ++hiding;
    // The others were Later for older recorders.
    const EffectKind kind = row.effect.kind;
    EXPECT_TRUE(kind == EffectKind::Later || kind == EffectKind::GraphAddNode || kind == EffectKind::ContextRecord ||
                kind == EffectKind::ContextWait || kind == EffectKind::LaunchList)
        << row.symbol;
  }
  EXPECT_GT(hiding, 0u);
  // Whatever records or waits for an event and is not modelled hides order.
  for (const Row& row : kRows) {
    if (row.effect.kind != EffectKind::Later) continue;
    const bool about_events = row.base.ends_with("RecordEvent") || row.base.ends_with("WaitEvent") ||
                              row.base.find("AddEvent") != std::string_view::npos;
    EXPECT_TRUE(row.effect.hides_order || !about_events) << row.symbol;
  }
}

TEST(ApiEffects, thirty_two_bit_functions_are_marked) {
  for (const Row& row : kRows) {
    if (row.effect.kind == EffectKind::Pass || row.effect.kind == EffectKind::Later) continue;
    const auto& all = parameters(row);
    const bool narrow = std::any_of(all.begin(), all.end(), [](const Parameter& p) {
      return p.declaration.find("CUdeviceptr_v1") != std::string::npos ||
             p.declaration.find("CUDA_MEMCPY2D_v1") != std::string::npos ||
             p.declaration.find("CUDA_MEMCPY3D_v1") != std::string::npos;
    });
    EXPECT_EQ(row.effect.why == "32-bit addresses", narrow) << row.symbol;
  }
}

/// Functions that take a stream or an event and are passed through nevertheless.
const std::map<std::string_view, std::string_view> kHandleIsOnlyReadOrSet = {
    {"cuStreamCopyAttributes", "attributes change no order (R-STR-33)"},
    {"cuStreamSetAttribute", "attributes change no order (R-STR-33)"},
    {"cuStreamGetAttribute", "getter"},
    {"cuStreamGetCaptureInfo", "getter"},
    {"cuStreamGetCtx", "getter"},
    {"cuStreamGetDevice", "getter"},
    {"cuStreamGetFlags", "getter"},
    {"cuStreamGetGreenCtx", "getter"},
    {"cuStreamGetId", "getter"},
    {"cuStreamGetPriority", "getter"},
    {"cuStreamIsCapturing", "getter"},
    {"cuEventElapsedTime", "its success is no order (R-EVT-10)"},
    {"cuGraphEventRecordNodeSetEvent", "changes a graph, which is read when it is instantiated"},
    {"cuGraphEventWaitNodeSetEvent", "changes a graph, which is read when it is instantiated"},
    {"cuStreamUpdateCaptureDependencies", "changes a graph, which is read when it is instantiated"},
};

TEST(ApiPass, functions_of_streams_and_events_are_not_passed_through) {
  std::map<std::string_view, int> used;
  for (const Row& row : kRows) {
    if (row.effect.kind != EffectKind::Pass || !has_type_in(row, {typeid(CUstream), typeid(CUevent)})) continue;
    EXPECT_TRUE(kHandleIsOnlyReadOrSet.contains(row.base)) << row.symbol << " takes a stream or an event";
    ++used[row.base];
  }
  for (const auto& [base, reason] : kHandleIsOnlyReadOrSet) {
    EXPECT_TRUE(used.contains(base)) << base << " (" << reason << ") is on the list for nothing";
  }
}

TEST(ApiPass, nothing_that_makes_a_stream_or_works_asynchronously_is_passed_through) {
  for (const Row& row : kRows) {
    const bool makes_stream = find_parameter(row, typeid(CUstream*)).has_value();
    EXPECT_EQ(makes_stream, row.effect.kind == EffectKind::StreamCreate) << row.symbol;
    if (row.base.ends_with("Async")) {
      EXPECT_NE(row.effect.kind, EffectKind::Pass) << row.symbol;
    }
  }
}

}  // namespace

void PrintTo(EffectKind kind, std::ostream* out) { *out << name(kind); }

}  // namespace streamsan::api
