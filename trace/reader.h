// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reading side of the trace (format.h): yields records in slot order, live or afterwards.
//
// A reader never trusts the file. The guest may have been killed in the middle of anything, the disk may have been
// full, the file may have been cut or be no trace at all. So:
//   * a slot is looked at only when the file is known to be long enough to hold it;
//   * a record is yielded only when its kind is known, its continuation stays in its chunk, and the lengths it states
//     fit in its continuation. Whoever consumes it may index the payload by those lengths without checking again;
//   * the first record that breaks these rules ends the reading: what follows it cannot be found reliably. What came
//     before stands, and problem() says in one sentence what is missing.
//
// LIVE. A Reserved slot is a call that is still running: next() answers Wait and the caller comes back. Once finish()
// has been called (the process is gone) such a slot will never be published; it is counted and skipped. The order in
// which a caller must ask is: is the process gone?, then finish(), then read on until End; the other way round loses
// records that were published in between.
//
// FUNCTIONS. The recorder may have another table of driver functions than the reader has. Yielded records name
// functions by the reader's own rows; functions.h says what stands for those that have none.
//
// CONSUMED CHUNKS. With Options::consume, a chunk that has been read is given back: unmapped, and punched out of the
// file. A trace that was consumed this way and is then read again has holes at its start; they are counted, not
// reported as calls in progress.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trace/format.h"
#include "trace/functions.h"

namespace streamsan::trace {

/// One record. The pointers are valid until the next call of Reader::next().
struct Item {
  std::uint64_t position = 0;
  const Record* record = nullptr;          ///< its `api` is a row of api::kRows, or see Functions::here()
  std::string_view foreign;                ///< the function that was called, if it has no row here; else empty
  std::span<const std::uint64_t> payload;  ///< the words of its continuation slots
  /// A Copy's, if it has one.
  [[nodiscard]] const Shape& shape() const { return *reinterpret_cast<const Shape*>(payload.data()); }
  /// The list that follows a record of this kind (SS_LIST of records.def).
  template <Kind kKind>
  [[nodiscard]] std::span<const typename Words<kKind>::Listed> list() const {
    return {reinterpret_cast<const typename Words<kKind>::Listed*>(payload.data()), record->as<kKind>().listed()};
  }

  bool cancelled = false;  ///< only CallEnd is yielded when cancelled: the blocking call failed
};

/// The text that starts at `words`, as write_text_record() puts it there.
std::string_view payload_text(std::span<const std::uint64_t> words, std::uint64_t offset, std::uint64_t length);

enum class Step : std::uint8_t { Record, Wait, End };

class Reader {
 public:
  struct Options {
    bool live = false;     ///< announce ourselves in the header, and wait for slots in use
    bool consume = false;  ///< give chunks back once they have been read
  };

  /// Opens a trace. On failure returns nullptr and says why in `error` (one sentence, without the path).
  static std::unique_ptr<Reader> open(const std::string& path, Options options, std::string& error);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Step next(Item& item);
  /// The process is gone, or we do not want to wait for it: from now on next() never answers Wait, and what is handed
  /// out after this call is not read.
  void finish();

  /// Asks the recorder to measure the next launch of the function (FileHeader::asked). No effect unless live.
  void ask(std::uint64_t function_id);

  [[nodiscard]] const FileHeader& header() const { return *header_; }
  [[nodiscard]] End end() const;
  [[nodiscard]] std::uint64_t position() const { return position_; }  ///< slots read so far
  [[nodiscard]] std::uint64_t reserved() const;                       ///< slots handed out so far
  /// Calls that were in progress when the process died (slots never published).
  [[nodiscard]] std::uint64_t unpublished() const { return unpublished_; }
  /// Slots that an earlier reader has removed from the file.
  [[nodiscard]] std::uint64_t removed() const { return removed_; }
  /// What is wrong with the file; empty: nothing. Set once next() has answered End.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  Reader() = default;
  bool map_chunk(std::size_t index);
  void leave_chunk();
  bool refresh_size();
  std::string read_header();
  [[nodiscard]] off_t chunk_offset(std::size_t index) const;
  const Record* renumber(const Record& record, std::string_view& foreign);
  Step missing_slot();
  Step corrupt(const std::string& what);

  int file_ = -1;
  FileHeader* header_ = nullptr;
  std::size_t header_bytes_ = 0;
  std::optional<Functions> functions_;
  Record renumbered_{};  ///< the record just yielded, when the trace's table is another one
  bool writable_ = false;
  bool live_ = false;
  bool was_live_ = false;  ///< opened while it was being written
  bool consume_ = false;
  bool ended_ = false;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t slots_available_ = 0;  ///< slots below this exist in the file
  std::uint64_t known_reserved_ = 0;
  bool rested_ = true;                       ///< Wait was returned since known_reserved_ was read up to its end
  std::uint64_t limit_ = ~std::uint64_t{0};  ///< set by finish()
  const Record* chunk_ = nullptr;
  std::size_t chunk_index_ = 0;
  std::uint64_t unpublished_ = 0;
  std::uint64_t removed_ = 0;
  std::uint64_t removed_below_ = 0;  ///< slots below this were consumed by an earlier reader
  std::string problem_;
};

}  // namespace streamsan::trace
