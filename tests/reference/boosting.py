"""The boosting methods as plain loops over rounds, views and rows.

Weak learners are tables: ``P[t, v, i]`` is the class that view v's learner of round t gives row i,
−1 where the view is missing. Each function returns what the method does with them.
"""

import numpy as np


def costs(f, y, weight):
    """C(i, l) = exp(f(i, l) − f(i, y_i)), and minus their sum on the diagonal."""
    C = np.zeros_like(f)
    for i in range(len(y)):
        for l in range(f.shape[1]):
            if l != y[i]:
                C[i, l] = weight[i] * np.exp(f[i, l] - f[i, y[i]])
        C[i, y[i]] = -C[i].sum()
    return C


def edge(C, y, h):
    gained = -sum(C[i, h[i]] for i in range(len(y)) if h[i] >= 0)
    return gained / -sum(C[i, y[i]] for i in range(len(y)))


def mumbo(P, y, n_classes, weight, cooperation=True):
    T, V, n = P.shape
    N = weight.sum()
    f, fG = np.zeros((V, n, n_classes)), np.zeros((n, n_classes))
    rounds = []
    for t in range(T):
        CG = costs(fG, y, weight)
        C = [costs(f[v], y, weight) for v in range(V)]
        edges = [edge(C[v], y, P[t, v]) for v in range(V)]
        edges_G = [edge(CG, y, P[t, v]) for v in range(V)]
        alphas = [alpha_of_edge(e, N) for e in edges]
        d = np.zeros((V, n), dtype=bool)
        for i in range(n):
            managed = any(P[t, v, i] == y[i] for v in range(V))
            for v in range(V):
                here = P[t, v, i] >= 0
                d[v, i] = here and (P[t, v, i] == y[i] or not managed or not cooperation)
                if d[v, i]:
                    f[v, i, P[t, v, i]] += alphas[v]
        chosen = int(np.argmax(np.array(edges_G) >= max(edges_G) - 1e-12))
        alpha = alpha_of_edge(edges_G[chosen], N)
        for i in range(n):
            if P[t, chosen, i] >= 0:
                fG[i, P[t, chosen, i]] += alpha
        bound = -sum(costs(fG, y, weight)[i, y[i]] for i in range(n)) / N
        rounds.append(
            {"cost": C, "edges": edges, "view": chosen, "alpha": alpha, "d": d, "bound": bound}
        )
    return rounds


def alpha_of_edge(e, n):
    e = min(max(e, 0.0), 1 - 1 / n)
    return 0.5 * np.log((1 + e) / (1 - e))


def error_and_alpha(w, y, h, n_classes, n):
    right = sum(w[i] for i in range(len(y)) if h[i] == y[i])
    wrong = sum(w[i] for i in range(len(y)) if h[i] >= 0 and h[i] != y[i])
    if right + wrong == 0 or 2 * n * (right + wrong) <= 2:
        return right, wrong, 0.0
    clip = 1 / (2 * n * (right + wrong))
    error = min(max(wrong / (right + wrong), clip), 1 - clip)
    return right, wrong, 0.5 * (np.log((1 - error) / error) + np.log(n_classes - 1))


def updated(w, y, h, alpha, n_classes):
    """AdaBoost on codes 1 and −1/(K−1): exp(−½·2α·agreement), agreement 0 for an abstention."""
    w = w.copy()
    for i in range(len(y)):
        if h[i] == y[i]:
            w[i] *= np.exp(-2 * alpha * (n_classes - 1) / n_classes)
        elif h[i] >= 0:
            w[i] *= np.exp(2 * alpha / n_classes)
    return w / w.sum()


def normaliser(w, y, h, alpha, n_classes):
    total = 0.0
    for i in range(len(y)):
        factor = 0.0
        if h[i] == y[i]:
            factor = -2 * alpha * (n_classes - 1) / n_classes
        elif h[i] >= 0:
            factor = 2 * alpha / n_classes
        total += w[i] * np.exp(factor)
    return total


def shareboost(P, y, n_classes, weight):
    n = weight.sum()
    w = weight / n
    rounds = []
    for table in P:
        alphas = [error_and_alpha(w, y, h, n_classes, n)[2] for h in table]
        Z = [
            normaliser(w, y, h, a, n_classes) if a > 1e-12 else np.inf
            for h, a in zip(table, alphas, strict=True)
        ]
        if np.isinf(min(Z)):
            return rounds
        v = int(np.argmax(np.array(Z) <= min(Z) + 1e-12))
        rounds.append({"w": w, "view": v, "alpha": alphas[v]})
        w = updated(w, y, table[v], alphas[v], n_classes)
    return rounds


def iboost(P, y, n_classes, weight):
    n = weight.sum()
    ws = [weight / n for _ in P[0]]
    rounds = []
    for table in P:
        alphas = [error_and_alpha(w, y, h, n_classes, n)[2] for w, h in zip(ws, table, strict=True)]
        Z = [
            normaliser(w, y, h, a, n_classes) if a > 1e-12 else np.inf
            for w, h, a in zip(ws, table, alphas, strict=True)
        ]
        if np.isinf(min(Z)):
            return rounds
        v = int(np.argmax(np.array(Z) <= min(Z) + 1e-12))
        rounds.append({"w": list(ws), "view": v, "alpha": alphas[v]})
        ws = [updated(w, y, h, a, n_classes) for w, h, a in zip(ws, table, alphas, strict=True)]
    return rounds


def rshareboost(P, y, n_classes, weight, draws, a, gamma):
    T, V, _ = P.shape
    n = weight.sum()
    w, log_d = weight / n, np.zeros(V)
    rounds = []
    for t in range(T):
        d = np.exp(log_d)
        p = (1 - gamma) * d / d.sum() + gamma / V
        v = next((k for k in range(V) if p[: k + 1].sum() > draws[t]), V - 1)
        right, wrong, alpha = error_and_alpha(w, y, P[t, v], n_classes, n)
        seen = right + wrong
        beta = 1 - (wrong / seen) * n_classes / (n_classes - 1) if seen else 0.0
        reward = seen * (1 - np.sqrt(max(0.0, 1 - beta**2)))
        rounds.append({"w": w, "p": p, "view": v, "alpha": alpha, "reward": reward})
        for k in range(V):
            log_d[k] += gamma / (3 * V) * (reward / p[v] * (k == v) + a / (p[k] * np.sqrt(V * T)))
        w = updated(w, y, P[t, v], alpha, n_classes)
    return rounds


def mvwab(P, y, n_classes, weight):
    n = weight.sum()
    w = weight / n
    rounds = []
    for table in P:
        inner = [max(0.0, error_and_alpha(w, y, h, n_classes, n)[2]) for h in table]
        inner = [a if a > 1e-12 else 0.0 for a in inner]
        g = np.full(len(y), -1)
        for i in range(len(y)):
            votes = np.zeros(n_classes)
            for h, a in zip(table, inner, strict=True):
                if h[i] >= 0:
                    votes[h[i]] += a
            if votes.any():
                best = [k for k in range(n_classes) if votes[k] >= votes.max() - 1e-10]
                g[i] = min(best, key=lambda k: (-weight[y == k].sum(), k))
        alpha = error_and_alpha(w, y, g, n_classes, n)[2]
        if alpha <= 1e-12:
            return rounds
        rounds.append({"w": w, "alpha": alpha, "inner": inner})
        w = updated(w, y, g, alpha, n_classes)
    return rounds
