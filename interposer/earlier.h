// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Footprints that earlier runs measured (trace/earlier.h), as the launcher hands them to the recorder.
//
// Where a launch would be measured because nothing is known of it (learning.h), the answer of an earlier run takes the
// place of one measurement, however many that run made. The launch has *learned* bytes, never measured ones, and from
// there on the rules of knowledge.h hold, which are no different for what this run has measured itself. Launches that
// the judge asks for are always measured, and so are those that may meet unordered work: their bytes may depend on data
// that are other ones in this run.
//
// One question remains, which launch of the earlier run a launch corresponds to: pointers differ from run to run. All
// launches of one key (trace/earlier.h) touched the same bytes relative to their pointers, or the key is not in the
// file. If `keys` of them were measured, the first `keys` of this run are taken for those; and all of them where a
// shape would be taken for known within one run, too.
//
// The file is mapped for reading, and asked only where a measurement would be made otherwise: it costs launches
// nothing.
#pragma once

#include <cstdint>

#include "interposer/footprints/agent.h"
#include "interposer/learning.h"
#include "trace/earlier.h"

namespace streamsan::recorder {

/// Maps the file of the option earlier_footprints. If it cannot be read there are no answers.
void open_earlier();

/// The key by which a later run knows the launch. 0: there is none, or nobody keeps what was measured.
std::uint64_t earlier_key(const StreamSanAgent& agent, const LaunchSubject& subject);

struct EarlierAnswer {
  const trace::EarlierLaunch* launch = nullptr;  ///< null: there is none
  const trace::Piece* pieces = nullptr;
};
EarlierAnswer find_earlier(std::uint64_t key);

}  // namespace streamsan::recorder
