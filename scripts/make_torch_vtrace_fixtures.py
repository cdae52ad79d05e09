#!/usr/bin/env python3
"""Writes tests/fixtures/torch_vtrace_*.txt: V-trace and the losses of impala and a2c, by PyTorch.

Run where torch is installed (python3 scripts/make_torch_vtrace_fixtures.py); the tests read the files
only. Everything is computed in float64 from float32 inputs; make_torch_fixtures.py says what a file is.
The targets are the sums of the paper (arXiv 1802.01561, equation 1), not a recursion; the gradients are
autograd's.
"""
import torch

from make_torch_fixtures import as_float32, write

FIRST, TERMINATED, TRUNCATED = 1, 2, 4
STEPS, ACTIONS = 24, 3


def vtrace(gamma, lam, rho_bar, c_bar, rho_pg_bar, ratio, reward, flags, value, next_value):
    ends = [f & (TERMINATED | TRUNCATED) for f in flags]
    discount = [0.0 if f & TERMINATED else gamma for f in flags]
    delta = [min(rho_bar, ratio[t]) * (reward[t] + discount[t] * next_value[t] - value[t])
             for t in range(STEPS)]
    target = []
    for s in range(STEPS):
        total, factor = value[s], 1.0
        for t in range(s, STEPS):
            total = total + factor * delta[t]
            if ends[t]:
                break
            factor = factor * discount[t] * lam * min(c_bar, ratio[t])
        target.append(total)
    advantage = []
    for s in range(STEPS):
        cut = ends[s] or s + 1 == STEPS
        after = next_value[s] if cut else lam * target[s + 1] + (1 - lam) * next_value[s]
        advantage.append(min(rho_pg_bar, ratio[s]) * (reward[s] + discount[s] * after - value[s]))
    return torch.stack(target), torch.stack(advantage)


def case(name, seed, settings, weighted):
    torch.manual_seed(seed)
    draw = lambda *shape: as_float32(torch.randn(*shape, dtype=torch.float64))
    logits, value, reward, next_end = draw(STEPS, ACTIONS), draw(STEPS), draw(STEPS), draw(3)
    flags = [0] * STEPS
    for t in (0, 7, 15):
        flags[t] |= FIRST
    flags[6] |= TERMINATED
    flags[14] |= TRUNCATED
    next_value = torch.cat([value[1:], next_end[:1]])
    next_value[14] = next_end[1]
    action = torch.randint(ACTIONS, (STEPS,))
    logits.requires_grad_()
    values = value.clone().requires_grad_()
    log_pi = torch.log_softmax(logits, 1)
    log_prob = log_pi.gather(1, action[:, None])[:, 0]
    behaviour = as_float32(log_prob.detach() + 0.5 * torch.randn(STEPS, dtype=torch.float64))
    ratio = (log_prob.detach() - behaviour).exp() if weighted else torch.ones(STEPS, dtype=torch.float64)
    gamma, lam, rho_bar, c_bar, rho_pg_bar, entropy_weight, value_weight = settings
    target, advantage = vtrace(gamma, lam, rho_bar, c_bar, rho_pg_bar, ratio, reward, flags, value, next_value)
    entropy = -(log_pi.exp() * log_pi).sum(1)
    policy_loss, value_loss = -advantage * log_prob, 0.5 * (values - target) ** 2
    (policy_loss + value_weight * value_loss - entropy_weight * entropy).mean().backward()
    write("vtrace_" + name, {
        "settings": list(settings), "logits": logits.detach(), "action": action, "value": value,
        "next_value": next_value, "reward": reward, "flags": flags, "behaviour_log_prob": behaviour,
        "log_ratio": ratio.log(), "target": target, "advantage": advantage,
        "sums": [policy_loss.detach().sum(), value_loss.detach().sum(), entropy.detach().sum()],
        "d_logits": logits.grad, "d_values": values.grad})


if __name__ == "__main__":
    #                  gamma lambda rho_bar c_bar rho_pg_bar entropy value
    case("paper", 1, (0.99, 1.0, 1.0, 1.0, 1.0, 0.01, 0.5), True)
    case("lambda", 2, (0.9, 0.8, 1.0, 1.0, 1.0, 0.003, 0.25), True)
    case("levels", 3, (0.95, 0.9, 2.0, 1.5, 1.2, 0.0, 1.0), True)
    case("one_step", 4, (0.9, 0.0, 1.0, 1.0, 1.0, 0.02, 0.5), True)
    case("a2c", 5, (0.99, 0.95, 1.0, 1.0, 1.0, 0.01, 0.5), False)
