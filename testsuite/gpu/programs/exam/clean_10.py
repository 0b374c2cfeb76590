"""Partly graphed network: the heavy block goes through make_graphed_callables."""
import torch
import torch.nn as nn

BATCH, DIM, STEPS = 2048, 2048, 8


class Heavy(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(DIM, DIM)
        self.b = nn.Linear(DIM, DIM)

    def forward(self, x):
        return torch.tanh(self.b(torch.relu(self.a(x)))) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(DIM, DIM)
        sample = torch.randn(BATCH, DIM, device="cuda", requires_grad=True)
        self.heavy = torch.cuda.make_graphed_callables(Heavy().cuda(), (sample,))
        self.head = nn.Linear(DIM, 16)

    def forward(self, x, deep):
        x = self.stem(x)
        # The eager part decides at run time; the block itself is fixed.
        x = self.heavy(x)
        if deep:
            x = torch.sin(x)
        return self.head(x)


def main():
    torch.manual_seed(0)
    net = Net().cuda()
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    losses = []
    for step in range(STEPS):
        x = torch.full((BATCH, DIM), 0.1 * step, device="cuda")
        loss = net(x, deep=step % 2 == 1).square().mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        losses.append(loss.detach().clone())
    print("losses", [round(v.item(), 5) for v in losses])


if __name__ == "__main__":
    main()
