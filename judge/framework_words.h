// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The repair of a hazard in the words of PyTorch, CuPy or Numba: what wording.h says in CUDA's.
//
//                     PyTorch                   CuPy                      Numba
//   stream waits      b.wait_stream(a), or      event = a.record(),       event.record(a),
//                     an event as CuPy's        b.wait_event(event)       event.wait(b)
//   host waits        a.synchronize()           a.synchronize()           a.synchronize()
//   memory's life     tensor.record_stream(a)   -                         -
//   default stream    torch.cuda.               cupy.cuda.Stream.null     cuda.legacy_default_stream()
//                     default_stream()
//
// The names of the program's stream variables are not known: a repair says s1 for the report's "stream 1", and explains
// that. Streams of two threads or devices that have one name in the framework are "earlier" and "later". An event is
// advised only if it is still there and in the program's hands, record_stream() only for memory of a device.
//
// Only for CuPy does a repair suggest creating a stream that waits for the legacy default stream: PyTorch's streams
// never do, Numba's always.
#pragma once

#include <string>

#include "judge/framework.h"
#include "judge/wording.h"
#include "ordering/hazard.h"

namespace streamsan::judge {

/// The repair, without the full stop; empty: nouns.framework has no words of its own for it.
std::string framework_fix(const ordering::Hazard& hazard, const Nouns& nouns);

}  // namespace streamsan::judge
