// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wrappers: one template, one instance for each row of the table that is not passed through.
//
//   forward if not recording or if the driver itself calls -> (Begin rows: reserve and fill the record) -> real call
//                            -> (End rows: record if it succeeded) -> return the driver's result, untouched
//
// HOW TO ADD A FUNCTION: a row in ordering/api/cuda_api.def is all it takes, unless its EffectKind is new; then add a
// case to fill() below. Signatures come from cuda.h.
//
// Calls made by the driver through its own exports, or by a tool inside a call, are not recorded: the outer call says
// what they do. No lock is held across a real call, ever.
#include "interposer/decode.h"
#include "interposer/driver.h"
#include "interposer/functions.h"
#include "interposer/gate.h"
#include "interposer/host/libc_frames.h"
#include "interposer/launch_call.h"
#include "interposer/learning.h"
#include "interposer/process.h"
#include "interposer/stack.h"
#include "interposer/streams.h"
#include "interposer/unmodelled.h"
#include "interposer/writer.h"

#include <cudaProfiler.h>

namespace streamsan::recorder {
namespace {

using api::CallForm;
using api::Effect;
using api::EffectKind;
using api::RecordPoint;
using trace::Kind;

constexpr bool is_wrapped(EffectKind kind) { return kind != EffectKind::Pass; }

/// Calls that block for long and say nothing but "I wait": their records are published at once, lest the judge wait
/// too. Whether they succeeded is told by the CallEnd.
constexpr bool is_published_at_once(EffectKind kind) {
  return kind == EffectKind::SyncStream || kind == EffectKind::SyncEvent || kind == EffectKind::SyncContext;
}

/// Kinds whose record is no more than "this happened in that stream".
constexpr bool is_plain_stream_operation(EffectKind kind) {
  return kind == EffectKind::HostFunction || kind == EffectKind::StreamAction || kind == EffectKind::StreamJoinsAll ||
         kind == EffectKind::SyncStream || kind == EffectKind::QueryStream || kind == EffectKind::CaptureBegin;
}

constexpr bool is_allocation(EffectKind kind) {
  return kind == EffectKind::Alloc || kind == EffectKind::AllocPitch || kind == EffectKind::AllocHost ||
         kind == EffectKind::AllocManaged || kind == EffectKind::AllocAsync || kind == EffectKind::Register ||
         kind == EffectKind::Map || kind == EffectKind::Import || kind == EffectKind::GlobalLookup;
}

constexpr bool is_free(EffectKind kind) {
  return kind == EffectKind::Free || kind == EffectKind::FreeHost || kind == EffectKind::FreeAsync ||
         kind == EffectKind::Unregister || kind == EffectKind::Unmap;
}

constexpr Kind plain_kind(EffectKind kind) {
  switch (kind) {
    case EffectKind::HostFunction:
      return Kind::HostFunction;
    case EffectKind::StreamJoinsAll:
      return Kind::StreamJoinsAll;
    case EffectKind::SyncStream:
      return Kind::SyncStream;
    case EffectKind::QueryStream:
      return Kind::QueryStream;
    case EffectKind::CaptureBegin:
      return Kind::CaptureBegin;
    default:
      return Kind::StreamAction;
  }
}

/// Size of the allocation that holds the address, from the driver: for imports, whose size no argument tells.
std::uint64_t ask_size(std::uint64_t address) {
  auto get = reinterpret_cast<decltype(&::cuMemGetAddressRange_v2)>(driver_entry(api::Index::cuMemGetAddressRange_v2));
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  return get && get(&base, &bytes, address) == CUDA_SUCCESS ? base + bytes - address : 0;
}

/// Everything about a call except its result: what its row needs to write a record.
template <std::size_t kRow, class Arguments>
class CallRecord {
 public:
  static constexpr Effect kEffect = api::kRows[kRow].effect;
  static constexpr EffectKind kKind = kEffect.kind;

  CallRecord(const Arguments& arguments, std::uint32_t stack) : arguments_(arguments), stack_(stack) {}

