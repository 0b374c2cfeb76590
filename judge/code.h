// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the code of kernels says about launches, above all about those that nobody measured.
//
// The files a process had mapped may hold its kernels as PTX (ptx/library.h). Three things are taken from there:
//   * FACTS, for every launch: a pointer that is only read through is an inferred read, whatever the signature says;
//     one that the signature shows as written and that is only used by atomic operations is atomic; one that is not
//     used at all is no access. A word in a structure stays doubtful.
//   * BYTES, where the trace has the launch's arguments: what is proved (ptx/evaluate.h) becomes known bytes, as exact
//     as measured ones, and a pointer all of whose accesses are proved is no inferred access beside them. For each
//     launch pointer by pointer: a gather's index and result are exact, what it gathers from stays inferred.
//   * SIGNALS, of launches that were measured: which of the stores are meant for the host.
// Without a kernel's PTX, or on another machine than the trace, or once a file was built again, launches stay as they
// are.
//
// This weakens only one conclusion from the signature: that a pointer is written, if the code does not write through
// it.
//
// Cost: each kernel is parsed once, and evaluated once for all launches that agree in what decides about its addresses
// (ptx/slice.h). All evaluations together may take kFirstSteps and kStepsPerLaunch for each launch so far, kMostSteps
// at most: so a run of a thousand launches is not judged for longer than it took, and the same trace is always judged
// alike. A kernel that costs more than is left waits, others do not. One that could not be evaluated kMostFailures
// times is not tried again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/places.h"
#include "judge/ptx/evaluate.h"
#include "judge/ptx/library.h"
#include "ordering/model.h"
#include "trace/reader.h"

namespace streamsan::judge {

class Code {
 public:
  static constexpr std::uint64_t kFirstSteps = 10'000'000;  ///< half a second
  static constexpr std::uint64_t kStepsPerLaunch = 1'000;
  static constexpr std::uint64_t kMostSteps = 100'000'000;
  static constexpr unsigned kMostFailures = 3;
  static constexpr std::size_t kMostLaunches = std::size_t{1} << 16;
  static constexpr std::size_t kMostArgumentBytes = std::size_t{64} << 20;

  Code() = default;
  Code(const Code&) = delete;  // launches point to results
  Code& operator=(const Code&) = delete;

  /// Off, as it is at first: nothing is read and nothing concluded. `started`: when the process did, in nanoseconds of
  /// CLOCK_REALTIME; a file without a build id that changed since then is not the one that was recorded.
  void enable(bool on, std::uint64_t started = 0) {
    enabled_ = on;
    started_ = started;
  }
  void add_module(const Module& module);
  /// PTX text that is in no file.
  void add_text(std::string_view text) {
    library_.add_text(text);
    ++modules_;
  }
  /// A record of trace::Kind::Arguments, its lengths checked by the reader.
  void add_arguments(const trace::Item& item);

