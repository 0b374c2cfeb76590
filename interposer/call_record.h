// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the arguments of a call to its record, for every row that is neither a launch (launch_call.h) nor a Later one.
//
// One template, one instance for each row: what the row says about its arguments is resolved at compile time, so what
// is left of fill() is the code of one kind. The record is reserved first and filled in place; nothing is copied. Its
// place in the trace is thereby the moment of fill(), which observers/records.h chooses by RecordPoint.
#pragma once

#include <cstdint>
#include <tuple>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/agent_host.h"
#include "interposer/arrays.h"
#include "interposer/batches.h"
#include "interposer/decode.h"
#include "interposer/driver.h"
#include "interposer/functions.h"
#include "interposer/graph_bodies.h"
#include "interposer/graph_image.h"
#include "interposer/learning.h"
#include "interposer/pointer_regions.h"
#include "interposer/process.h"
#include "interposer/streams.h"
#include "interposer/writer.h"

namespace streamsan::recorder {

/// Kinds whose record is no more than "this happened in that stream".
constexpr bool is_plain_stream_operation(api::EffectKind kind) {
  return kind == api::EffectKind::HostFunction || kind == api::EffectKind::StreamAction ||
         kind == api::EffectKind::StreamJoinsAll || kind == api::EffectKind::SyncStream ||
         kind == api::EffectKind::QueryStream || kind == api::EffectKind::CaptureBegin;
}

constexpr bool is_allocation(api::EffectKind kind) {
  return kind == api::EffectKind::Alloc || kind == api::EffectKind::AllocPitch || kind == api::EffectKind::AllocHost ||
         kind == api::EffectKind::AllocManaged || kind == api::EffectKind::AllocAsync ||
         kind == api::EffectKind::Register || kind == api::EffectKind::Map || kind == api::EffectKind::Import ||
         kind == api::EffectKind::GlobalLookup;
}

constexpr bool is_free(api::EffectKind kind) {
  return kind == api::EffectKind::Free || kind == api::EffectKind::FreeHost || kind == api::EffectKind::FreeAsync ||
         kind == api::EffectKind::Unregister || kind == api::EffectKind::Unmap || kind == api::EffectKind::ArrayFree;
}

constexpr trace::Kind plain_kind(api::EffectKind kind) {
  switch (kind) {
    case api::EffectKind::HostFunction:
      return trace::Kind::HostFunction;
    case api::EffectKind::StreamJoinsAll:
      return trace::Kind::StreamJoinsAll;
    case api::EffectKind::SyncStream:
      return trace::Kind::SyncStream;
    case api::EffectKind::QueryStream:
      return trace::Kind::QueryStream;
    case api::EffectKind::CaptureBegin:
      return trace::Kind::CaptureBegin;
    default:
      return trace::Kind::StreamAction;
  }
}

/// Bytes from the address to the end of its allocation, from the driver: for imports, whose size no argument tells.
inline std::uint64_t bytes_from(std::uint64_t address) {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  return address_range(address, begin, end) ? end - address : 0;
}

/// What the driver makes of a green context, and what the streams made in it are of; 0: not known.
inline std::uint64_t context_of_green(std::uint64_t green) {
  CUcontext context = nullptr;
  auto convert = SS_DRIVER(cuCtxFromGreenCtx);
  if (!convert || convert(&context, reinterpret_cast<CUgreenCtx>(green)) != CUDA_SUCCESS) return 0;
  return reinterpret_cast<std::uint64_t>(context);
}

inline bool is_managed(std::uint64_t address) {
  auto ask = SS_DRIVER(cuPointerGetAttribute);
  unsigned managed = 0;
  return ask && ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS && managed != 0;
}

/// Everything about a call except its result: what its row needs to write a record.
template <std::size_t kRow, class Arguments>
class CallRecord {
 public:
  static constexpr api::Effect kEffect = api::kRows[kRow].effect;
  static constexpr api::EffectKind kKind = kEffect.kind;

  CallRecord(const Arguments& arguments, std::uint32_t stack) : arguments_(arguments), stack_(stack) {}

