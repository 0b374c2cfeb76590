// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-never-waited,event-wait-without-record %s
// RUN: %check event-never-waited,event-wait-without-record %s -- -DFIXED
//
// What a class template can do and this file does not ask for, another file with the same template may: so a wait that
// is instantiated nowhere here counts, unless no other file can name the class.
#include <cuda_runtime.h>

#ifdef FIXED
template <class Sample>
#else
namespace {
template <class Sample>
#endif
class Mailbox {
 public:
  Mailbox() { cudaEventCreateWithFlags(&posted_, cudaEventDisableTiming); }
  Mailbox(const Mailbox&) = delete;
  ~Mailbox() { cudaEventDestroy(posted_); }
  void post(const Sample* from, int n, cudaStream_t stream) {
    cudaMemcpyAsync(data_, from, n * sizeof(Sample), cudaMemcpyDeviceToDevice, stream);
    cudaEventRecord(posted_, stream);  // FIRES: event-never-waited
  }
  const Sample* fetch(cudaStream_t stream) {
    cudaStreamWaitEvent(stream, posted_, 0);
    return data_;
  }

 private:
  Sample* data_ = nullptr;
  cudaEvent_t posted_;
};
#ifndef FIXED
}  // namespace
#endif

void send(const float* from, int n, cudaStream_t stream) {
  static Mailbox<float> box;
  box.post(from, n, stream);
}

// A file of its own may also instantiate what takes any closure, and what ends the object.
template <class Sample>
class Hook {
 public:
  Hook() { cudaEventCreateWithFlags(&done_, cudaEventDisableTiming); }
  Hook(const Hook&) = delete;
  void finish(cudaStream_t stream) { cudaEventRecord(done_, stream); }
  template <class Then>
  void then(cudaStream_t stream, Then next) {
    cudaStreamWaitEvent(stream, done_, 0);
    next(stream);
  }

 private:
  cudaEvent_t done_;
};

void finish(Hook<int>& hook, cudaStream_t stream) { hook.finish(stream); }
Hook<int>* make_hook() { return new Hook<int>; }

template <class Sample>
class Drained {
 public:
  Drained() { cudaEventCreateWithFlags(&last_, cudaEventDisableTiming); }
  Drained(const Drained&) = delete;
  ~Drained() {
    cudaEventSynchronize(last_);
    cudaEventDestroy(last_);
  }
  void mark(cudaStream_t stream) { cudaEventRecord(last_, stream); }

 private:
  cudaEvent_t last_;
};

void mark(Drained<int>& drained, cudaStream_t stream) { drained.mark(stream); }
Drained<int>* make_drained() { return new Drained<int>; }

// The rest of this one does nothing with the event.
template <class Sample>
class Counted {
 public:
  Counted() { cudaEventCreateWithFlags(&counted_, cudaEventDisableTiming); }
  Counted(const Counted&) = delete;
  ~Counted() { cudaEventDestroy(counted_); }
  void count(cudaStream_t stream) {
    ++count_;
    cudaEventRecord(counted_, stream);  // FIRES: event-never-waited
  }
  int so_far() const { return count_; }

 private:
  int count_ = 0;
  cudaEvent_t counted_;
};

#ifndef FIXED
void count(cudaStream_t stream) {
  static Counted<float> counted;
  counted.count(stream);
}
#endif
