#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>

// Weighted-least-squares state estimation of a transmission grid. The stages run on
// streams of their own and pass tensors on through one-place hand-offs.
namespace gridest {

using c10::cuda::CUDAStream;

class Handoff {
 public:
  void put(at::Tensor value) { value_ = std::move(value); }
  void mark(const CUDAStream& producer) { ready_.record(producer); }

  at::Tensor take(const CUDAStream& consumer) {
    ready_.block(consumer);
    value_.record_stream(consumer.unwrap());
    return value_;
  }

 private:
  at::Tensor value_;
  at::cuda::CUDAEvent ready_;
};

struct Snapshot {
  Handoff residual;
  Handoff jacobian;
  Handoff gain;
};

class Stage {
 public:
  explicit Stage(c10::DeviceIndex device)
      : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {}

 protected:
  CUDAStream stream_;
};

// r = z - H0 x
class ResidualStage : public Stage {
 public:
  using Stage::Stage;

  void run(Snapshot& snap, const at::Tensor& z, const at::Tensor& x, const at::Tensor& h0) {
    c10::cuda::CUDAStreamGuard guard(stream_);
    snap.residual.put(z - at::matmul(h0, x));
    snap.residual.mark(stream_);
  }

  const CUDAStream& stream() const { return stream_; }
};

// First-order model of the branch flows around the operating point.
class JacobianStage : public Stage {
 public:
  using Stage::Stage;

  void run(Snapshot& snap, const at::Tensor& admittance, const at::Tensor& angle) {
    c10::cuda::CUDAStreamGuard guard(stream_);
    const at::Tensor spread = angle.unsqueeze(1) - angle.unsqueeze(0);
    snap.jacobian.put(admittance * at::cos(spread));
    snap.jacobian.mark(stream_);
  }

  const CUDAStream& stream() const { return stream_; }
};

// G = J^T W J, b = J^T W r
class GainStage : public Stage {
 public:
  using Stage::Stage;

  at::Tensor run(Snapshot& snap, const at::Tensor& weight) {
    c10::cuda::CUDAStreamGuard guard(stream_);
    const at::Tensor j = snap.jacobian.take(stream_);
    const at::Tensor r = snap.residual.take(stream_);
    const at::Tensor jw = j.t() * weight;
    snap.gain.put(at::matmul(jw, j));
    snap.gain.mark(stream_);
    return at::matmul(jw, r);
  }

  const CUDAStream& stream() const { return stream_; }
};

class Estimator {
 public:
  explicit Estimator(c10::DeviceIndex device)
      : device_(device), residual_(device), jacobian_(device), gain_(device) {}

  at::Tensor step(const at::Tensor& z, const at::Tensor& x, const at::Tensor& h0,
                  const at::Tensor& admittance, const at::Tensor& weight) {
    const auto caller = at::cuda::getCurrentCUDAStream(device_);
    at::cuda::CUDAEvent inputs;
    inputs.record(caller);
    for (const CUDAStream* s : {&residual_.stream(), &jacobian_.stream(), &gain_.stream()}) {
      inputs.block(*s);
      for (const at::Tensor* t : {&z, &x, &h0, &admittance, &weight}) t->record_stream(s->unwrap());
    }

    Snapshot snap;
    residual_.run(snap, z, x, h0);
    jacobian_.run(snap, admittance, x);
    at::Tensor rhs = gain_.run(snap, weight);

    at::cuda::CUDAEvent rhs_ready;
    rhs_ready.record(gain_.stream());
    rhs_ready.block(caller);
    rhs.record_stream(caller.unwrap());
    const at::Tensor g = snap.gain.take(caller);
    return x + at::linalg_solve(g, rhs);
  }

 private:
  c10::DeviceIndex device_;
  ResidualStage residual_;
  JacobianStage jacobian_;
  GainStage gain_;
};

}  // namespace gridest

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<gridest::Estimator>(m, "Estimator")
      .def(pybind11::init<c10::DeviceIndex>())
      .def("step", &gridest::Estimator::step);
}