  /// Reserves and fills the record. An empty slot: there is nothing to say.
  Slot fill() const {
    if constexpr (kKind == api::EffectKind::Copy || kKind == api::EffectKind::Fill ||
                  kKind == api::EffectKind::Fill2D) {
      return fill_transfer();
    } else if constexpr (kKind == api::EffectKind::Copy2D || kKind == api::EffectKind::Copy3D) {
      return fill_shaped_copy();
    } else if constexpr (is_allocation(kKind)) {
      return fill_allocation();
    } else if constexpr (kKind == api::EffectKind::ArrayCreate) {
      return fill_array();
    } else if constexpr (kKind == api::EffectKind::TextureCreate) {
      return fill_texture();
    } else if constexpr (is_free(kKind)) {
      return fill_free();
    } else if constexpr (kEffect.batch != api::Batch::None) {
      return fill_batch();
    } else if constexpr (is_plain_stream_operation(kKind)) {
      return fill_plain();
    } else {
      return fill_other();
    }
  }

 private:
  template <api::Position kPosition>
  std::uint64_t arg() const {
    return word<kPosition>(arguments_);
  }
  template <api::Position kPosition>
  std::uint64_t out() const {
    return result_word<kPosition>(arguments_);
  }

  StreamArgument stream() const { return resolve_stream(arg<kEffect.stream>(), api::kRows[kRow].default_stream); }

  Slot start(trace::Kind kind, unsigned continuations = 0) const {
    return start_record(
        {.kind = kind, .api = static_cast<std::uint16_t>(kRow), .stack = stack_, .continuations = continuations});
  }

  Slot on_stream(trace::Kind kind, StreamArgument at, unsigned continuations = 0) const {
    Slot slot = start(kind, continuations);
    if (!slot) return slot;
    slot.record->flags = at.flags;
    slot.record->in_stream().stream = at.handle;
    slot.record->in_stream().context = at.context;
    return slot;
  }

  Slot fill_plain() const {
    constexpr trace::Kind kPlain = plain_kind(kKind);
    Slot slot = on_stream(kPlain, stream());
    if constexpr (kEffect.word_bits != 0) {
      if (!slot) return slot;
      auto& w = slot.record->as<kPlain>();
      w.word = arg<kEffect.object>();
      w.value = arg<kEffect.src>();
      if constexpr (kPlain == trace::Kind::StreamJoinsAll) {
        w.how = arg<kEffect.flags>();
        w.bits = kEffect.word_bits;
      }
    }
    return slot;
  }

  Slot fill_transfer() const {
    Slot slot = on_stream(kKind == api::EffectKind::Copy ? trace::Kind::Copy : trace::Kind::Fill, stream());
    if (!slot) return slot;
    slot.record->flags |= copy_flags(kEffect);
    if constexpr (kKind == api::EffectKind::Copy) {
      auto& w = slot.record->as<trace::Kind::Copy>();
      w.dst = arg<kEffect.dst>();
      w.src = arg<kEffect.src>();
      w.width = arg<kEffect.bytes>();
      if constexpr (kEffect.dst_array != api::kAbsent)
        w.dst = array_address(arg<kEffect.dst_array>(), arg<kEffect.dst_array + 1>());
      if constexpr (kEffect.src_array != api::kAbsent)
        w.src = array_address(arg<kEffect.src_array>(), arg<kEffect.src_array + 1>());
    } else {
      auto& w = slot.record->as<trace::Kind::Fill>();
      w.dst = arg<kEffect.dst>();
      w.width = arg<kEffect.bytes>() * kEffect.unit;
      w.pitch = arg<kEffect.pitch>();
      w.height = kKind == api::EffectKind::Fill2D ? arg<kEffect.height>() : 1;
    }
    return slot;
  }

  Slot fill_shaped_copy() const {
    auto descriptor = std::get<static_cast<std::size_t>(kEffect.src)>(arguments_);
    if (!descriptor) return {};
    Slot slot = on_stream(trace::Kind::Copy, stream(), 1);
    if (!slot) return slot;
    slot.record->flags |= copy_flags(kEffect);
    auto& w = slot.record->as<trace::Kind::Copy>();
    auto& shape = *reinterpret_cast<trace::Shape*>(slot.continuation());
    if constexpr (kKind == api::EffectKind::Copy2D) {
      decode_copy_2d(*descriptor, w, shape);
    } else {
      decode_copy_3d(*descriptor, w, shape);
    }
    return slot;
  }

