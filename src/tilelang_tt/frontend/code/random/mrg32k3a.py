"""MRG32k3a, as cuRAND has it: L'Ecuyer's two recurrences of three words, each modulo a prime.

A step is a matrix, so n steps are its power. A sequence starts 2^76 steps behind the one before.
"""

from __future__ import annotations

from tilelang_tt.frontend.code.random.generator import Drawn, Generator, angle_of, computed, high, long, low
from tilelang_tt.frontend.code.values import cast
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Memory
from tilelang_tt.ir.code import CodeStmt, Constant, For, If, Name, Op, Place, Value, While

Matrix = tuple[tuple[int, int, int], ...]
_PRIMES = (4294967087, 4294944443)
# What is multiplied by the oldest, the second and the newest word; two of the factors are negative.
_FACTORS = ((_PRIMES[0] - 810728, 1403580, 0), (_PRIMES[1] - 1370589, 0, 527612))
_SEED, _SALT = 12345, (0x55555555, 0xAAAAAAAA)
_SEQUENCE = 76  # a sequence has two to this power numbers
_TO_WORD = 1.000000048662  # cuRAND's MRG32K3A_BITS_NORM
_TO_ONE = 2.3283065498378288e-10  # cuRAND's MRG32K3A_NORM, since CUDA 10
_TWO_PI = 6.2831854820251465  # a float32


def _number(value: int) -> Constant:
    return Constant(value, "int32")


def _wide(value: int) -> Constant:
    return Constant(value, "uint64")


def _product(a: Matrix, b: Matrix, prime: int) -> Matrix:
    rows = (tuple(sum(a[i][k] * b[k][j] for k in range(3)) % prime for j in range(3)) for i in range(3))
    return tuple((x, y, z) for x, y, z in rows)


def _matrix(which: int, doublings: int) -> Matrix:
    """Of two to the power of `doublings` steps."""
    found: Matrix = ((0, 1, 0), (0, 0, 1), _FACTORS[which])
    for _ in range(doublings):
        found = _product(found, found, _PRIMES[which])
    return found


def _remainder(value: Value, prime: int) -> Value:
    return computed("floor_mod", value, _wide(prime))