  struct Conclusion {
    bool complete = false;  ///< the bytes are all that the launch touches
    bool confined = false;  ///< it touches no memory that its arguments do not lead to
  };
  [[nodiscard]] bool enabled() const { return enabled_; }
  /// A launch of the kernel with this index: sharpens or removes from `pointers`, one for each of `words`, and adds to
  /// `bytes` what is proved. `dependent`: it may overlap the kernel in front, so that a pointer that is used both
  /// before and behind the wait for it counts twice.
  Conclusion conclude(std::uint32_t index, const Kernel& kernel, std::uint64_t hash,
                      std::span<const std::uint64_t> words, std::vector<ordering::PointerArgument>& pointers,
                      std::vector<ordering::KernelBytes>& bytes, bool dependent = false);
  /// For a launch whose bytes are known otherwise: adds the bytes that are proved to be touched before the kernel waits
  /// for the one in front. Adds none for a kernel that never waits.
  void add_early(std::uint32_t index, const Kernel& kernel, std::uint64_t hash,
                 std::vector<ordering::KernelBytes>& bytes);
  /// What measured or proved bytes do not show about the kernel, as far as its code is known.
  struct Besides {
    bool prints = false;
    bool uses_constants = false;  ///< of the module
  };
  Besides besides(std::uint32_t index, const Kernel& kernel);
  /// Is what a launch does by atomic accesses atomic for the host, too, in all memory that the host can touch?
  bool is_atomic_for_host(std::uint32_t index, const Kernel& kernel, std::uint64_t hash, const ordering::Model& memory);
  /// For bytes that were measured, where a store that is atomic for the host looks like any other: words of an
  /// allocation that the kernel writes by nothing else are signals. Finds none if the launch's arguments are not in the
  /// trace.
  void find_signals(std::uint32_t index, const Kernel& kernel, std::uint64_t hash, const ordering::Model& memory,
                    std::vector<ordering::KernelBytes>& bytes);
  /// An object that the kernel is given and reads or writes memory through (ptx/textures.h).
  struct TextureArgument {
    std::uint64_t handle = 0;
    bool surface = false;
    bool written = false;
    bool chosen = false;
  };
  bool uses_textures(std::uint32_t index, const Kernel& kernel);
  /// Adds those of a launch. False: there may be others.
  bool add_textures(std::uint32_t index, const Kernel& kernel, std::uint64_t hash, std::vector<TextureArgument>& out);
  /// May the kernel wait for what others write? A launch of it that took long may have been slow instead.
  bool can_wait(std::uint32_t index, const Kernel& kernel);
  /// Its code is known, and waits for words that another kernel or the host stores. An order that nobody sees: a
  /// conflict with it is possible, whatever is known of its bytes.
  bool waits_for_others(std::uint32_t index, const Kernel& kernel);
  /// What the kernel makes of those in front of it and behind it (ptx/grid.h).
  struct InChain {
    bool known = false;  ///< false: the rest says nothing
    bool waits = true;
    bool waits_first = true;
    ordering::Trigger trigger = ordering::Trigger::Unknown;
  };
  /// `hash`: of a launch that conclude() has seen, whose arguments may decide whether it triggers.
  InChain in_chain(std::uint32_t index, const Kernel& kernel, std::uint64_t hash);

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  ///< function id in the trace, hash
  struct Arguments {
    std::array<std::uint32_t, 3> grid{};
    std::array<std::uint32_t, 3> block{};
    std::vector<std::byte> bytes;
    const ptx::Result* result = nullptr;  ///< of the launch that it has in common with others; null: not evaluated
  };
  /// A launch that stands for those like it (ptx/slice.h).
  struct Common {
    const ptx::KnownKernel* code;
    std::array<std::uint32_t, 3> grid;
    std::array<std::uint32_t, 3> block;
    std::vector<std::byte> arguments;
    auto operator<=>(const Common&) const = default;
  };
  struct Known {
    std::size_t modules = 0;  ///< announced when it was looked for
    const ptx::KnownKernel* code = nullptr;
    unsigned failures = 0;
    std::uint64_t steps = 0;  ///< of its last evaluation
  };

  const ptx::KnownKernel* find(std::uint32_t index, const Kernel& kernel);
  /// Null: the trace does not have them, or the kernel takes something else.
  Arguments* arguments_of(const ptx::KnownKernel& code, const Kernel& kernel, std::uint64_t hash);
  const ptx::Result* evaluate(std::uint32_t index, const ptx::KnownKernel& code, Arguments& arguments);

  [[nodiscard]] bool is_recorded(const std::string& path, const std::string& build_id) const;

  bool enabled_ = false;
  std::uint64_t started_ = 0;
  ptx::Library library_;
  std::vector<std::pair<std::string, std::string>> waiting_;  ///< paths and build ids, until a kernel is looked for
  std::map<std::string, std::string> builds_;                 ///< path -> build id it was announced with first
  std::size_t modules_ = 1;
  std::vector<Known> known_;  ///< by index of the kernel
  std::map<Key, Arguments> arguments_;
  std::map<Common, ptx::Result> results_;
  std::size_t argument_bytes_ = 0;  ///< of both
  std::uint64_t steps_ = 0;
  std::uint64_t asked_ = 0;  ///< launches that were to be evaluated
};

}  // namespace streamsan::judge
