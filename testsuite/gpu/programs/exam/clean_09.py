"""Two-tower model: the towers run forward (and so backward) on streams of their own."""
import torch
import torch.nn as nn

BATCH, DIM, STEPS = 4096, 2048, 5


def tower():
    return nn.Sequential(nn.Linear(DIM, DIM), nn.GELU(), nn.Linear(DIM, DIM))


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = tower()
        self.item = tower()
        self.streams = (torch.cuda.Stream(), torch.cuda.Stream())

    def forward(self, q, i):
        main = torch.cuda.current_stream()
        outs = []
        for stream, net, x in zip(self.streams, (self.query, self.item), (q, i)):
            stream.wait_stream(main)
            with torch.cuda.stream(stream):
                out = net(x)
            x.record_stream(stream)
            outs.append(out)
        for stream, out in zip(self.streams, outs):
            main.wait_stream(stream)
            out.record_stream(main)
        return (outs[0] * outs[1]).sum(dim=1)


def main():
    torch.manual_seed(0)
    model = TwoTower().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    losses = []
    for step in range(STEPS):
        q = torch.randn(BATCH, DIM, device="cuda")
        i = torch.randn(BATCH, DIM, device="cuda")
        loss = (model(q, i) - 1.0).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        losses.append(loss.detach())
    print("losses", [round(v.item(), 5) for v in losses])


if __name__ == "__main__":
    main()
