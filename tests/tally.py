"""Functions of programs, forward and back, run on numbers that note what is done with them. Imports nothing from symroof."""


class Counted:
    def __init__(self, value, tally):
        self.value, self.tally = value, tally

    def _did(self, kind, value):
        self.tally.append(kind)
        return Counted(value, self.tally)

    def _with(self, other):
        return other.value if isinstance(other, Counted) else other

    def __add__(self, other):
        return self._did("additions", self.value + self._with(other))

    def __sub__(self, other):
        return self._did("subtractions", self.value - self._with(other))

    def __rsub__(self, other):
        return self._did("subtractions", other - self.value)

    def __mul__(self, other):
        return self._did("multiplications", self.value * self._with(other))

    def __truediv__(self, other):
        return self._did("divisions", self.value / self._with(other))

    def __rtruediv__(self, other):
        return self._did("divisions", other / self.value)

    def __neg__(self):
        return self._did("negations", -self.value)

    def __gt__(self, other):
        self.tally.append("comparisons")
        return self.value > self._with(other)

    __radd__, __rmul__ = __add__, __mul__

    def exp(self):
        return self._did("exponentials", 2.718281828**self.value)

    def log(self):
        return self._did("logarithms", self.value)

    def tanh(self):
        return self._did("hyperbolic tangents", self.value)

    def sqrt(self):
        return self._did("roots", abs(self.value) ** 0.5)

    def rsqrt(self):
        return self._did("reciprocal roots", abs(self.value) ** -0.5)

    def rounded(self):
        return self._did("conversions", round(self.value))


def numbers(n, tally):
    return [Counted(0.3 + (7 * i % 5) / 3, tally) for i in range(n)]


def total(values):
    first, *rest = values
    for value in rest:
        first = first + value
    return first


def largest(values):
    first, *rest = values
    for value in rest:
        first = value if value > first else first
    return first


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def gelu(x):
    return x * (1 + (0.797 * (x + 0.0447 * (x * x * x))).tanh()) * 0.5


def gelu_back(x, dy):
    """With x², 1 + t and t at hand."""
    square, t, one_and_t = Counted(1.0, x.tally), Counted(0.4, x.tally), Counted(1.4, x.tally)
    return dy * (0.5 * one_and_t + (0.3985 * x) * (1 - t * t) * (1 + 0.134 * square))


def rope(x, y, c, s):
    return x * c - y * s, x * s + y * c


def clamped(x):
    q = (x * 0.1).rounded()
    return [q, q > 127, q > -128]


ELEMENTWISE = {
    "relu": (lambda x: [x, x > 0], lambda x, y, dy: dy * 1 if x > 0 else dy * 0),
    "gelu": (gelu, lambda x, y, dy: gelu_back(x, dy)),
    "sigmoid": (sigmoid, lambda x, y, dy: dy * y * (1 - y)),
    "silu": (lambda x: x * sigmoid(x), lambda x, s, dy: dy * (s * (1 + x * (1 - s)))),
    "softplus": (lambda x: (1 + x.exp()).log(), lambda x, e, dy: dy * (e / Counted(2.0, e.tally))),
    "tanh": (lambda x: x.tanh(), lambda x, y, dy: dy * (1 - y * y)),
    "exp": (lambda x: x.exp(), lambda x, y, dy: dy * y),
    "log": (lambda x: x.log(), lambda x, y, dy: dy / x),
    "square": (lambda x: x * x, lambda x, y, dy: dy * (2 * x)),
    "sqrt": (lambda x: x.sqrt(), lambda x, y, dy: dy / (2 * y)),
    "rsqrt": (lambda x: x.rsqrt(), lambda x, y, dy: dy * (-0.5 * (y * y * y))),
    "reciprocal": (lambda x: 1 / x, lambda x, y, dy: -(dy * (y * y))),
    "scale": (lambda x: x * 3, lambda x, y, dy: dy * 3),
    "shift": (lambda x: x + 3, lambda x, y, dy: dy),
    "convert": (lambda x: x.rounded(), lambda x, y, dy: dy.rounded()),
    "quantize": (clamped, lambda x, y, dy: dy),
}


def softmax_of(n):
    tally = []
    row = numbers(n, tally)
    top = largest(row)
    powers = [(x - top).exp() for x in row]
    whole = total(powers)
    assert abs(sum((p / whole).value for p in powers) - 1) < 1e-9
    return tally


def softmax_back(n):
    tally = []
    p, dy = numbers(n, tally), numbers(n, tally)
    along = total([a * b for a, b in zip(p, dy, strict=True)])
    for a, b in zip(p, dy, strict=True):
        a * (b - along)
    return tally


def rms_norm_of(n):
    tally = []
    row, gain = numbers(n, tally), numbers(n, tally)
    r = (total([x * x for x in row]) / n + 1e-6).rsqrt()
    for x, g in zip(row, gain, strict=True):
        x * r * g
    return tally


def rms_norm_back(n):
    tally = []
    normed, gain, dy, r = numbers(n, tally), numbers(n, tally), numbers(n, tally), Counted(0.5, tally)
    a = [g * d for g, d in zip(gain, dy, strict=True)]
    mean = total([x * b for x, b in zip(normed, a, strict=True)]) / n
    for x, b in zip(normed, a, strict=True):
        r * (b - x * mean)
    return tally


def layer_norm_of(n):
    tally = []
    row, gain, shift = numbers(n, tally), numbers(n, tally), numbers(n, tally)
    mean = total(row) / n
    around = [x - mean for x in row]
    r = (total([x * x for x in around]) / n + 1e-6).rsqrt()
    for x, g, b in zip(around, gain, shift, strict=True):
        x * r * g + b
    return tally


def layer_norm_back(n):
    tally = []
    normed, gain, dy, r = numbers(n, tally), numbers(n, tally), numbers(n, tally), Counted(0.5, tally)
    a = [g * d for g, d in zip(gain, dy, strict=True)]
    mean, along = total(a) / n, total([x * b for x, b in zip(normed, a, strict=True)]) / n
    for x, b in zip(normed, a, strict=True):
        r * (b - mean - x * along)
    return tally


ROWS = {
    "softmax": (softmax_of, softmax_back),
    "rms_norm": (rms_norm_of, rms_norm_back),
    "layer_norm": (layer_norm_of, layer_norm_back),
}
