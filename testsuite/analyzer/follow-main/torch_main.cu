// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %tidy --quiet --dump-ir %s -- %mock -DFIXED | %filecheck %s
//
// A main() that uses PyTorch is followed: here a graph, replayed over what a side stream still copies to the host.
#include <torch/whole.h>

#include <map>

class Step {
 public:
  Step() : energy_(at::zeros({64}, at::kCUDA)) {}
  void capture() {
    graph_.capture_begin();
    energy_.add_(energy_);
    graph_.capture_end();
  }
  void replay() { graph_.replay(); }  // FIRES: cross-stream-race
  const at::Tensor& energy() const { return energy_; }

 private:
  at::Tensor energy_;
  at::cuda::CUDAGraph graph_;
};

// CHECK: main() was followed for {{[0-9]+}} steps, to its end
int main() {
  const at::cuda::CUDAStream work = at::cuda::getStreamFromPool(), side = at::cuda::getStreamFromPool();
  const c10::cuda::CUDAStreamGuard guard(work);
  Step step;
  step.capture();
  std::map<int, at::Tensor> snapshots;
  at::cuda::CUDAEvent produced, taken;
  for (int i = 0; i < 4; ++i) {
#ifdef FIXED
    taken.block(work);
#endif
    step.replay();
    produced.record(work);
    produced.block(side);
    const c10::cuda::CUDAStreamGuard on_side(side);
    snapshots[i] = at::empty({64}, at::TensorOptions(at::kCPU).pinned_memory(true));
    snapshots[i].copy_(step.energy(), true);
    taken.record(side);
  }
  side.synchronize();
  return 0;
}
