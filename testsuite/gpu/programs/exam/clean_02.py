"""Fork and join of two branches with re-recorded events over persistent buffers."""
import torch

TOKENS, DIM, ROUNDS = 4096, 4096, 8


class TwoBranch:
    def __init__(self):
        gen = torch.Generator(device="cuda").manual_seed(0)
        self.w_a = torch.randn(DIM, DIM, generator=gen, device="cuda") * 0.01
        self.w_b = torch.randn(DIM, DIM, generator=gen, device="cuda") * 0.01
        self.out_a = torch.empty(TOKENS, DIM, device="cuda")
        self.out_b = torch.empty(TOKENS, DIM, device="cuda")
        self.side = torch.cuda.Stream()
        self.fork = torch.cuda.Event()
        self.join = torch.cuda.Event()

    def __call__(self, x):
        main = torch.cuda.current_stream()
        self.fork.record(main)
        self.side.wait_event(self.fork)
        # The wait above keeps the state of this record, whatever comes later.
        with torch.cuda.stream(self.side):
            torch.mm(x, self.w_b, out=self.out_b)
            torch.relu_(self.out_b)
            self.join.record(self.side)
        torch.mm(x, self.w_a, out=self.out_a)
        main.wait_event(self.join)
        return torch.tanh(self.out_a + self.out_b)


@torch.inference_mode()
def main():
    layer = TwoBranch()
    x = torch.full((TOKENS, DIM), 0.1, device="cuda")
    for _ in range(ROUNDS):
        x = layer(x)
    # Switching the roles of the streams is fine too, once they are joined.
    runner = torch.cuda.Stream()
    runner.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(runner):
        y = layer(x)
        total = y.sum()
        x.record_stream(runner)
    runner.synchronize()
    print("total", total.item(), "x", x.mean().item())


if __name__ == "__main__":
    main()