  Slot fill_batch() const {
    BatchParts<kRow, Arguments> parts(arguments_);
    const std::size_t count = parts.count();
    for (std::size_t done = 0;;) {
      const std::size_t here = std::min(count - done, trace::kMostPartsPerRecord);
      constexpr auto kParts = trace::Kind::StreamAction;
      Slot slot = on_stream(kParts, stream(), continuations_of_list<kParts>(here));
      if (!slot) return slot;
      for (std::size_t i = 0; i < here; ++i) slot.list<kParts>()[i] = parts(done++);
      auto& w = slot.record->as<kParts>();
      w.parts = here;
      w.more = done < count;
      if (!w.more) return slot;
      publish(slot);
    }
  }

  /// Size of a module variable, for a caller that did not ask: cudart for managed ones, and before there is a context.
  std::uint64_t variable_bytes() const {
    if constexpr (kKind == api::EffectKind::GlobalLookup && std::tuple_size_v<Arguments> == 4) {
      using Size = std::tuple_element_t<1, Arguments>;
      if constexpr (std::is_same_v<Size, std::size_t*>) {
        using Ask = CUresult (*)(CUdeviceptr*, std::size_t*, std::tuple_element_t<2, Arguments>, const char*);
        CUdeviceptr address = 0;
        std::size_t bytes = 0;
        auto ask = reinterpret_cast<Ask>(driver_entry(kRow));
        if (ask && ask(&address, &bytes, std::get<2>(arguments_), std::get<3>(arguments_)) == CUDA_SUCCESS)
          return bytes;
      }
    }
    return 0;
  }

  Slot fill_allocation() const {
    constexpr bool kByValue = kKind == api::EffectKind::Register || kKind == api::EffectKind::Map;
    constexpr bool kLookup = kKind == api::EffectKind::Import || kKind == api::EffectKind::GlobalLookup;
    std::uint64_t address;
    if constexpr (kByValue) {
      address = arg<kEffect.object>();
    } else {
      address = out<kEffect.object>();
    }
    if (!address) return {};
    std::uint64_t bytes;
    if constexpr (kKind == api::EffectKind::AllocPitch) {
      bytes = out<kEffect.pitch>() * arg<kEffect.height>();
    } else if constexpr (kLookup) {
      bytes = out<kEffect.bytes>();
      if (!bytes && kKind == api::EffectKind::GlobalLookup) bytes = variable_bytes();
      if (!bytes) bytes = bytes_from(address);
    } else {
      bytes = arg<kEffect.bytes>();
    }
    mark_region(address, bytes);
    StreamArgument at{};
    if constexpr (kKind == api::EffectKind::AllocAsync) at = stream();
    Slot slot = start(trace::Kind::Alloc);
    if (!slot) return slot;
    slot.record->flags = static_cast<std::uint16_t>(at.flags | (kLookup ? trace::kVariable : 0));
    auto& w = slot.record->as<trace::Kind::Alloc>();
    w.address = address;
    w.bytes = bytes;
    // A __managed__ variable is looked up like any other.
    const bool managed = kEffect.managed || (kKind == api::EffectKind::GlobalLookup && is_managed(address));
    w.memory = managed ? ordering::MemoryKind::Managed : memory_kind(kKind);
    w.stream = at.handle;
    w.context = current_context();
    return slot;
  }

  Slot fill_free() const {
    std::uint64_t address = arg<kEffect.object>();  // null is a legal call that frees nothing
    if constexpr (kKind == api::EffectKind::ArrayFree) address = array_going(address);
    StreamArgument at{};
    if constexpr (kKind == api::EffectKind::FreeAsync) at = stream();
    Slot slot = start(trace::Kind::Free);
    if (!slot) return slot;
    slot.record->flags = at.flags;
    auto& w = slot.record->as<trace::Kind::Free>();
    w.address = address;
    w.bytes = arg<kEffect.bytes>();
    w.way = free_kind(kKind);
    w.stream = at.handle;
    w.context = current_context();
    return slot;
  }

  /// The array's sizes, and then the allocation that it is.
  Slot fill_array() const {
    const std::uint64_t levels = kEffect.count == api::kAbsent ? 1 : arg<kEffect.count>();
    const ArrayLayout made = array_made(
        out<kEffect.object>(), layout_of(*std::get<static_cast<std::size_t>(kEffect.src)>(arguments_)), levels);
    if (!made.base) return {};
    Slot sizes = start(trace::Kind::ArraySizes);
    if (!sizes) return sizes;
    auto& s = sizes.record->as<trace::Kind::ArraySizes>();
    s.address = made.base;
    s.width = made.width;
    s.height = made.height;
    s.depth = made.depth;
    s.element = made.element;
    s.levels = made.levels;
    publish(sizes);
    Slot slot = start(trace::Kind::Alloc);
    if (!slot) return slot;
    auto& w = slot.record->as<trace::Kind::Alloc>();
    w.address = made.base;
    w.bytes = made.bytes;
    w.memory = ordering::MemoryKind::Array;
    w.context = current_context();
    return slot;
  }

