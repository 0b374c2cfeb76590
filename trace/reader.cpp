// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See reader.h for what is trusted (nothing) and what a caller may rely on (everything next() yields).
//
// Cost matters here: a step on the fast path is one bounds test, one acquire load and one switch. File size and the
// `reserved` counter are read again only when the last known values are used up.
#include "trace/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "ordering/api/row.h"
#include "trace/map_file.h"

namespace streamsan::trace {
namespace {

std::string errno_text(int error) { return std::generic_category().message(error); }

/// Is there room for all these? No sum is formed that could wrap around.
template <class... Lengths>
bool fits(std::uint64_t room, Lengths... lengths) {
  return ((lengths <= room && (room -= lengths, true)) && ...);
}

bool lengths_fit(const Record& record);

/// Is what follows a node of a graph a record of what it does, and inside of the node's room?
bool node_fits(const Record& record) {
  if (record.continuations == 0) return true;
  const Record& inner = *(&record + 1);
  const bool known = inner.kind == Kind::Launch || inner.kind == Kind::Copy || inner.kind == Kind::Fill;
  return known && inner.continuations < record.continuations && lengths_fit(inner);
}

/// Do the lengths a record states fit in its continuation? Also the place where absurd counts are caught.
bool lengths_fit(const Record& record) {
  const std::uint64_t bytes = std::uint64_t{record.continuations} * kSlotBytes;
  switch (record.kind) {
#define SS_RECORD(kind_, ...) \
  case Kind::kind_: {         \
    [[maybe_unused]] const Words<Kind::kind_>& w = record.as<Kind::kind_>();
#define SS_TAIL(text_, fits_) \
  if (!(fits_)) return false;
#define SS_END(...) \
  return true;      \
  }
#include "trace/records.def"
  }
  return true;
}

constexpr char kCorruptHeader[] = "its header is corrupt";

/// Why the fields that all formats have make this no trace for this program; empty: they do not.
std::string header_fault(const FileHeader& header) {
  if (header.magic != kMagic) return "it is not a StreamSan trace";
  if (header.version < kOldestVersion || header.version > kVersion) {
    return "it has trace format " + std::to_string(header.version) + ", this version reads " +
           std::to_string(kOldestVersion) + " to " + std::to_string(kVersion);
  }
  if (header.slot_bytes != kSlotBytes || header.chunk_bytes != kChunkBytes) return kCorruptHeader;
  return {};
}

}  // namespace

/// Maps the header and reads what stands in it once and for all. What is wrong with it; empty: nothing.
std::string Reader::read_header() {
  struct stat status{};
  if (fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) return "it is not a regular file";
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (file_bytes < kOldHeaderBytes) return "it is too short to be a StreamSan trace";
  const auto map = [this](std::size_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | (writable_ ? PROT_WRITE : 0), MAP_SHARED, file_, 0);
    if (at == MAP_FAILED) return false;
    header_ = static_cast<FileHeader*>(at);
    header_bytes_ = bytes;
    return true;
  };
  if (!map(kOldHeaderBytes)) return errno_text(errno);
  if (std::string fault = header_fault(*header_); !fault.empty()) return fault;
  if (header_->version < kCarriesFunctionsSince) {
    functions_ = Functions::of_old_trace(header_->api_rows, header_->api_hash);
    if (!functions_) return "it was recorded by an unknown version of StreamSan, whose driver functions are not known";
    return {};
  }
  const std::uint64_t bytes = header_->header_bytes;
  const std::uint64_t names_at = header_->functions_at;
  const std::uint64_t names_bytes = header_->functions_bytes;
  if (bytes < kOldHeaderBytes || bytes % kOldHeaderBytes != 0 || bytes > kChunkBytes) return kCorruptHeader;
  // Of the first format that carries them; later ones have more in front of them.
  constexpr std::uint64_t kLeast = offsetof(FileHeader, functions_bytes) + sizeof(FileHeader::functions_bytes);
  if (names_at < kLeast || names_at > bytes || names_bytes > bytes - names_at) return kCorruptHeader;
  if (file_bytes < bytes) return "it is too short to be a StreamSan trace";
  munmap(header_, header_bytes_);
  header_ = nullptr;
  if (!map(bytes)) return errno_text(errno);
  functions_ = Functions::carried({reinterpret_cast<const char*>(header_) + names_at, names_bytes}, header_->api_rows,
                                  header_->api_hash);
  return functions_ ? std::string() : kCorruptHeader;
}

