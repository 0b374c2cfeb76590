// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps what was measured from one run to the next (docs/footprints.md, "Between runs").
//
//   before the run   reads the file in the user's cache, and writes an extract for the recorders of the run into the
//                    folder of the traces: the launches that need not be measured
//   after it         reads the file again, adds what the judges have collected, and puts the new file in its place
//
// WHO NEED NOT BE MEASURED. A launch whose bytes come from an earlier run has learned bytes (judge/footprints.h), and
// those alone make no error: the judge has to ask. An error that a run without the cache finds must be found with it.
// So the extract has only launches of kernels that were in no conflict in the last run, and that were launched kOften
// times in it: if a conflict comes up that is new, the judge asks, and a later launch of the kernel answers. And the
// recorder does not ask it about launches that may meet unordered work (interposer/learning.cpp).
//
// PARALLEL RUNS. There are no locks. A file is made beside the old one and renamed, so a reader finds an old file or a
// new one and never half of one (but for a folder that cannot be written where the file can: the checksum finds that).
// Of two runs that end at the same time, one may lose what it has learned; it learns it anew the next time.
//
// WHAT IS NOT TRUSTED. A file that is damaged, of another version of StreamSan, or somebody else's is left out, and the
// first two are replaced at the end. One that is not of this form at all is left alone. Trouble of any kind costs time
// in the next run and nothing else: it is a line at verbosity 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/measured_launches.h"
#include "trace/earlier.h"

namespace streamsan::cli {

/// The folder that the option footprint_cache names; empty: none. `environment`: value of a variable, empty if unset.
std::string cache_folder(const std::string& option, const std::function<std::string(const char*)>& environment);

class FootprintCache {
 public:
  static constexpr std::uint32_t kOften = 4;  ///< launches of a kernel in one run, so that another one will come
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;  ///< of the file; then the oldest go

  /// `folder`: empty: nothing is kept. `tool`: version of StreamSan. `today`: in days since 1970.
  FootprintCache(std::string folder, std::string tool, std::uint32_t today)
      : folder_(std::move(folder)), tool_(std::move(tool)), today_(today) {}

  [[nodiscard]] bool on() const { return !folder_.empty(); }
  /// Writes what the recorders need not measure. Returns what was wrong with the kept file, as a clause; empty:
  /// nothing. `written`: the extract is there, though perhaps empty.
  std::string write_extract(const std::string& path, bool& written) const;
  /// What one process of the run has shown. From any thread.
  void add(const std::vector<judge::MeasuredLaunch>& launches);
  /// At the end: adds it to what is kept by then. Returns what went wrong, as a clause; empty: nothing.
  std::string save();

 private:
  struct Kept {
    trace::EarlierLaunch launch{};
    std::vector<trace::Piece> pieces;
  };
  using Launches = std::map<std::uint64_t, Kept>;
  enum class State : std::uint8_t { Usable, Replaceable, LeftAlone };

  static std::string bytes_of(const Launches& launches, std::string_view tool);
  static Kept kept_of(const judge::MeasuredLaunch& launch, std::uint32_t day);
  static void merge(Kept& into, Kept&& from);
  static void evict(Launches& launches);
  [[nodiscard]] std::string path() const { return folder_ + "/footprints"; }
  State read(Launches& out, std::string& fault) const;
  void remove_left_behind() const;

  std::string folder_;
  std::string tool_;
  std::uint32_t today_;
  std::mutex mutex_;
  Launches added_;
};

}  // namespace streamsan::cli
