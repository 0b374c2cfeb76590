"""Exponential moving average kept by a Triton kernel on a side stream."""
import torch
import triton
import triton.language as tl

DIM, LAYERS, STEPS = 4096, 4, 6


@triton.jit
def ema_kernel(ema, param, n, decay, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    old = tl.load(ema + offs, mask=mask)
    new = tl.load(param + offs, mask=mask)
    tl.store(ema + offs, old * decay + new * (1.0 - decay), mask=mask)


class SideEma:
    """Reads the parameters after an update and holds back the next update."""

    def __init__(self, params, decay=0.9):
        self.params = params
        self.decay = decay
        self.stream = torch.cuda.Stream()
        self.read = torch.cuda.Event()
        self.shadow = [p.detach().clone() for p in params]

    @torch.no_grad()
    def update(self):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for shadow, param in zip(self.shadow, self.params):
                n = param.numel()
                ema_kernel[(triton.cdiv(n, 1024),)](shadow, param, n, self.decay, BLOCK=1024)
            self.read.record(self.stream)

    def before_write(self):
        torch.cuda.current_stream().wait_event(self.read)

    def result(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        return [s.mean().item() for s in self.shadow]


def main():
    gen = torch.Generator(device="cuda").manual_seed(0)
    params = [torch.randn(DIM, DIM, generator=gen, device="cuda") * 0.01 for _ in range(LAYERS)]
    ema = SideEma(params)
    x = torch.full((512, DIM), 0.1, device="cuda")
    for step in range(STEPS):
        grads = []
        for p in params:
            x = torch.tanh(x @ p)
            grads.append(torch.mm(x.t(), x))
        ema.before_write()
        torch._foreach_add_(params, grads, alpha=-1e-3)
        ema.update()
        x = torch.full((512, DIM), 0.1, device="cuda")
    print("ema", [round(v, 6) for v in ema.result()])


if __name__ == "__main__":
    main()