  /// What the object is made of; without bytes: of an array that is not known.
  Slot fill_texture() const {
    const CUDA_RESOURCE_DESC& is = *std::get<static_cast<std::size_t>(kEffect.src)>(arguments_);
    const TexturedMemory memory = textured_memory(is);
    Slot slot = start(trace::Kind::Texture);
    if (!slot) return slot;
    auto& w = slot.record->as<trace::Kind::Texture>();
    w.handle = out<kEffect.object>();
    w.surface = kEffect.surface;
    w.address = memory.address;
    w.bytes = memory.bytes;
    w.context = current_context();
    w.parts = memory.parts;
    return slot;
  }

  /// The flags of a call that makes an executable graph.
  std::uint64_t instantiation_flags() const {
    if constexpr (kEffect.params != api::kAbsent) return std::get<kEffect.params>(arguments_)->flags;
    return arg<kEffect.flags>();
  }

  Slot fill_other() const {
    Slot slot;
    if constexpr (kKind == api::EffectKind::EventRecord || kKind == api::EffectKind::EventWait) {
      slot = on_stream(kKind == api::EffectKind::EventRecord ? trace::Kind::EventRecord : trace::Kind::EventWait,
                       stream());
      if (slot)
        slot.record->as<trace::Kind::EventRecord>().event = arg<kEffect.event>(),
        slot.record->as<trace::Kind::EventRecord>().call_flags = arg<kEffect.flags>();
    } else if constexpr (kKind == api::EffectKind::CaptureEnd) {
      slot = on_stream(trace::Kind::CaptureEnd, stream());
      if (slot) slot.record->as<trace::Kind::CaptureEnd>().graph = out<kEffect.object>();
    } else if constexpr (kKind == api::EffectKind::GraphLaunch) {
      slot = on_stream(trace::Kind::GraphLaunch, stream());
      if (slot) slot.record->as<trace::Kind::GraphLaunch>().exec = arg<kEffect.object>();
    } else if constexpr (kKind == api::EffectKind::GraphInstantiate) {
      const std::uint64_t exec = out<kEffect.object>();
      const std::uint64_t image = write_graph_image(arg<kEffect.src>(), exec, true);
      slot = start(trace::Kind::GraphInstantiate);
      if (slot)
        slot.record->as<trace::Kind::GraphInstantiate>().exec = exec,
        slot.record->as<trace::Kind::GraphInstantiate>().graph = arg<kEffect.src>(),
        slot.record->as<trace::Kind::GraphInstantiate>().image = image,
        slot.record->as<trace::Kind::GraphInstantiate>().creation_flags = instantiation_flags();
    } else if constexpr (kKind == api::EffectKind::GraphUpdate || kKind == api::EffectKind::GraphNodeUpdate) {
      constexpr bool kWhole = kKind == api::EffectKind::GraphUpdate;
      const std::uint64_t exec = arg<kEffect.object>();
      std::uint64_t image;
      if constexpr (kWhole) {
        image = write_graph_image(arg<kEffect.src>(), exec, false);
      } else {
        image = write_node_image(exec, arg<kEffect.src>(), std::get<kEffect.src + 1>(arguments_));
      }
      slot = start(trace::Kind::GraphUpdate);
      if (slot)
        slot.record->as<trace::Kind::GraphUpdate>().exec = exec,
        slot.record->as<trace::Kind::GraphUpdate>().image = image,
        slot.record->as<trace::Kind::GraphUpdate>().whole = kWhole;
    } else if constexpr (kKind == api::EffectKind::GraphAddNode) {
      const std::uint64_t node = out<kEffect.object>();
      if constexpr (kEffect.src != api::kAbsent) {
        note_child(arg<kEffect.src>(), node);
      } else if constexpr (std::is_same_v<std::tuple_element_t<std::tuple_size_v<Arguments> - 1, Arguments>,
                                          CUgraphNodeParams*>) {
        const CUgraphNodeParams& any = *std::get<std::tuple_size_v<Arguments> - 1>(arguments_);
        if (any.type == CU_GRAPH_NODE_TYPE_GRAPH) note_child(reinterpret_cast<std::uint64_t>(any.graph.graph), node);
        if (any.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) keep_bodies(node, any.conditional);
      }
      slot = start(trace::Kind::NodeMade);
      if (slot) slot.record->as<trace::Kind::NodeMade>().node = node;
    } else if constexpr (kKind == api::EffectKind::GraphClone) {
      note_copies(arg<kEffect.src>(), out<kEffect.object>());
    } else if constexpr (kKind == api::EffectKind::EventCreate) {
      slot = start(trace::Kind::EventCreate);
      if (slot)
        slot.record->as<trace::Kind::EventCreate>().handle = out<kEffect.object>(),
        slot.record->as<trace::Kind::EventCreate>().creation_flags = arg<kEffect.flags>();
    } else if constexpr (kKind == api::EffectKind::ContextRecord || kKind == api::EffectKind::ContextWait) {
      const std::uint64_t given = arg<kEffect.object>();
      const std::uint64_t context = kEffect.green ? context_of_green(given) : given ? given : current_context();
      slot = start(trace::Kind::ContextEvent);
      if (slot)
        slot.record->as<trace::Kind::ContextEvent>().context = context,
        slot.record->as<trace::Kind::ContextEvent>().event = arg<kEffect.event>(),
        slot.record->as<trace::Kind::ContextEvent>().waits = kKind == api::EffectKind::ContextWait,
        slot.record->as<trace::Kind::ContextEvent>().alone = kEffect.green && context != 0;
    } else if constexpr (kKind == api::EffectKind::PointerAttribute) {
      if (arg<kEffect.flags>() != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return {};
      const bool on = *static_cast<const unsigned*>(std::get<kEffect.src>(arguments_)) != 0;
      slot = start(trace::Kind::SyncMemory);
      if (slot)
        slot.record->as<trace::Kind::SyncMemory>().address = arg<kEffect.object>(),
        slot.record->as<trace::Kind::SyncMemory>().on = on;
    } else if constexpr (kKind == api::EffectKind::SyncContext) {
      std::uint64_t context = arg<kEffect.object>();
      if (!context) context = current_context();
      slot = start(trace::Kind::SyncContext);
      if (slot) slot.record->as<trace::Kind::SyncContext>().context = context;
    } else if constexpr (kKind == api::EffectKind::SyncEvent || kKind == api::EffectKind::QueryEvent) {
      slot = start(kKind == api::EffectKind::SyncEvent ? trace::Kind::SyncEvent : trace::Kind::QueryEvent);
      if (slot) slot.record->as<trace::Kind::SyncEvent>().event = arg<kEffect.event>();
    } else if constexpr (kKind == api::EffectKind::EventDestroy) {
      slot = start(trace::Kind::EventDestroy);
      if (slot) slot.record->as<trace::Kind::EventDestroy>().handle = arg<kEffect.object>();
    } else if constexpr (kKind == api::EffectKind::StreamDestroy) {
      stream_going(arg<kEffect.object>());
      slot = start(trace::Kind::StreamDestroy);
      if (slot) slot.record->as<trace::Kind::StreamDestroy>().handle = arg<kEffect.object>();
    } else if constexpr (kKind == api::EffectKind::Unload || kKind == api::EffectKind::ContextDestroy) {
      kernels_going();
      if constexpr (kKind == api::EffectKind::Unload) {
        module_going();
      } else {
        context_going(kEffect.ends == api::ContextEnd::Given ? arg<kEffect.object>() : 0);
        context_dies();
      }
      slot = start(kKind == api::EffectKind::Unload ? trace::Kind::Unload : trace::Kind::ContextDestroy);
      if (slot) slot.record->as<trace::Kind::Unload>().handle = arg<kEffect.object>();
    } else {
      static_assert(kKind == api::EffectKind::Init, "an api::EffectKind without a decoder");
      if (trace::FileHeader* head = header()) head->cuda_initialised.store(1, std::memory_order_relaxed);
      slot = start(trace::Kind::Init);
    }
    return slot;
  }

  const Arguments& arguments_;
  std::uint32_t stack_;
};

}  // namespace streamsan::recorder
