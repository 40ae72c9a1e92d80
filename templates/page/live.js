"use strict";
// What is decided: whole numbers alone, nothing is rounded. A rational number is [above, below].
const engine = (page) => {
  const gcd = (a, b) => { a = a < 0n ? -a : a; while (b) [a, b] = [b, a % b]; return a; };
  const lowest = ([a, b]) => { const g = gcd(a, b) || 1n; return [a / g, b / g]; };
  const slim = (q) => (q[1] > 1n << 400n ? lowest(q) : q);
  const isExact = Array.isArray;
  // a/b to some digits, rounded half away from zero, as a float that only draws and is read.
  const float = (q, digits = 15) => {
    if (!isExact(q)) return q;
    let [a, b] = q;
    if (a === 0n) return 0;
    const sign = a < 0n ? -1 : 1;
    if (sign < 0) a = -a;
    const k = digits - (String(a).length - String(b).length);
    const u = k >= 0 ? a * 10n ** BigInt(k) : a, v = k >= 0 ? b : b * 10n ** BigInt(-k);
    return sign * Number(`${(2n * u + v) / (2n * v)}e${-k}`);
  };
  const add = (p, q) => (!isExact(p) || !isExact(q) ? float(p) + float(q) : slim(p[1] === q[1] ? [p[0] + q[0], p[1]] : [p[0] * q[1] + q[0] * p[1], p[1] * q[1]]));
  const mul = (p, q) => (!isExact(p) || !isExact(q) ? float(p) * float(q) : slim([p[0] * q[0], p[1] * q[1]]));
  const turn = ([a, b]) => (a < 0n ? [-b, -a] : [b, a]);
  const power = (p, up, down) => {
    if (down !== 1 || !isExact(p)) return float(p) ** (up / down);
    const e = BigInt(Math.abs(up)), q = [p[0] ** e, p[1] ** e];
    return up < 0 ? turn(q) : q;
  };
  const less = (p, q) => (isExact(p) && isExact(q) ? p[0] * q[1] < q[0] * p[1] : float(p) < float(q));
  const floored = ([a, b]) => a / b - (a % b !== 0n && a < 0n ? 1n : 0n);
  // 8.1e11 is read digit by digit.
  const decimal = (text) => {
    const found = /^(\d{1,30})(?:\.(\d{1,30}))?(?:[eE]\+?(-?\d{1,2}))?$/.exec(String(text).trim());
    if (!found) return null;
    const [, whole, part = "", e = "0"] = found, k = Number(e) - part.length, n = BigInt(whole + part);
    if (n === 0n) return null;
    return k >= 0 ? [n * 10n ** BigInt(k), 1n] : [n, 10n ** BigInt(-k)];
  };
  const whole = (text) => (/^[1-9]\d{0,14}$/.test(text) ? BigInt(text) : null);

  // A chip with a kind of element types has its figures by name, what its peak is, and its ways; or says why it has no times;
  // or is 0, as with those that are written.
  for (const kind of page.kinds) kind.chips = kind.chips.map((own, i) => {
    const one = own || page.kinds[0].chips[i];
    if (!own || typeof one === "string") return { ...page.chips[i], ...(own ? { e: one } : one) };
    const f = {};
    [...kind.figures, "capacity"].forEach((name, j) => { if (one[0][j]) f[name] = one[0][j]; });
    return { ...page.chips[i], f, p: one[1], w: one[2] };
  });
  for (const kind of page.kinds) kind.pool = kind.pool.map((sides) => sides.map((terms) => terms.map(([c, ...at]) => [BigInt(c), ...at])));

  // The coefficients of one name (place k) of a polynomial where all others have values; and what they are over.
  const along = (terms, values, k) => {
    const found = [];
    let under = 1n;
    for (const [c, ...at] of terms) {
      let a = c, b = 1n, e = 0;
      for (let i = 0; i < at.length; i += 2) {
        if (at[i] === k) { e = at[i + 1]; continue; }
        const [n, d] = values[at[i]], p = BigInt(at[i + 1]);
        a *= n ** p;
        if (d !== 1n) b *= d ** p;
      }
      if (b !== 1n) under *= b / gcd(under, b);
      found.push([e, a, b]);
    }
    const out = [];
    for (const [e, a, b] of found) { while (out.length <= e) out.push(0n); out[e] += a * (under / b); }
    return [out, under];
  };
  // A quotient of the pool as two polynomials of one name, over nothing.
  const quotient = (pair, values, k) => {
    const [a, p] = along(pair[0], values, k), [b, q] = along(pair[1], values, k);
    return [a.map((c) => c * q), b.map((c) => c * p)];
  };
  const value = (tree, kind, values) => {
    if (typeof tree === "number") { const [[a = 0n], [b]] = quotient(kind.pool[tree], values, -1); return [a, b]; }
    const [made, ...parts] = tree;
    if (made === "^") return power(value(parts[0], kind, values), parts[1], parts[2]);
    const each = parts.map((part) => value(part, kind, values));
    const [one] = each, opposite = (q) => mul(q, [-1n, 1n]), down = (q) => (isExact(q) ? [floored(q), 1n] : Math.floor(q));
    switch (made) {
      case "+": return each.reduce(add);
      case "*": return each.reduce(mul);
      case "max": return each.reduce((p, q) => (less(p, q) ? q : p));
      case "min": return each.reduce((p, q) => (less(q, p) ? q : p));
      case "floor": return down(one);
      case "ceil": return opposite(down(opposite(one)));
      case "abs": return less(one, [0n, 1n]) ? opposite(one) : one;
      default: return Math.log(float(one));
    }
  };

  // Where a polynomial with whole coefficients is above 0, over the whole numbers from 1: spans [from, to], to = null for no end.
  const at = (p, n) => p.reduceRight((s, c) => s * n + c, 0n);
  const above = (poly) => {
    const p = [...poly];
    while (p.length && p[p.length - 1] === 0n) p.pop();
    if (p.length < 2) return (p[0] || 0n) > 0n ? [[1n, null]] : [];
    if (p.length === 2) {
      const [b, a] = p, edge = a > 0n ? floored([-b, a]) + 1n : floored([b - 1n, -a]);
      return a > 0n ? [[edge < 1n ? 1n : edge, null]] : edge < 1n ? [] : [[1n, edge]];
    }
    // It rises where p(n + 1) - p(n) is above 0, and not elsewhere: on each such run one place is found by halving.
    const step = [];
    let row = [1n];
    for (let e = 1; e < p.length; e++) {
      const next = [1n];
      for (let i = 1; i < e; i++) next.push(row[i - 1] + row[i]);
      row = [...next, 1n];
      for (let i = 0; i < e; i++) step[i] = (step[i] || 0n) + p[e] * row[i];
    }
    const lead = p[p.length - 1], size = (c) => (c < 0n ? -c : c);
    const far = 2n + p.reduce((most, c) => (size(c) > most ? size(c) : most), 0n) / size(lead);
    const runs = [];
    let from = 1n;
    for (const [a, b] of above(step)) {
      if (a > from) runs.push([from, a, false]);
      runs.push([a, b === null ? null : b + 1n, true]);
      from = b === null ? null : b + 1n;
    }
    if (from !== null) runs.push([from, null, false]);
    const found = [];
    for (const [a, b, rises] of runs) {
      let low = a, high = b === null ? (far > a ? far : a + 1n) : b;
      const first = at(p, low) > 0n, last = at(p, high) > 0n;
      if (first === last) { if (first) found.push([a, b]); continue; }
      while (high - low > 1n) { const middle = (low + high) / 2n; if (at(p, middle) > 0n === first) low = middle; else high = middle; }
      found.push(rises ? [high, b] : [a, low]);
    }
    return found.reduce((kept, [a, b]) => {
      const before = kept[kept.length - 1];
      if (before && before[1] !== null && a <= before[1] + 1n) before[1] = b === null || b > before[1] ? b : before[1];
      else if (!before || before[1] !== null) kept.push([a, b]);
      return kept;
    }, []);
  };
  const both = (one, other) => one.flatMap(([a, b]) => other.map(([c, d]) => [a > c ? a : c, b === null ? d : d === null ? b : b < d ? b : d]).filter(([x, y]) => y === null || x <= y));
  const product = (p, q) => p.reduce((s, a, i) => (q.forEach((b, j) => { s[i + j] = (s[i + j] || 0n) + a * b; }), s), []);
  const minus = (p, q) => Array.from({ length: Math.max(p.length, q.length) }, (_, i) => (p[i] || 0n) - (q[i] || 0n));

  // How a number of chips is wired on an axis; null where no formula is about it.
  const wiring = (chip, place, n) => {
    const axis = page.axes[place];
    chip.ways = chip.ways || page.axes.map((_, i) => new Set(Object.keys(chip.w).map((key) => key.split(",")[i])));
    const ways = chip.ways[place];
    const own = ways.has("switch") ? "switch" : n === 1n && ways.has("ring") ? "ring" : n <= 2n ? "line" : axis.said || (chip.c && n % BigInt(chip.c) === 0n ? "ring" : "line");
    return ways.has(own) ? own : null;
  };
  const wayOf = (chip, kind, sizes) => kind.ways[chip.w[page.axes.map((axis, i) => wiring(chip, i, sizes[axis.n])).join(",")]];
  // Why a number of chips is refused: no formula is about it, or no switch joins so many.
  const refused = (state, kind, chip, way, of) => {
    for (const [i, axis] of page.axes.entries()) {
      const own = wiring(chip, i, state.sizes[axis.n]);
      const least = own && kind.ways[Object.entries(chip.w).find(([key]) => key.split(",")[i] === own)[1]].a[axis.n];
      if (!own || state.sizes[axis.n] < BigInt(least[0]) || state.sizes[axis.n] % BigInt(least[1])) return { axis: axis.n, why: "unwired", least: least || [1, 1] };
    }
    for (const name of way.w) if (less(of(name), [1n, 1n])) return { axis: name, why: "below" };
    const joined = page.axes.filter((axis, i) => chip.l[i] === "NVLink").reduce((n, axis) => n * state.sizes[axis.n], 1n);
    return chip.d && joined > BigInt(chip.d) ? { axis: page.axes[0].n, why: "joined", most: chip.d } : null;
  };
  const split = (sizes, label) => page.splits.filter(([name]) => name === label).reduce((n, [, fixed, axes]) => {
    const part = axes.reduce((m, axis) => m * sizes[axis], BigInt(fixed));
    return (n * part) / gcd(n, part);
  }, 1n);

  // The dimensions that chips do not share out evenly, each with what it comes in: sizes, numbers, and what sizes define.
  const measure = (label, { state, of }) => (label in state.sizes ? [state.sizes[label], 1n] : /^\d+$/.test(label) ? [BigInt(label), 1n] : of(label) || [0n, 1n]);
  const uneven = (m) => [...new Set(page.splits.map(([label]) => label))].map((label) => [label, split(m.state.sizes, label), measure(label, m)]).filter(([, each, [above, below]]) => each > 1n && above % (below * each));

  // Everything that is decided at a state: { kind, chip, sizes, figures }.
  const decide = (state) => {
    const kind = page.kinds[state.kind], chip = kind.chips.find((one) => one.n === state.chip);
    const figures = { ...chip.f, ...state.figures };
    const values = [...page.names.map((name) => [state.sizes[name], 1n]), ...kind.figures.map((name) => decimal(figures[name] || "1"))];
    const way = wayOf(chip, kind, state.sizes) || Object.values(kind.ways)[0];
    const of = (name, where = values) => (name in way.q ? value(way.q[name], kind, where) : null);
    const times = way.r.map(([resource]) => of(`T_${resource}`));
    const lower = times.reduce((p, q) => (less(p, q) ? q : p));
    const longest = way.r.filter((_, i) => !less(times[i], lower)).map(([resource]) => resource);
    // Over the whole numbers of one name, where arithmetic takes longer than each resource; null where no polynomials say so.
    const spans = (name, theWay = way) => {
      const k = page.names.indexOf(name);
      const pairs = theWay.r.map(([resource]) => (typeof theWay.q[`T_${resource}`] === "number" ? quotient(kind.pool[theWay.q[`T_${resource}`]], values, k) : null));
      return theWay.r.slice(1).map(([resource], i) => {
        if (!pairs[0] || !pairs[i + 1]) return [resource, null];
        return [resource, above(minus(product(pairs[0][0], pairs[i + 1][1]), product(pairs[i + 1][0], pairs[0][1])))];
      });
    };
    const bound = (name, theWay) => {
      const each = spans(name, theWay), open = each.some(([, s]) => s === null);
      const joint = open ? null : each.reduce((s, [, t]) => both(s, t), [[1n, null]]);
      const ends = (edge, side) => each.filter(([, s]) => s && s.some((span) => span[side] === edge)).map(([resource]) => resource);
      return { each, joint, ends };
    };
    return { state, kind, chip, way, values, figures, of, times, lower, longest, math: times[0], bound, refused: refused(state, kind, chip, way, of) };
  };
  // The numbers of chips of an axis from which on, or up to which, arithmetic takes longer, for each way that it is wired.
  const boundOfAxis = (model, name) => {
    const place = page.axes.findIndex((axis) => axis.n === name), { chip, kind, state } = model;
    const now = page.axes.map((axis, i) => wiring(chip, i, state.sizes[axis.n]));
    const ways = [...new Set(Object.keys(chip.w).map((key) => key.split(",")[place]))];
    return ways.map((way) => {
      const theWay = kind.ways[chip.w[now.map((own, i) => (i === place ? way : own)).join(",")]];
      const fits = (n) => n >= 1n && wiring(chip, place, n) === way && n >= BigInt(theWay.a[name][0]) && n % BigInt(theWay.a[name][1]) === 0n;
      const near = (n, by, stop) => { for (let i = 0; i < 70 && n >= 1n && (stop === null || (by > 0n ? n <= stop : n >= stop)); i++, n += by) if (fits(n)) return n; return null; };
      const { joint } = model.bound(name, theWay), found = joint && joint.map(([a, b]) => [near(a, 1n, b), b === null ? null : near(b, -1n, a)]).filter(([a]) => a !== null);
      // The largest number up to the last one that shares out evenly every size which the axis splits.
      const shared = page.splits.filter(([label, , axes]) => axes.includes(name) && label in state.sizes);
      const evenly = (n) => shared.every(([label, fixed, axes]) => state.sizes[label] % axes.reduce((m, axis) => m * (axis === name ? n : state.sizes[axis]), BigInt(fixed)) === 0n);
      const last = found && found.length ? found[found.length - 1] : null;
      let even = last && last[1] !== null && last[1] < 4096n && shared.length ? last[1] : null;
      while (even !== null && !(fits(even) && evenly(even))) even = even > last[0] ? even - 1n : null;
      return { way, joint: found, even, of: shared.map(([label]) => label) };
    });
  };
  return { decide, boundOfAxis, float, decimal, whole, add, mul, turn, less, wiring, split, uneven, quotient };
};
if (typeof module === "object") module.exports = engine;