  /// Reserves and fills the record. An empty slot: there is nothing to say.
  Slot fill() const {
    if constexpr (kKind == EffectKind::Copy || kKind == EffectKind::Fill || kKind == EffectKind::Fill2D) {
      return fill_transfer();
    } else if constexpr (kKind == EffectKind::Copy2D || kKind == EffectKind::Copy3D) {
      return fill_shaped_copy();
    } else if constexpr (is_allocation(kKind)) {
      return fill_allocation();
    } else if constexpr (is_free(kKind)) {
      return fill_free();
    } else if constexpr (is_plain_stream_operation(kKind)) {
      return on_stream(plain_kind(kKind), stream());
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

  Slot start(Kind kind, unsigned continuations = 0) const {
    Slot slot = reserve(continuations);
    if (!slot) return slot;
    slot.record->kind = kind;
    slot.record->api = static_cast<std::uint16_t>(kRow);
    slot.record->thread = thread_number();
    slot.record->stack = stack_;
    return slot;
  }

  Slot on_stream(Kind kind, StreamArgument at, unsigned continuations = 0) const {
    Slot slot = start(kind, continuations);
    if (!slot) return slot;
    slot.record->flags = at.flags;
    slot.record->w[0] = at.handle;
    slot.record->w[1] = at.context;
    return slot;
  }

  Slot fill_transfer() const {
    Slot slot = on_stream(kKind == EffectKind::Copy ? Kind::Copy : Kind::Fill, stream());
    if (!slot) return slot;
    std::uint64_t* w = slot.record->w;
    slot.record->flags |= copy_flags(kEffect);
    w[2] = arg<kEffect.dst>();
    if constexpr (kKind == EffectKind::Copy) {
      w[3] = arg<kEffect.src>();
      w[4] = arg<kEffect.bytes>();
    } else {
      w[3] = arg<kEffect.bytes>() * kEffect.unit;
      w[4] = arg<kEffect.pitch>();
      w[5] = kKind == EffectKind::Fill2D ? arg<kEffect.height>() : 1;
    }
    return slot;
  }

  Slot fill_shaped_copy() const {
    auto descriptor = std::get<static_cast<std::size_t>(kEffect.src)>(arguments_);
    if (!descriptor) return {};
    Slot slot = on_stream(Kind::Copy, stream(), 1);
    if (!slot) return slot;
    slot.record->flags |= copy_flags(kEffect);
    if constexpr (kKind == EffectKind::Copy2D) {
      decode_copy_2d(*descriptor, slot.record->w, slot.continuation());
    } else {
      decode_copy_3d(*descriptor, slot.record->w, slot.continuation());
    }
    return slot;
  }

  Slot fill_allocation() const {
    constexpr bool kByValue = kKind == EffectKind::Register || kKind == EffectKind::Map;
    constexpr bool kLookup = kKind == EffectKind::Import || kKind == EffectKind::GlobalLookup;
    std::uint64_t address;
    if constexpr (kByValue) {
      address = arg<kEffect.object>();
    } else {
      address = out<kEffect.object>();
    }
    if (!address) return {};
    std::uint64_t bytes;
    if constexpr (kKind == EffectKind::AllocPitch) {
      bytes = out<kEffect.pitch>() * arg<kEffect.height>();
    } else if constexpr (kLookup) {
      bytes = out<kEffect.bytes>();
      if (!bytes) bytes = ask_size(address);
    } else {
      bytes = arg<kEffect.bytes>();
    }
    mark_region(address, bytes);
    StreamArgument at{};
    if constexpr (kKind == EffectKind::AllocAsync) at = stream();
    Slot slot = start(Kind::Alloc);
    if (!slot) return slot;
    slot.record->flags = static_cast<std::uint16_t>(at.flags | (kLookup ? trace::kVariable : 0));
    std::uint64_t* w = slot.record->w;
    w[0] = address;
    w[1] = bytes;
    w[2] = static_cast<std::uint64_t>(kRow == api::Index::cuLibraryGetManaged ? ordering::MemoryKind::Managed
                                                                              : memory_kind(kKind));
    w[3] = at.handle;
    w[4] = current_context();
    return slot;
  }

  Slot fill_free() const {
    std::uint64_t address = arg<kEffect.object>();  // null is a legal call that frees nothing
    StreamArgument at{};
    if constexpr (kKind == EffectKind::FreeAsync) at = stream();
    Slot slot = start(Kind::Free);
    if (!slot) return slot;
    slot.record->flags = at.flags;
    std::uint64_t* w = slot.record->w;
    w[0] = address;
    w[1] = arg<kEffect.bytes>();
    w[2] = static_cast<std::uint64_t>(free_kind(kKind));
    w[3] = at.handle;
    w[4] = current_context();
    return slot;
  }

  Slot fill_other() const {
    Slot slot;
    if constexpr (kKind == EffectKind::EventRecord || kKind == EffectKind::EventWait) {
      slot = on_stream(kKind == EffectKind::EventRecord ? Kind::EventRecord : Kind::EventWait, stream());
      if (slot) slot.record->w[2] = arg<kEffect.event>(), slot.record->w[3] = arg<kEffect.flags>();
    } else if constexpr (kKind == EffectKind::CaptureEnd) {
      slot = on_stream(Kind::CaptureEnd, stream());
      if (slot) slot.record->w[2] = out<kEffect.object>();
    } else if constexpr (kKind == EffectKind::GraphLaunch) {
      slot = on_stream(Kind::GraphLaunch, stream());
      if (slot) slot.record->w[2] = arg<kEffect.object>();
    } else if constexpr (kKind == EffectKind::GraphInstantiate) {
      slot = start(Kind::GraphInstantiate);
      if (slot) slot.record->w[0] = out<kEffect.object>(), slot.record->w[1] = arg<kEffect.src>();
    } else if constexpr (kKind == EffectKind::EventCreate) {
      slot = start(Kind::EventCreate);
      if (slot) slot.record->w[0] = out<kEffect.object>(), slot.record->w[1] = arg<kEffect.flags>();
    } else if constexpr (kKind == EffectKind::SyncContext) {
      std::uint64_t context = arg<kEffect.object>();
      if (!context) context = current_context();
      slot = start(Kind::SyncContext);
      if (slot) slot.record->w[0] = context;
    } else if constexpr (kKind == EffectKind::SyncEvent || kKind == EffectKind::QueryEvent) {
      slot = start(kKind == EffectKind::SyncEvent ? Kind::SyncEvent : Kind::QueryEvent);
      if (slot) slot.record->w[0] = arg<kEffect.event>();
    } else if constexpr (kKind == EffectKind::EventDestroy) {
      slot = start(Kind::EventDestroy);
      if (slot) slot.record->w[0] = arg<kEffect.object>();
    } else if constexpr (kKind == EffectKind::StreamDestroy) {
      stream_going(arg<kEffect.object>());
      slot = start(Kind::StreamDestroy);
      if (slot) slot.record->w[0] = arg<kEffect.object>();
    } else if constexpr (kKind == EffectKind::Unload || kKind == EffectKind::ContextDestroy) {
      kernels_going();
      if constexpr (kKind == EffectKind::Unload) {
        module_going();
      } else {
        context_going(kRow == api::Index::cuCtxDestroy_v2 ? arg<kEffect.object>() : 0);
      }
      slot = start(kKind == EffectKind::Unload ? Kind::Unload : Kind::ContextDestroy);
      if (slot) slot.record->w[0] = arg<kEffect.object>();
    } else {
      static_assert(kKind == EffectKind::Init, "an EffectKind without a decoder");
      if (trace::FileHeader* head = header()) head->cuda_initialised.store(1, std::memory_order_relaxed);
      slot = start(Kind::Init);
    }
    return slot;
  }

  const Arguments& arguments_;
  std::uint32_t stack_;
};

/// An EndCapture that fails ends the capture all the same, unless the call was no end of it (R-GRF-10).
constexpr bool ends_capture(CUresult result) {
  return result != CUDA_ERROR_ILLEGAL_STATE && result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD &&
         result != CUDA_ERROR_INVALID_VALUE && result != CUDA_ERROR_INVALID_HANDLE &&
         result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
}

/// What follows a successful call of a kind that is not one record made by CallRecord.
template <std::size_t kRow, class Arguments>
void record_special(const Arguments& arguments) {
  constexpr Effect kEffect = api::kRows[kRow].effect;
  if constexpr (kEffect.kind == EffectKind::StreamCreate) {
    stream_created(result_word<kEffect.object>(arguments), static_cast<std::uint16_t>(kRow));
  } else {
    static_assert(kEffect.kind == EffectKind::FunctionLookup);
    function_looked_up(result_word<kEffect.object>(arguments), kRow == api::Index::cuLibraryGetKernel);
  }
}

constexpr bool is_special(EffectKind kind) {
  return kind == EffectKind::StreamCreate || kind == EffectKind::FunctionLookup;
}

void record_return(std::uint64_t position, std::uint16_t api, bool succeeded) {
  Slot slot = reserve(0);
  if (!slot) return;
  slot.record->kind = Kind::CallEnd;
  slot.record->api = api;
  slot.record->thread = thread_number();
  slot.record->w[0] = position;
  publish(slot, succeeded ? trace::State::Published : trace::State::Cancelled);
}

template <std::size_t kRow, class Signature>
struct Hook;

template <std::size_t kRow, class... Parameters>
struct Hook<kRow, CUresult (*)(Parameters...)> {
  static constexpr Effect kEffect = api::kRows[kRow].effect;
  using Arguments = std::tuple<Parameters...>;

  static CUresult call(Parameters... parameters) {
    auto real = reinterpret_cast<CUresult (*)(Parameters...)>(driver_entry(kRow));
    // Linked against a newer driver than is installed, or called without one.
    if (!real) [[unlikely]]
      return CUDA_ERROR_NOT_INITIALIZED;
    if constexpr (kEffect.kind == EffectKind::Lookup) {
      return look_up(real, parameters...);
    } else if constexpr (kEffect.kind == EffectKind::Init) {
      note_observed();
      CUresult result = real(parameters...);
      if (result == CUDA_SUCCESS && start_recording()) {
        const Arguments arguments(parameters...);
        publish(CallRecord<kRow, Arguments>(arguments, capture_stack(__builtin_frame_address(0))).fill());
      }
      return result;
    } else if (!recording() || is_in_driver(__builtin_return_address(0))) {
      return real(parameters...);
    } else if constexpr (kEffect.kind == EffectKind::Later) {
      note_later(kRow);
      // Some of these launch kernels.
      const bool gated = learning();
      if (gated) Gate::enter();
      CUresult result = real(parameters...);
      if (gated) Gate::leave();
      return result;
    } else {
      const void* frame = __builtin_frame_address(0);
      check_frames(frame);
      const Arguments arguments(parameters...);
      if constexpr (kEffect.point == RecordPoint::Begin) {
        Slot slot = CallRecord<kRow, Arguments>(arguments, capture_stack(frame)).fill();
        constexpr bool kAtOnce = is_published_at_once(kEffect.kind);
        if constexpr (kAtOnce) publish(slot);
        CUresult result = real(parameters...);
        bool succeeded = result == CUDA_SUCCESS;
        if constexpr (!kAtOnce) publish(slot, succeeded ? trace::State::Published : trace::State::Cancelled);
        if constexpr (kEffect.form == CallForm::Synchronous) {
          if (slot) record_return(slot.position, static_cast<std::uint16_t>(kRow), succeeded);
        }
        return result;
      } else if constexpr (is_launch(kEffect.kind)) {
        const LaunchCall what = launch_call<kRow>(arguments);
        Launch launch(what);
        launch.before();
        CUresult result = real(parameters...);
        if (launch.wants_retry(result == CUDA_SUCCESS)) result = real(parameters...);
        launch.after(result == CUDA_SUCCESS, frame);
        if (result == CUDA_SUCCESS) record_launch_events<kRow>(arguments, launch);
        return result;
      } else {
        // Others must not meet kernels while they are patched, nor a capture while one is measured.
        constexpr bool kCaptures = kEffect.kind == EffectKind::CaptureBegin;
        const bool gated = (kCaptures || kEffect.kind == EffectKind::GraphLaunch) && learning();
        if (gated) Gate::enter();
        if constexpr (kCaptures) capture_begins();
        CUresult result = real(parameters...);
        if (kCaptures && result != CUDA_SUCCESS) capture_ended();
        if (gated) Gate::leave();
        if (kEffect.kind == EffectKind::CaptureEnd && ends_capture(result)) capture_ended();
        // A failed EndCapture ends the capture all the same (R-GRF-10).
        if (result != CUDA_SUCCESS && kEffect.kind != EffectKind::CaptureEnd) return result;
        if constexpr (is_special(kEffect.kind)) {
          record_special<kRow>(arguments);
        } else {
          publish(CallRecord<kRow, Arguments>(arguments, capture_stack(frame)).fill());
        }
        return result;
      }
    }
  }

 private:
  /// cuGetProcAddress: the real one decides which version is meant; we only swap the address it returns for our
  /// wrapper.
  template <class Real, class... Rest>
  static CUresult look_up(Real real, const char* name, void** entry, Rest... rest) {
    CUresult result = real(name, entry, rest...);
    if (result == CUDA_SUCCESS && name && entry && *entry) *entry = wrapper_for_base(name, *entry);
    return result;
  }
};

template <std::size_t kRow, class Signature>
constexpr void* wrapper_of() {
  if constexpr (is_wrapped(api::kRows[kRow].effect.kind)) {
    return reinterpret_cast<void*>(&Hook<kRow, Signature>::call);
  } else {
    return nullptr;
  }
}

}  // namespace
}  // namespace streamsan::recorder

// Read by the exported entry points (exports.S, generated from the table) and by driver.cpp.
extern "C" {
void* const streamsan_wrappers[] = {
#define SS_API(symbol_, ...) streamsan::recorder::wrapper_of<streamsan::api::Index::symbol_, decltype(&::symbol_)>(),
#include "ordering/api/cuda_api.def"
#undef SS_API
};
}