class Mrg32k3a(Generator):
    WORDS = 6

    def started(self, seed: Value, sequence: Value, offset: Value) -> tuple[CodeStmt, ...]:
        salted = [long(computed("bit_xor", half, Constant(of, "uint32"))) for half, of in self.halves(seed)]
        chosen = (salted[0], salted[1], salted[0], salted[1], salted[0], salted[1])
        mixed = tuple(
            self.put(place, low(_remainder(computed("mul", value, _wide(_SEED)), _PRIMES[place // 3])))
            for place, value in enumerate(chosen)
        )
        plain = tuple(self.put(place, Constant(_SEED, "uint32")) for place in range(6))
        given = Op("ne", (seed, _wide(0)), "bool")
        return (
            If(given, mixed, plain, self.lifter.location),
            *self.jumped(sequence, _SEQUENCE),
            *self.jumped(offset, 0),
        )

    def halves(self, seed: Value) -> tuple[tuple[Value, int], ...]:
        return ((low(seed), _SALT[0]), (high(seed), _SALT[1]))

    def drawn(self) -> Drawn:
        """The difference of the two recurrences: a whole number from 1 to the first prime, as a float64."""
        new = [self.named("new", self.next(which)) for which in range(2)]
        stmts: list[CodeStmt] = [let for let, _ in new]
        for which, (_, name) in enumerate(new):
            first = 3 * which
            stmts += [self.put(first, self.at(first + 1)), self.put(first + 1, self.at(first + 2))]
            stmts += [self.put(first + 2, low(name))]
        (_, a), (_, b) = new
        more = computed("sub", computed("add", a, _wide(_PRIMES[0])), b)
        found = Op("where", (Op("gt", (a, b), "bool"), computed("sub", a, b), more), "uint64")
        let, name = self.named("difference", cast(found, "float64"))
        return (*stmts, let), name

    def next(self, which: int) -> Value:
        terms = [
            computed("mul", long(self.at(3 * which + place)), _wide(factor))
            for place, factor in enumerate(_FACTORS[which])
            if factor
        ]
        return _remainder(computed("add", *(_remainder(term, _PRIMES[which]) for term in terms)), _PRIMES[which])

    def taken(self) -> Drawn:
        stmts, found = self.drawn()
        return stmts, cast(computed("mul", found, Constant(_TO_WORD, "float64")), "uint32")

    def uniform_double(self) -> Drawn:
        stmts, found = self.drawn()
        return stmts, computed("mul", found, Constant(_TO_ONE, "float64"))

    def uniform(self) -> Drawn:
        stmts, found = self.uniform_double()
        return stmts, cast(found, "float32")

    def pair(self) -> tuple[tuple[CodeStmt, ...], Value, Value]:
        (first, number), (second, turn) = self.uniform(), self.uniform()
        return (*first, *second), number, computed("mul", turn, Constant(_TWO_PI, "float32"))

    def pair_double(self) -> tuple[tuple[CodeStmt, ...], Value, Value]:
        (first, number), (second, turn) = self.uniform_double(), self.uniform_double()
        return (*first, *second), number, angle_of(computed("mul", turn, Constant(2.0, "float64")))

    # --- skipping ---------------------------------------------------------------------------------

    def jumped(self, times: Value, doublings: int) -> tuple[CodeStmt, ...]:
        """Two to the power of `doublings` steps, so many times."""
        if isinstance(times, Constant) and times.value == 0:
            return ()
        return tuple(stmt for which in range(2) for stmt in self.raised(which, times, doublings))

    def raised(self, which: int, times: Value, doublings: int) -> tuple[CodeStmt, ...]:
        """One recurrence, times the power of a matrix."""
        matrix, work = (self.matrix(name) for name in ("matrix", "work"))
        left, prime = self.own("left", "uint64"), _PRIMES[which]
        entries = (entry for row in _matrix(which, doublings) for entry in row)
        begin = (self.set(Place(matrix.source, (_number(at),)), _wide(entry)) for at, entry in enumerate(entries))
        row, col = scalar.var("row"), scalar.var("col")
        i, j = Name(row, "int32"), Name(col, "int32")

        def at(place: Place, *parts: Value) -> Place:
            total = parts[0]
            for part in parts[1:]:
                total = computed("add", total, part)
            return Place(place.source, (total,))

        def thrice(value: Value) -> Value:
            return computed("mul", value, _number(3))

        def total(terms: list[tuple[Value, Value]]) -> Value:
            found = [_remainder(computed("mul", a, b), prime) for a, b in terms]
            return _remainder(computed("add", computed("add", found[0], found[1]), found[2]), prime)

        applied = total([(at(matrix, thrice(i), _number(k)), long(self.at(3 * which + k))) for k in range(3)])
        squared = total([(at(matrix, thrice(i), _number(k)), at(matrix, _number(3 * k), j)) for k in range(3)])
        three = (_number(0), _number(3))
        new = low(at(work, i))
        odd = Op("ne", (computed("bit_and", left, _wide(1)), _wide(0)), "bool")
        apply = (
            For(row, *three, (self.set(at(work, i), applied),)),
            For(row, *three, (self.set(at(self.at(0), _number(3 * which), i), new),)),
        )
        body = (
            If(odd, apply),
            self.set(left, computed("shift_right", left, _wide(1))),
            For(row, *three, (For(col, *three, (self.set(at(work, thrice(i), j), squared),)),)),
            For(row, _number(0), _number(9), (self.set(at(matrix, i), at(work, i)),)),
        )
        more = Op("ne", (left, _wide(0)), "bool")
        return (self.set(left, times), *begin, While(more, body, self.lifter.location))

    def matrix(self, name: str) -> Place:
        return Place(self.lifter.declared.temporary(name, "uint64", (9,), Memory.LOCAL), (_number(0),))