std::string_view payload_text(std::span<const std::uint64_t> words, std::uint64_t offset, std::uint64_t length) {
  return {reinterpret_cast<const char*>(words.data()) + offset, length};
}

std::unique_ptr<Reader> Reader::open(const std::string& path, Options options, std::string& error) {
  std::unique_ptr<Reader> reader(new Reader);
  reader->writable_ = options.live || options.consume;
  // Not blocking: a pipe would wait here for somebody who writes to it.
  reader->file_ = ::open(path.c_str(), (reader->writable_ ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
  struct stat status{};
  if (reader->file_ < 0 || fstat(reader->file_, &status) != 0) {
    error = errno_text(errno);
    return nullptr;
  }
  if (!S_ISREG(status.st_mode)) {
    error = S_ISDIR(status.st_mode) ? errno_text(EISDIR) : "not a regular file";
    return nullptr;
  }
  error = reader->read_header();
  if (!error.empty()) return nullptr;
  reader->live_ = options.live;
  reader->was_live_ = options.live;
  reader->consume_ = options.consume;
  reader->removed_below_ = reader->header_->consumed.load(std::memory_order_acquire);
  if (options.live) reader->header_->judge_attached.store(1, std::memory_order_release);
  reader->refresh_size();
  return reader;
}

Reader::~Reader() {
  if (chunk_) unmap_file(const_cast<Record*>(chunk_), kChunkBytes);
  if (header_) {
    if (writable_) header_->judge_attached.store(0, std::memory_order_release);
    munmap(header_, header_bytes_);
  }
  if (file_ >= 0) close(file_);
}

void Reader::ask(std::uint64_t function_id) {
  if (!writable_ || header_->version < 2) return;
  const std::uint64_t bit = function_id % (kAskedWords * 64);
  header_->asked[bit / 64].fetch_or(std::uint64_t{1} << (bit % 64), std::memory_order_relaxed);
  header_->asks.store(1, std::memory_order_release);
}

End Reader::end() const { return static_cast<End>(header_->end.load(std::memory_order_acquire)); }

std::uint64_t Reader::reserved() const { return std::min(header_->reserved.load(std::memory_order_acquire), limit_); }

void Reader::finish() {
  if (!live_) return;
  live_ = false;
  limit_ = reserved();
}

bool Reader::refresh_size() {
  struct stat status{};
  if (fstat(file_, &status) != 0) return false;
  file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  std::uint64_t slots = file_bytes_ < header_bytes_ ? 0 : (file_bytes_ - header_bytes_) / kSlotBytes;
  bool grown = slots > slots_available_;
  slots_available_ = slots;
  return grown;
}

off_t Reader::chunk_offset(std::size_t index) const { return static_cast<off_t>(header_bytes_ + index * kChunkBytes); }

bool Reader::map_chunk(std::size_t index) {
  // The last chunk of a truncated file is mapped in full; slots_available_ keeps us away from the part without pages.
  void* map = map_file(file_, chunk_offset(index), kChunkBytes, PROT_READ);
  if (!map) return false;
  chunk_ = static_cast<const Record*>(map);
  chunk_index_ = index;
  return true;
}

void Reader::leave_chunk() {
  unmap_file(const_cast<Record*>(chunk_), kChunkBytes);
  chunk_ = nullptr;
  if (!consume_) return;
  // A file system without holes keeps the file whole: it costs disk space, nothing else.
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, chunk_offset(chunk_index_),
            static_cast<off_t>(kChunkBytes));
  header_->consumed.store((chunk_index_ + 1) * kChunkSlots, std::memory_order_release);
}

Step Reader::corrupt(const std::string& what) {
  ended_ = true;
  problem_ = "record " + std::to_string(position_) + " is corrupt (" + what +
             "): what follows it could not be read (the trace has " + std::to_string(reserved()) + " slots)";
  return Step::End;
}

/// The slot at position_ was handed out, but the file does not reach so far.
Step Reader::missing_slot() {
  ended_ = true;
  std::uint64_t missing = reserved() - std::min(position_, slots_available_);
  // The recorder says so itself.
  if (end() == End::NoSpace || end() == End::TooLong) return Step::End;
  // Or it was between taking the slots and growing the file, which it does by whole chunks, when it died or when we
  // stopped waiting for it. In a file of which we know nothing that is indistinguishable from a cut.
  constexpr std::uint64_t kInFlight = 4096;
  if (was_live_ && end() == End::Running && slots_available_ % kChunkSlots == 0 && missing <= kInFlight) {
    unpublished_ += missing;
    return Step::End;
  }
  problem_ = "the trace is truncated: " + std::to_string(missing) + " of " + std::to_string(reserved()) +
             " slots are missing at its end";
  return Step::End;
}

/// The record with the function's number here.
const Record* Reader::renumber(const Record& record, std::string_view& foreign) {
  std::memcpy(static_cast<void*>(&renumbered_), static_cast<const void*>(&record), sizeof record);
  renumbered_.api = functions_->here(record.api);
  foreign = functions_->foreign(renumbered_.api);
  return &renumbered_;
}

Step Reader::next(Item& item) {
  if (ended_) return Step::End;
  for (;;) {
    if (position_ >= known_reserved_) {
      // The word with the number of slots is the one place that all threads of the guest write to. A judge that is as
      // fast as they are would fetch it for every record and slow them down; so it lets some records gather first.
      if (live_ && !rested_) {
        rested_ = true;
        return Step::Wait;
      }
      rested_ = false;
      known_reserved_ = reserved();
      if (position_ >= known_reserved_) {
        if (live_) return Step::Wait;
        // The last record may have been in progress, and its continuation cut off.
        refresh_size();
        if (known_reserved_ > slots_available_) return missing_slot();
        ended_ = true;
        return Step::End;
      }
    }
    if (position_ >= slots_available_) {
      refresh_size();
      if (position_ >= slots_available_) {
        if (live_) return Step::Wait;
        return missing_slot();
      }
    }
    std::size_t index = position_ / kChunkSlots;
    if (!chunk_ || index != chunk_index_) {
      if (chunk_) leave_chunk();
      if (!map_chunk(index)) return corrupt("cannot map it: " + errno_text(errno));
    }
    std::uint64_t within = position_ % kChunkSlots;
    const Record& record = chunk_[within];
    auto state = static_cast<State>(record.state.load(std::memory_order_acquire));
    if (state == State::Reserved) {
      if (live_) return Step::Wait;
      std::uint64_t slots = std::min<std::uint64_t>(1u + record.continuations, kChunkSlots - within);
      (position_ < removed_below_ ? removed_ : unpublished_) += 1;
      position_ += slots;
      continue;
    }
    if (state != State::Published && state != State::Cancelled) return corrupt("unknown state");
    if (static_cast<std::size_t>(record.kind) >= kKinds) return corrupt("unknown kind");
    std::uint64_t slots = 1u + record.continuations;
    if (within + slots > kChunkSlots) return corrupt("it reaches over the end of its chunk");
    if (position_ + slots > slots_available_) {
      refresh_size();
      if (position_ + slots > slots_available_) {
        if (live_) return Step::Wait;
        return missing_slot();
      }
    }
    if (record.kind == Kind::Pad || (state == State::Cancelled && record.kind != Kind::CallEnd)) {
      position_ += slots;
      continue;
    }
    if (!lengths_fit(record)) return corrupt("its lengths do not fit");
    item.position = position_;
    item.record = &record;
    item.foreign = {};
    if (!functions_->same()) item.record = renumber(record, item.foreign);
    item.payload = {reinterpret_cast<const std::uint64_t*>(&record + 1),
                    slots * kContinuationWords - kContinuationWords};
    item.cancelled = state == State::Cancelled;
    position_ += slots;
    return Step::Record;
  }
}

}  // namespace streamsan::trace
