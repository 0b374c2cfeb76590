// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The processes of a run, as /proc shows them: which of them use CUDA without our recorder, and which are still there
// when the program has ended.
//
// A recorder that was not loaded cannot say so. So the launcher looks, now and then, at all processes that come from
// the program; it is the reaper of those whose parents have gone, so that daemons stay among them. One that maps the
// CUDA driver and not the recorder is not observed, and its environment or its file says why. A process that lives too
// short to be looked at is missed: on a real GPU it needs longer to start than two looks are apart.
//
// A look reads a few files of /proc for each process on the machine. Looks are frequent in the first second, and then
// take at most a fiftieth of the time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace streamsan::cli {

struct SeenProcess {
  pid_t pid = 0;
  std::string program;    ///< path of its file
  std::string why;        ///< of one that is not recorded: a clause that says why
  bool recorded = false;  ///< has the recorder loaded. Not yet in the first moment of another program (exec)
};

class Processes {
 public:
  /// From here on whose parent ends is our child. To be called before the program starts.
  static void adopt_orphans();

  /// The program is this child of ours; `recorder` is the path of what was to be preloaded into it.
  Processes(pid_t program, const std::string& recorder);

  /// Looks, if it is time to. Takes the exit status of adopted processes; those of our own children stay.
  void look_if_due();
  void look();

  /// Those found to have loaded the CUDA driver without the recorder, since this was called last.
  std::vector<SeenProcess> take_unrecorded();
  /// Those that run, as of the last look, and have the recorder or were made to load it; not the program itself.
  [[nodiscard]] std::vector<SeenProcess> left_behind() const;

 private:
  /// What stays the same until the process ends or becomes another program.
  struct Identity {
    pid_t pid = 0;
    std::uint64_t started = 0;
    std::uint64_t stack = 0;  ///< where its stack began: another at each exec
    auto operator<=>(const Identity&) const = default;
  };
  struct Stat {
    Identity identity;
    pid_t parent = 0;
    bool ended = false;
  };
  enum class State : std::uint8_t {
    Unknown,
    Loading,  ///< made to load the recorder, and has not, so far
    Recorded,
    Reported
  };

  [[nodiscard]] static std::vector<Stat> all();
  [[nodiscard]] std::vector<Stat> of_the_run() const;
  State examine(pid_t pid);
  void reap(const std::vector<Stat>& present);

  pid_t program_;
  std::string recorder_;  ///< file name
  std::map<Identity, State> seen_;
  std::vector<pid_t> ended_;  ///< adopted ones that had ended at the last look
  std::vector<SeenProcess> unrecorded_;
  std::chrono::steady_clock::duration interval_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace streamsan::cli
