// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The record header is laid out by hand here, word by word, on purpose: it is a second statement of format.h, and the
// reader's tests fail when the two disagree.
#include "judge/testing/trace_builder.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "ordering/api/row.h"

namespace streamsan::trace {

std::uint16_t TraceBuilder::api_index(std::string_view symbol) const {
  if (!functions_.empty()) {
    const auto found = std::find(functions_.begin(), functions_.end(), symbol);
    return found == functions_.end() ? std::uint16_t{0} : static_cast<std::uint16_t>(found - functions_.begin());
  }
  const api::Row* row = api::find_row(symbol);
  return row ? static_cast<std::uint16_t>(row - api::kRows) : std::uint16_t{0};
}

TraceBuilder::TraceBuilder() { slots_.reserve(4096); }

std::uint64_t TraceBuilder::add(Kind kind, std::string_view symbol, Words words, std::span<const std::uint64_t> payload,
                                std::uint16_t flags, State state) {
  std::size_t continuations = (payload.size() + kContinuationWords - 1) / kContinuationWords;
  while (slots() % kChunkSlots + 1 + continuations > kChunkSlots) {
    slots_.push_back(static_cast<std::uint64_t>(State::Published));
    slots_.resize(slots_.size() + kContinuationWords - 1);
  }
  std::uint64_t position = slots();
  slots_.push_back(static_cast<std::uint64_t>(state) | std::uint64_t{static_cast<std::uint8_t>(kind)} << 32 |
                   std::uint64_t{static_cast<std::uint8_t>(continuations)} << 40 |
                   std::uint64_t{api_index(symbol)} << 48);
  slots_.push_back(std::uint64_t{flags} | std::uint64_t{thread_} << 16 | std::uint64_t{stack_} << 32);
  slots_.insert(slots_.end(), words.begin(), words.end());
  slots_.insert(slots_.end(), payload.begin(), payload.end());
  slots_.resize((position + 1 + continuations) * kContinuationWords);
  return position;
}

std::uint64_t TraceBuilder::add_text(Kind kind, Words words, std::string_view text, std::string_view symbol) {
  std::vector<std::uint64_t> payload((text.size() + 7) / 8);
  if (!text.empty()) std::memcpy(payload.data(), text.data(), text.size());
  return add(kind, symbol, words, payload);
}

std::uint64_t TraceBuilder::call_end(std::uint64_t position, bool ok) {
  return add(Kind::CallEnd, "", {position}, {}, 0, ok ? State::Published : State::Cancelled);
}

TraceBuilder& TraceBuilder::at(std::initializer_list<std::uint64_t> frames) { return at(frames, {}); }

TraceBuilder& TraceBuilder::at(std::initializer_list<std::uint64_t> frames,
                               std::initializer_list<std::uint64_t> python) {
  return at(frames, python, {});
}

TraceBuilder& TraceBuilder::at(std::initializer_list<std::uint64_t> frames, std::initializer_list<std::uint64_t> python,
                               std::initializer_list<std::uint64_t> forward) {
  const std::uint64_t above = forward.size() ? at({}, forward).stack_ : 0;
  std::vector<std::uint64_t> payload(frames);
  payload.insert(payload.end(), python);
  std::vector<std::uint64_t> key(payload);
  if (above) key.insert(key.end(), {0, above});
  auto [known, fresh] = stacks_.try_emplace(key, static_cast<std::uint32_t>(stacks_.size() + 1));
  stack_ = 0;
  if (fresh) add(Kind::Stack, "", {known->second, frames.size(), python.size(), above}, payload);
  stack_ = known->second;
  return *this;
}

void TraceBuilder::module(std::string_view path, std::uint64_t bias, std::uint64_t low, std::uint64_t high,
                          std::string_view build_id) {
  add_text(Kind::Module, {bias, low, high, path.size(), build_id.size()}, std::string(path) + std::string(build_id));
}
void TraceBuilder::python_frame(std::uint64_t id, std::string_view function, std::string_view file,
                                std::uint64_t line) {
  add_text(Kind::PythonFrame, {id, line, function.size(), file.size()}, std::string(function) + std::string(file));
}
void TraceBuilder::function(std::uint64_t id, std::string_view mangled) {
  add_text(Kind::Function, {id, 0xF000 + id, mangled.size()}, mangled);
}
void TraceBuilder::footprint(std::uint64_t id, std::span<const Piece> pieces, std::uint64_t flags, bool open) {
  do {
    const auto here = pieces.first(std::min(pieces.size(), kMostPiecesPerRecord));
    pieces = pieces.subspan(here.size());
    std::vector<std::uint64_t> payload(here.size() * kPieceWords);
    for (std::size_t i = 0; i < here.size(); ++i) {
      const Piece& each = here[i];
      const std::uint64_t words[kPieceWords] = {
          each.pointer | std::uint64_t{static_cast<std::uint8_t>(each.mode)} << 16 | std::uint64_t{each.flags} << 24 |
              std::uint64_t{each.reserved} << 32,
          static_cast<std::uint64_t>(each.offset),
          each.width,
          each.rows | std::uint64_t{each.slices} << 32,
          each.pitch,
          each.slice_pitch};
      std::copy(std::begin(words), std::end(words), payload.begin() + static_cast<std::ptrdiff_t>(i * kPieceWords));
    }
    const bool more = open || !pieces.empty();
    add(Kind::Footprint, "", {id, here.size(), flags, more ? 1u : 0u}, payload);
  } while (!pieces.empty());
}
void TraceBuilder::arguments(std::uint64_t hash, std::uint64_t function, std::array<std::uint32_t, 3> grid,
                             std::array<std::uint32_t, 3> block, std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> payload = {grid[0] | std::uint64_t{grid[1]} << 32, grid[2] | std::uint64_t{block[0]} << 32,
                                        block[1] | std::uint64_t{block[2]} << 32};
  payload.resize(kExtentWords + (bytes.size() + 7) / 8);
  std::memcpy(payload.data() + kExtentWords, bytes.data(), bytes.size());
  add(Kind::Arguments, "", {hash, function, bytes.size()}, payload);
}
void TraceBuilder::unmodelled(std::string_view symbol, std::uint64_t calls) {
  add_text(Kind::Unmodelled, {calls, symbol.size()}, symbol);
}
void TraceBuilder::message(std::string_view text) { add_text(Kind::Message, {text.size()}, text); }

std::uint64_t TraceBuilder::stream_create(std::uint64_t handle, NonBlocking non_blocking) {
  return add(Kind::StreamCreate, "cuStreamCreate",
             {handle, non_blocking == NonBlocking::Yes ? 1u : 0u, context_, handle});
}
std::uint64_t TraceBuilder::stream_destroy(std::uint64_t handle) {
  return add(Kind::StreamDestroy, "cuStreamDestroy_v2", {handle});
}
std::uint64_t TraceBuilder::name_stream(std::uint64_t handle, std::string_view name) {
  return add_text(Kind::NameStream, {handle, name.size()}, name);
}
std::uint64_t TraceBuilder::event_create(std::uint64_t handle, std::uint64_t flags) {
  return add(Kind::EventCreate, "cuEventCreate", {handle, flags});
}
std::uint64_t TraceBuilder::event_destroy(std::uint64_t handle) {
  return add(Kind::EventDestroy, "cuEventDestroy_v2", {handle});
}
std::uint64_t TraceBuilder::event_record(std::uint64_t stream, std::uint64_t event, std::uint16_t flags) {
  return add(Kind::EventRecord, "cuEventRecord", {stream, context_, event}, {}, flags);
}
std::uint64_t TraceBuilder::event_wait(std::uint64_t stream, std::uint64_t event) {
  return add(Kind::EventWait, "cuStreamWaitEvent", {stream, context_, event});
}

std::uint64_t TraceBuilder::alloc(std::uint64_t address, std::uint64_t bytes, ordering::MemoryKind kind,
                                  std::uint64_t stream) {
  std::string_view symbol = "cuMemAlloc_v2";
  switch (kind) {
    case ordering::MemoryKind::DeviceAsync:
      symbol = "cuMemAllocAsync";
      break;
    case ordering::MemoryKind::Managed:
      symbol = "cuMemAllocManaged";
      break;
    case ordering::MemoryKind::Pinned:
      symbol = "cuMemHostAlloc";
      break;
    case ordering::MemoryKind::Registered:
      symbol = "cuMemHostRegister_v2";
      break;
    case ordering::MemoryKind::Array:
      symbol = "cuArrayCreate_v2";
      break;
    case ordering::MemoryKind::Device:
    case ordering::MemoryKind::Pageable:
      break;
  }
  return add(Kind::Alloc, symbol, {address, bytes, static_cast<std::uint64_t>(kind), stream, context_});
}
std::uint64_t TraceBuilder::free_async(std::uint64_t address, std::uint64_t stream) {
  return add(Kind::Free, "cuMemFreeAsync", {address, 0, static_cast<std::uint64_t>(FreeKind::Async), stream, context_});
}
std::uint64_t TraceBuilder::free(std::uint64_t address, FreeKind kind) {
  std::uint64_t position = add(Kind::Free, kind == FreeKind::Host ? "cuMemFreeHost" : "cuMemFree_v2",
                               {address, 0, static_cast<std::uint64_t>(kind), 0, context_});
  call_end(position, true);
  return position;
}

std::uint64_t TraceBuilder::launch(std::uint64_t stream, std::uint64_t function,
                                   std::initializer_list<std::uint64_t> pointer_words, std::uint64_t device_threads,
                                   std::uint64_t arguments_hash, std::uint16_t flags) {
  std::vector<std::uint64_t> payload(pointer_words);
  return add(Kind::Launch, "cuLaunchKernel",
             {stream, context_, function, device_threads, arguments_hash, payload.size()}, payload, flags);
}

std::uint64_t TraceBuilder::launch_known(std::uint64_t stream, std::uint64_t function, std::uint64_t footprint,
                                         Known known, std::initializer_list<std::uint64_t> pointer_words,
                                         std::uint64_t device_threads, std::uint64_t arguments_hash,
                                         std::uint16_t flags) {
  std::vector<std::uint64_t> payload(pointer_words);
  payload.push_back(footprint);
  return add(Kind::Launch, "cuLaunchKernel",
             {stream, context_, function, device_threads, arguments_hash, pointer_words.size()}, payload,
             static_cast<std::uint16_t>(flags | kHasFootprint | (known == Known::Measured ? kMeasured : 0)));
}

std::uint64_t TraceBuilder::launch_promised(std::uint64_t stream, std::uint64_t function, std::uint64_t promise,
                                            std::uint64_t footprint, std::initializer_list<std::uint64_t> pointer_words,
                                            std::uint16_t flags) {
  std::vector<std::uint64_t> payload(pointer_words);
  if (footprint != 0) payload.push_back(footprint);
  payload.push_back(promise);
  return add(Kind::Launch, "cuLaunchKernel", {stream, context_, function, 1024, 7, pointer_words.size()}, payload,
             static_cast<std::uint16_t>(flags | kHasPromise | (footprint != 0 ? kHasFootprint : 0)));
}

namespace {
std::uint16_t direction_flags(std::string_view symbol) {
  const api::Row* row = api::find_row(symbol);
  auto direction = row ? row->effect.direction : api::Direction::ByAddress;
  return static_cast<std::uint16_t>(static_cast<unsigned>(direction) << kDirectionShift);
}
}  // namespace

std::uint64_t TraceBuilder::copy_async(std::string_view symbol, std::uint64_t stream, std::uint64_t dst,
                                       std::uint64_t src, std::uint64_t bytes) {
  return add(Kind::Copy, symbol, {stream, context_, dst, src, bytes, 0}, {},
             static_cast<std::uint16_t>(direction_flags(symbol) | kAsyncForm));
}
std::uint64_t TraceBuilder::copy(std::string_view symbol, std::uint64_t stream, std::uint64_t dst, std::uint64_t src,
                                 std::uint64_t bytes) {
  std::uint64_t position = add(Kind::Copy, symbol, {stream, context_, dst, src, bytes, 0}, {}, direction_flags(symbol));
  call_end(position, true);
  return position;
}
std::uint64_t TraceBuilder::fill_async(std::uint64_t stream, std::uint64_t dst, std::uint64_t bytes) {
  return add(Kind::Fill, "cuMemsetD8Async", {stream, context_, dst, bytes, 0, 1}, {}, kAsyncForm);
}

std::uint64_t TraceBuilder::sync_stream(std::uint64_t stream, bool ok) {
  std::uint64_t position = add(Kind::SyncStream, "cuStreamSynchronize", {stream, context_});
  call_end(position, ok);
  return position;
}
std::uint64_t TraceBuilder::sync_event(std::uint64_t event, bool ok) {
  std::uint64_t position = add(Kind::SyncEvent, "cuEventSynchronize", {event});
  call_end(position, ok);
  return position;
}
std::uint64_t TraceBuilder::sync_context(bool ok) {
  std::uint64_t position = add(Kind::SyncContext, "cuCtxSynchronize", {context_});
  call_end(position, ok);
  return position;
}

std::uint64_t TraceBuilder::host_access(std::uint64_t address, std::uint64_t bytes, bool writes, AccessWay way,
                                        std::string_view function) {
  return add_text(Kind::HostAccess,
                  {address, bytes, static_cast<std::uint64_t>(way), writes ? 1u : 0u, function.size()}, function);
}
std::uint64_t TraceBuilder::host_free(std::uint64_t address, std::uint64_t bytes, HostFreeWay way,
                                      std::string_view function) {
  return add_text(Kind::HostFree, {address, bytes, static_cast<std::uint64_t>(way), function.size()}, function);
}
std::uint64_t TraceBuilder::block_alloc(std::uint64_t address, std::uint64_t bytes,
                                        std::optional<std::uint64_t> stream) {
  return add(Kind::BlockAlloc, "", {address, bytes, stream.value_or(0), context_}, {}, stream ? 0 : kOnHost);
}
std::uint64_t TraceBuilder::block_free(std::uint64_t address, std::optional<std::uint64_t> stream,
                                       std::uint16_t flags) {
  return add(Kind::BlockFree, "", {address, 0, stream.value_or(0), context_}, {},
             static_cast<std::uint16_t>(flags | (stream ? 0 : kOnHost)));
}
std::uint64_t TraceBuilder::block_use(std::uint64_t address, std::uint64_t stream) {
  return add(Kind::BlockUse, "", {address, 0, stream, context_});
}
std::uint64_t TraceBuilder::signal(std::optional<std::uint64_t> stream, std::uint64_t object) {
  return add(Kind::Signal, "", {stream.value_or(0), context_, object}, {}, stream ? 0 : kOnHost);
}
std::uint64_t TraceBuilder::await(std::optional<std::uint64_t> stream, std::uint64_t object) {
  return add(Kind::Await, "", {stream.value_or(0), context_, object}, {}, stream ? 0 : kOnHost);
}
std::uint64_t TraceBuilder::host_thread(std::string_view name, std::string_view function, bool first) {
  return add_text(Kind::HostThread, {first ? 1u : 0u, name.size(), function.size()},
                  std::string(name) + std::string(function));
}

std::uint64_t TraceBuilder::name_memory(std::uint64_t address, std::string_view name) {
  return add_text(Kind::NameMemory, {address, name.size()}, name);
}
std::uint64_t TraceBuilder::call_failed(std::string_view symbol, std::uint64_t stream, std::uint64_t object,
                                        std::uint64_t result) {
  return add(Kind::CallFailed, symbol, {stream, context_, object, result});
}
std::uint64_t TraceBuilder::capture_begin(std::uint64_t stream) {
  return add(Kind::CaptureBegin, "cuStreamBeginCapture_v2", {stream, context_});
}
std::uint64_t TraceBuilder::capture_end(std::uint64_t stream, std::uint64_t graph) {
  return add(Kind::CaptureEnd, "cuStreamEndCapture", {stream, context_, graph});
}
std::uint64_t TraceBuilder::graph_launch(std::uint64_t stream, std::uint64_t exec) {
  return add(Kind::GraphLaunch, "cuGraphLaunch", {stream, context_, exec});
}

std::string TraceBuilder::bytes() const {
  std::size_t chunks = (slots() + kChunkSlots - 1) / kChunkSlots;
  std::string out(kHeaderBytes + (chunks ? chunks : 1) * kChunkBytes, '\0');
  FileHeader header{};
  header.magic = kMagic;
  header.version = kVersion;
  header.slot_bytes = kSlotBytes;
  header.chunk_bytes = kChunkBytes;
  header.pid = pid_;
  std::string names(functions_.empty() ? std::string_view(api::kSymbols, api::kSymbolBytes) : std::string_view());
  for (const std::string& name : functions_) (names += name) += '\0';
  header.api_rows = static_cast<std::uint32_t>(functions_.empty() ? api::kRowCount : functions_.size());
  header.api_hash = api::table_hash(names);
  header.header_bytes = kHeaderBytes;
  header.functions_at = sizeof header;
  header.functions_bytes = static_cast<std::uint32_t>(names.size());
  header.start_time_ns = 1'700'000'000'000'000'000u;
  header.reserved = slots();
  header.end = static_cast<std::uint32_t>(end_);
  header.cuda_initialised = 1;
  std::strcpy(header.executable, "/opt/app/demo");
  std::strcpy(header.command_line, "./demo");
  std::memcpy(out.data(), static_cast<const void*>(&header), sizeof header);
  std::memcpy(out.data() + sizeof header, names.data(), names.size());
  std::memcpy(out.data() + kHeaderBytes, slots_.data(), slots_.size() * sizeof(std::uint64_t));
  return out;
}

bool TraceBuilder::save(const std::string& path) const {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return false;
  std::string data = bytes();
  bool whole = std::fwrite(data.data(), 1, data.size(), file) == data.size();
  return std::fclose(file) == 0 && whole;
}

}  // namespace streamsan::trace
