// What is shown: everything that is written here was decided above; floats draw, and are read.
const shown = (doc, page) => {
  const { decide, boundOfAxis, float, decimal, whole, mul, turn, wiring, split, uneven, add, less, quotient } = engine(page);
  const $ = (id) => doc.getElementById(id), w = page.words, LOG2 = 20, STEP = 8;
  const say = (key, facts) => w[key].replace(/\{(\w+)\}/g, (_, name) => facts[name]);
  const esc = (text) => String(text).replace(/[<>&\x22]/g, (c) => `&#${c.charCodeAt(0)};`);
  const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  const nice = (x, digits = 4) => (x === 0 ? "0" : Math.abs(x) >= 1e15 || Math.abs(x) < 1e-4 ? x.toExponential(2).replace(/e\+?/, "e") : String(Number(x.toPrecision(digits))).replace(/^-?\d+/, grouped));
  const prefixed = (x, unit, least, most) => { const i = x ? Math.max(least, Math.min(most, Math.floor(Math.log10(x) / 3 + 1e-9))) : 0; return `${nice(x / 1000 ** i)} ${["p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E"][i + 4]}${unit}`; };
  const amount = (x, unit) => prefixed(x, unit, 0, 6);
  const time = (q) => prefixed(float(q), "s", -4, 0);
  const percent = (q) => `${nice(100 * float(q), 3)} %`;
  const over = (p, q) => mul(p, turn(q));

  const state = { kind: 0, chip: page.kinds[0].chips.find((one) => !one.e).n, for: page.turned[0] || page.names[0], sizes: {}, figures: {} };
  for (const name of page.names) state.sizes[name] = BigInt(page.start[name]);
  const chips = () => page.kinds[state.kind].chips, chip = () => chips().find((one) => one.n === state.chip);
  const axes = new Map(page.axes.map((axis, i) => [axis.n, i]));
  const label = (row) => (row[3] === "memory" || row[3] === "link" ? row[1] : w[row[3]]);
  const at = (changes) => decide({ ...state, sizes: { ...state.sizes, ...changes } });

  // The numbers of chips that a slider of an axis stops at.
  const known = new Map();
  const stops = (name) => {
    const key = `${name} ${state.chip} ${state.kind}`, found = known.get(key) || [];
    if (found.length) return found;
    for (let n = 1n; n <= 1024n; n += n < 64n ? 1n : 16n) if (wiring(chip(), axes.get(name), n) && (n <= 4n || n % 4n === 0n)) found.push(n);
    known.set(key, found);
    return found;
  };
  const toSlider = (name, n) => (axes.has(name) ? Math.max(0, stops(name).findLastIndex((stop) => stop <= n)) : Math.round(Math.log2(Number(n)) * STEP));
  const fromSlider = (name, i) => (axes.has(name) ? stops(name)[i] : BigInt(Math.round(2 ** (i / STEP))));
  const last = (name) => (axes.has(name) ? stops(name).length - 1 : Math.max(LOG2 * STEP, toSlider(name, state.sizes[name])));

  // Words.
  const end = (name, [a, b]) => (a === b && a > 1n ? `${name} = ${grouped(a)}` : say(b === null ? (a === 1n ? "always_for" : "from") : a === 1n ? "upto" : "between", { n: name, a: grouped(a), b: grouped(b) }));
  const ends = (name, spans) => (spans === null ? w.open : spans.length ? spans.map((span) => end(name, span)).join(w.or) : say("never_for", { n: name }));
  const edge = (spans) => (spans && spans.length === 1 && spans[0][1] === null && spans[0][0] > 1n ? spans[0][0] : null);
  const refusal = ({ refused: { why, axis, most, least }, chip: { t } }) => say(why, { n: axis, x: state.sizes[axis], most, chip: t, least: least && least[0], each: least && least[1] });
  const verdict = (m) => {
    if (m.refused) return { ok: false, text: refusal(m) };
    const rows = m.way.r.filter(([resource]) => m.longest.includes(resource)), [row] = rows, ok = m.longest.includes("math");
    const full = unfit(m) ? w.semicolon + w.not_held : "", head = rows.length > 1 ? say("both", { names: rows.map(label).join(" = ") }) : say(`by_${row[3]}`, { name: row[1] });
    return { ok, text: (ok ? head : head + w.comma + say("of_peak", { share: percent(over(m.math, m.lower)) })) + full };
  };
  const joint = (m) => {
    const name = state.for, n = state.sizes[name];
    if (axes.has(name)) return boundOfAxis(m, name).map(({ way, joint: spans, even, of }) => w[way] + w.colon + ends(name, spans) + (even && spans[spans.length - 1][1] !== even ? w.comma + say("divides", { x: even, names: [...new Set(of)].join(w.comma) }) : "")).join(w.semicolon);
    const { joint: spans } = m.bound(name), first = edge(spans), each = split(state.sizes, name);
    let text = ends(name, spans);
    if (first !== null) {
      const multiple = ((first + each - 1n) / each) * each;
      text += w.comma + (n >= first ? say(n === first ? "first" : "spare", { x: grouped(n - first) }) : say("short", { x: grouped(first - n) }));
      if (multiple !== first) text += w.comma + say("multiple", { a: grouped(multiple), each: grouped(each) });
    }
    return m.longest.includes("math") ? text : text + w.semicolon + say("left", { x: nice(float(over(m.lower, m.math)), 3) });
  };
  const holding = (m) => m.of("memory_per_chip") || m.of("memory"), capacity = (m) => m.figures.capacity && decimal(m.figures.capacity);
  const unfit = (m) => Boolean(holding(m) && capacity(m) && less(capacity(m), holding(m)));

  // Figures: labels look for a free place beside their mark.
  let pen = null;
  const breadth = (text) => { if (!pen) { pen = doc.createElement("canvas").getContext("2d"); pen.font = `13px ${getComputedStyle(doc.body).fontFamily}`; } return pen.measureText(text).width; };
  const PLACES = [16, -9, 33, -26, 50, -43, 67, -60].flatMap((dy) => [[9, dy], [-9, dy]]);
  const tick = (x, high) => (high >= 1e5 ? `10${[...String(Math.round(Math.log10(x)))].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"["0123456789-".indexOf(c)]).join("")}` : nice(x));
  const powers = (low, high) => { const found = [], step = Math.max(1, Math.ceil(Math.log10(high / low) / 6)); for (let e = Math.ceil(Math.log10(low)); e <= Math.log10(high); e += step) found.push(10 ** e); return found; };
  // A figure with its axes: across numbers on a logarithmic scale, up places from 0 to 1, each with what stands there.
  const plane = (id, x0, x1, ups, across, up, lines) => {
    const svg = $(id), width = Math.max(280, svg.clientWidth || 640), height = svg.clientHeight || 300, left = 66, top = 30, right = width - 14, floor = height - 44, taken = [], out = [];
    const X = (x) => left + ((right - left) * Math.log(x / x0)) / Math.log(x1 / x0), Y = (share) => floor - (floor - top) * share;
    const put = (shape) => out.push(shape), word = (x, y, text, anchor) => put(`<text class="soft" text-anchor="${anchor}" x="${x}" y="${y}">${esc(text)}</text>`);
    const free = (box) => box[0] >= 0 && box[2] <= width && box[1] >= 0 && box[3] <= height && !taken.some((t) => box[0] < t[2] + 3 && t[0] < box[2] + 3 && box[1] < t[3] + 2 && t[1] < box[3] + 2);
    const text = (x, y, words, places = PLACES, look = "") => {
      const wide = breadth(words);
      for (const [dx, dy] of places) {
        const from = dx < 0 ? x + dx - wide : dx > 0 ? x + dx : x - wide / 2, box = [from, y + dy - 11, from + wide, y + dy + 3];
        if (!free(box)) continue;
        taken.push(box);
        put(`<text class="halo" x="${from.toFixed(1)}" y="${(y + dy).toFixed(1)}"${look}>${esc(words)}</text>`);
        return;
      }
    };
    const square = (x, y, fill) => { put(`<rect x="${x - 5}" y="${y - 5}" width="10" height="10" fill="${fill}"/>`); taken.push([x - 6, y - 6, x + 6, y + 6]); };
    for (const x of powers(x0, x1)) { put(`<path d="M${X(x)} ${floor}v5" stroke="currentColor"/>`); word(X(x), floor + 18, tick(x, x1), "middle"); }
    for (const [share, said] of ups) { put(`<path d="M${left} ${Y(share)}${lines ? `H${right}" stroke="var(--line)` : 'h-5" stroke="currentColor'}"/>`); word(left - 8, Y(share) + 4, said, "end"); taken.push([0, Y(share) - 8, left, Y(share) + 5]); }
    put(`<path d="M${left} ${top}V${floor}H${right}" fill="none" stroke="currentColor"/>`);
    word((left + right) / 2, height - 6, across, "middle");
    word(4, 14, up, "start");
    return { X, Y, left, right, top, floor, out, put, text, square, show: (title) => { svg.setAttribute("viewBox", `0 0 ${width} ${height}`); svg.innerHTML = `<title>${esc(title)}</title>${out.join("")}`; } };
  };
  const SHADES = ["ink", "cool", "hot", "soft"].map((name) => `var(--${name})`);

  const roofline = (m) => {
    const flops = float(m.of(m.way.k.flops)), high = flops / float(m.math), got = flops / float(m.lower);
    const points = m.way.r.map((row, i) => ({ name: row[1], kind: row[3], time: float(m.times[i]), width: float(decimal(m.figures[row[2]] || "1")) })).filter((p) => (p.kind === "memory" || p.kind === "link") && p.time > 0);
    points.forEach((p, i) => { p.x = flops / (p.time * p.width); p.y = Math.min(high, flops / p.time); p.knee = high / p.width; p.shade = SHADES[i % 4]; });
    $("roof").innerHTML = "";
    if (!points.length || !flops) return;
    const xs = points.flatMap((p) => [p.x, p.knee]), x0 = Math.min(...xs) / 6, x1 = Math.max(...xs) * 6, y1 = high * 4, y0 = Math.min(got, high / 10, ...points.map((p) => p.y)) / 5;
    const up = (y) => Math.log(y / y0) / Math.log(y1 / y0), c = plane("roof", x0, x1, powers(y0, y1).map((y) => [up(y), amount(y, "")]), w.intensity, w.attained), { X, left, right } = c, Y = (y) => c.Y(up(y));
    const leads = points.reduce((p, q) => (q.y < p.y ? q : p), points.find((p) => p.kind === "memory") || points[0]), ridge = X(leads.knee), shade = (from, to, fill) => `<rect x="${from}" y="${c.top}" width="${to - from}" height="${c.floor - c.top}" fill="var(--${fill})"/>`;
    c.out.unshift(shade(left, ridge, "mem"), shade(ridge, right, "cmp"));
    const roofs = points.filter((p, i) => points.findIndex((q) => q.width === p.width) === i);
    const names = (p) => points.filter((q) => q.width === p.width).map((q) => q.name).join(", ");
    for (const p of points) { const from = Math.max(x0, y0 / p.width); c.put(`<path d="M${X(from)} ${Y(from * p.width)}L${X(p.knee)} ${Y(high)}H${right}" fill="none" stroke="${p.shade}" stroke-width="2"/>`); }
    for (const p of points) c.square(X(p.x), Y(p.y), p.shade);
    c.text(right, Y(high), `${w.peak} ${amount(high, "FLOPs/s")}`, [-8, -26, -44].map((dy) => [-2, dy]));
    const vector = m.way.r.findIndex((row) => row[3] === "vector");
    if (vector > 0 && less(m.math, m.times[vector])) { const y = Y(flops / float(m.times[vector])); c.put(`<path d="M${left} ${y}H${right}" stroke="var(--soft)" stroke-dasharray="4 3"/>`); c.text(right, y, w.vector, [[-4, -5], [-4, 14]]); }
    for (const p of roofs) { c.put(`<circle cx="${X(p.knee)}" cy="${Y(high)}" r="4" fill="var(--paper)" stroke="${p.shade}" stroke-width="2"/>`); c.text(X(p.knee), Y(high), `${w.ridge}${roofs.length > 1 ? ` ${names(p)}` : ""} ${nice(p.knee)}`, [-10, -26, -42].flatMap((dy) => [[0, dy], [-8, dy], [8, dy]])); }
    for (const p of points) c.text(X(p.x), Y(p.y), points.length > 1 ? `${p.name} ${nice(p.x)}` : `${nice(p.x)} FLOPs/byte`, PLACES, ` fill="${p.shade}"`);
    for (const p of roofs) { const x = Math.max(x0, y0 / p.width) ** 0.75 * p.knee ** 0.25; c.text(X(x), Y(x * p.width), `${names(p)} ${amount(p.width, "B/s")}`); }
    if (got < high * 0.999) { const x = X(leads.x), y = Y(Math.min(leads.y, got)); c.put(`<path d="M${x} ${Y(leads.y) - 6}V${Y(high) + 3}" stroke="var(--hot)" stroke-dasharray="3 3"/>`); c.text(x, (y + Y(high)) / 2, say("left", { x: nice(high / got, 3) }), [[7, 4], [-7, 4], [7, 20], [-7, 20]], ' fill="var(--hot)"'); }
    c.show(`${say("roofline", { chip: m.chip.t })} ${verdict(m).text}`);
  };

  // The share of the peak over the size that is solved for, with a cursor at its place.
  const curve = (m) => {
    const name = state.for, points = [], share = (one) => float(over(one.math, one.lower)), here = Number(state.sizes[name]);
    for (let i = 0; i <= last(name); i += axes.has(name) ? 1 : 2) { const n = fromSlider(name, i), one = at({ [name]: n }); if (!one.refused) points.push([Number(n), share(one)]); }
    const c = plane("over", 1, Math.max(2, here, ...points.map(([x]) => x)), [0, 0.25, 0.5, 0.75, 1].map((y) => [y, `${100 * y} %`]), name, "", true), { X, Y } = c;
    c.put(axes.has(name) ? points.map(([x, y]) => `<circle cx="${X(x)}" cy="${Y(y)}" r="3" fill="var(--cool)"/>`).join("") : `<path d="M${points.map(([x, y]) => `${X(x).toFixed(1)} ${Y(y).toFixed(1)}`).join("L")}" fill="none" stroke="var(--cool)" stroke-width="2"/>`);
    c.put(`<path d="M${X(here)} ${c.top}V${c.floor}" stroke="var(--hot)" stroke-dasharray="3 3"/>`);
    c.square(X(here), Y(share(m)), "var(--hot)");
    c.text(X(here), Y(share(m)), `${name} = ${grouped(state.sizes[name])}: ${percent(over(m.math, m.lower))}`);
    c.show(say("over", { n: name }));
  };

  // Tables.
  const row = (cells, now) => `<tr${now ? ' class="now"' : ""}>${cells.map((cell, i) => `<td${i && /^\d/.test(cell) ? ' class="n"' : ""}>${cell}</td>`).join("")}</tr>`;
  const bar = (q) => [percent(q), `<svg width="100" height="10"><rect width="${100 * float(q)}" height="10"/></svg>`];
  // The terms of 1/intensity where that is a sum over one product, as 1/B + 1/D + 1/F.
  const terms = (m) => {
    const r = m.way.r.findIndex(([, , , kind]) => kind === "memory"), [math, moved] = ["T_math", r < 0 ? "" : `T_${m.way.r[r][0]}`].map((name) => m.kind.pool[m.way.q[name]]);
    if (!math || !moved || math[0].length * math[1].length * moved[1].length !== 1 || moved[0].length > 8) return "";
    return moved[0].map((term) => {
      const found = new Map(), count = ([, ...at], sign) => { for (let i = 0; i < at.length; i += 2) found.set(at[i], (found.get(at[i]) || 0) + sign * at[i + 1]); };
      count(term, 1); count(math[1][0], 1); count(moved[1][0], -1); count(math[0][0], -1);
      const side = (sign) => [...found].filter(([i, e]) => i < page.names.length && e * sign > 0).map(([i, e]) => page.names[i] + (e * sign > 1 ? `^${e * sign}` : "")).join("");
      const low = side(-1), [[a], [b]] = quotient([[term], moved[0]], m.values, -1);
      return row([(side(1) || "1") + (low && `/${low.length > 1 ? `(${low})` : low}`), ...bar([a, b])]);
    }).join("");
  };
  const statements = (m) => {
    const groups = m.way.g.map(([name, each]) => {
      const times = m.way.r.map(([resource]) => each.map((one) => m.of(`T_${resource === "latency" ? "hops" : resource}(${one})`)).filter(Boolean).reduce(add, [0n, 1n])), longest = times.reduce((a, b, i) => (less(times[a], b) ? i : a), 0);
      return [name, times[longest], label(m.way.r[longest])];
    }), sum = groups.map(([, t]) => t).reduce(add, [0n, 1n]);
    return groups.map(([name, t, by]) => row([esc(name), time(t), ...bar(over(t, sum)), esc(by)])).join("");
  };
  const tables = (m) => {
    const { of, way } = m, held = holding(m), most = capacity(m);
    $("ofterms").hidden = !($("terms").innerHTML = terms(m));
    $("times").innerHTML = way.r.map((one, i) => row([esc(label(one)), time(m.times[i]), ...bar(over(m.times[i], m.lower))], m.longest.includes(one[0]))).join("") + ("T_steps" in way.q ? row([esc(w.steps), time(of("T_steps")), percent(over(of("T_steps"), m.lower))]) : "");
    $("amounts").innerHTML = row([esc(w.flops), amount(float(of(way.k.flops)), "")]) + row([esc(w.bytes), amount(float(of(way.k.bytes)), "B")])
      + (held && float(held) > 0 ? row([esc(w.held), amount(float(held), "B"), most ? esc(say("of_chip", { share: percent(over(held, most)) })) : ""]) : "")
      + ("tokens_per_second" in way.q ? row([esc(w.tokens), nice(float(of("tokens_per_second"))), unfit(m) ? esc(w.unfit) : ""]) : "") + [...way.l, ...way.w].map((name) => row([esc(name), nice(float(of(name)))])).join("");
    $("ofstatements").hidden = !way.g.length;
    if ($("ofstatements").open) $("statements").innerHTML = statements(m);
  };
  // A row that leads to another state: what limits it there, and its time.
  const choice = (data, text, m, now) => { const v = verdict(m); return row([`<button ${data}>${esc(text)}</button>`, m.refused ? "" : time(m.lower), `<span class="${v.ok ? "ok" : "no"}">${esc(v.text)}</span>`], now); };
  const others = () => chips().map((one) => (one.e ? row([esc(one.t), "", esc(one.e)]) : choice(`data-chip="${esc(one.n)}"`, one.t, decide({ ...state, chip: one.n, figures: {} }), one.n === state.chip))).join("");
  // Every wired way to write the chips of two axes as a product, the fastest first.
  const splits = () => {
    const [one, other] = page.axes.map((axis) => axis.n), n = state.sizes[one] * state.sizes[other], found = [];
    for (let x = 1n; x <= n && n <= 65536n; x++) if (n % x === 0n) { const m = at({ [one]: x, [other]: n / x }); if (!m.refused && wiring(m.chip, 0, x) && wiring(m.chip, 1, n / x)) found.push([x, m]); }
    found.sort(([, p], [, q]) => (less(p.lower, q.lower) ? -1 : less(q.lower, p.lower) ? 1 : 0));
    return found.slice(0, 12).map(([x, m]) => choice(`data-sizes="${one}=${x},${other}=${n / x}"`, `${one} = ${grouped(x)}, ${other} = ${grouped(n / x)}`, m, x === state.sizes[one])).join("");
  };
  // What takes less than a tenth of the time of the arithmetic is not in the way.
  const bounds = (m) => m.bound(state.for).each.map(([resource, spans], i) => {
    const first = edge(spans), formula = (m.way.s[state.for] || {})[resource];
    if (less(mul(m.times[i + 1], [10n, 1n]), m.math)) return "";
    return `<li>${esc(say("against", { name: label(m.way.r[i + 1]) }) + w.colon + ends(state.for, spans))}${first && first < 10n ** 15n ? ` <button data-sizes="${state.for}=${first}">${esc(say("go", { n: state.for, a: grouped(first) }))}</button>` : ""}${formula >= 0 ? $("formulas").children[formula].outerHTML : ""}</li>`;
  }).join("");
  const figureName = (m, name) => (name === "peak" ? m.chip.p : name === "bandwidth" ? (m.way.r.find((one) => one[2] === name) || [])[1] || name : name);
  const command = (m) => `symroof derive ${m.kind.asked.map((part) => (/^[\w-]+$/.test(part) ? part : `"${part}"`)).join(" ")} --on ${state.chip}${Object.entries(state.figures).map(([name, x]) => ` --given ${name === "bandwidth" ? figureName(m, name) : name}=${x}`).join("")} --for ${state.for} --at ${page.names.map((name) => `${name}=${state.sizes[name]}`).join(",")}`;

  const draw = () => {
    const m = decide(state), v = verdict(m);
    $("verdict").textContent = v.text;
    $("verdict").className = v.ok ? "ok" : "no";
    for (const name of page.names) $(`r-${name}`).setAttribute("aria-valuetext", `${grouped(state.sizes[name])}, ${v.text}`);
    later(v.text);
    $("joint").textContent = m.refused ? "" : [joint(m), ...uneven(m).map(([n, each]) => say("uneven", { n, each: grouped(each) }))].join(w.semicolon);
    if (m.refused) return;
    roofline(m);
    if (!compact) {
      $("ofcommand").hidden = !m.kind.asked;
      if (m.kind.asked) $("command").textContent = command(m);
      $("ofbounds").hidden = axes.has(state.for);
      $("bounds").innerHTML = bounds(m) || `<li>${esc(w.ample)}</li>`;
      curve(m);
      tables(m);
      if ($("ofchips").open) $("chips").innerHTML = others();
      if ($("ofaxes").open) $("splits").innerHTML = splits();
    }
    clearTimeout(keeping);
    keeping = setTimeout(() => { try { history.replaceState(null, "", `#${new URLSearchParams([...page.names.map((name) => [name, state.sizes[name]]), ["chip", state.chip], ["for", state.for], ["kind", state.kind], ...Object.entries(state.figures)])}`); } catch (e) { /* in a frame without an address */ } }, 300);
  };

  // Hands.
  let speaking = 0, keeping = 0, wait = 0;
  const compact = typeof self !== "undefined" && self !== self.top && self.name !== "whole";
  const later = (text) => { clearTimeout(speaking); speaking = setTimeout(() => { if ($("said").textContent !== text) $("said").textContent = text; }, 700); };
  const reading = () => {
    const said = new URLSearchParams(location.hash.slice(1)), kind = said.get("kind");
    if (/^\d$/.test(kind) && kind < page.kinds.length) state.kind = Number(kind);
    if (chips().some((one) => one.n === said.get("chip") && !one.e)) state.chip = said.get("chip");
    if (page.names.includes(said.get("for"))) state.for = said.get("for");
    for (const name of page.names) state.sizes[name] = whole(said.get(name)) || state.sizes[name];
    for (const name of [...page.kinds[state.kind].figures, "capacity"]) if (decimal(said.get(name))) state.figures[name] = said.get(name);
  };
  const controls = (held) => {
    for (const name of page.names) {
      const range = $(`r-${name}`), box = $(`n-${name}`);
      range.max = last(name);
      if (held !== range) range.value = toSlider(name, state.sizes[name]);
      if (held !== box) { box.value = state.sizes[name]; box.classList.remove("wrong"); }
    }
    $("chip").value = state.chip;
    $("kind").value = state.kind;
    for (const one of doc.getElementsByName("for")) one.checked = one.value === state.for;
  };
  const go = (held) => { controls(held); draw(); };
  // Other figures: those of a chip, with what is said of them in the address.
  const fresh = (figures = {}) => {
    if (chip().e) state.chip = chips().find((one) => !one.e).n;
    state.figures = figures;
    $("chip").innerHTML = chips().map((one) => `<option value="${esc(one.n)}"${one.e ? " disabled" : ""}>${esc(one.t)}</option>`).join("");
    const m = decide(state), own = chip().f;
    $("given").innerHTML = [...m.kind.figures, "capacity"].filter((name) => name in own).map((name) => `<label><span>${esc(name === "capacity" ? w.capacity : figureName(m, name))}</span><input data-figure="${esc(name)}" value="${esc(m.figures[name])}"${name in figures ? ' class="given"' : ""}></label>`).join("");
    go();
  };
  const begin = () => {
    doc.documentElement.className = compact ? "compact" : "";
    $("sizes").insertAdjacentHTML("beforeend", page.names.map((name) => `<label class="size"><b>${esc(name)}</b><input type="range" id="r-${name}" min="0" step="1" aria-label="${esc(say("slider", { n: name }))}"><input id="n-${name}" inputmode="numeric" maxlength="15" aria-label="${esc(name)}"></label>`).join(""));
    $("solve").insertAdjacentHTML("beforeend", [...new Set([...page.turned, ...page.names])].map((name) => `<label><input type="radio" name="for" value="${esc(name)}">${esc(name)}</label>`).join(""));
    $("kind").innerHTML = page.kinds.map((one, i) => `<option value="${i}">${esc(one.t)}</option>`).join("");
    $("kinds").hidden = page.kinds.length < 2;
    $("ofaxes").hidden = page.axes.length !== 2;
    $("derivation").open = self.name === "whole";
    const arrive = () => { state.figures = {}; reading(); fresh(state.figures); };
    doc.addEventListener("input", (e) => {
      const t = e.target, name = t.id.slice(2), figure = t.dataset.figure, good = figure ? decimal(t.value) : !t.id.startsWith("n-") || whole(t.value.trim());
      t.classList.toggle("wrong", !good);
      if (!good || t.tagName === "SELECT") return;
      if (t.name === "for") state.for = t.value;
      else if (figure) { const given = t.value !== chip().f[figure]; if (given) state.figures[figure] = t.value; else delete state.figures[figure]; t.classList.toggle("given", given); }
      else state.sizes[name] = t.type === "range" ? fromSlider(name, Number(t.value)) : good;
      go(t);
    });
    doc.addEventListener("change", ({ target: { id, value } }) => {
      if (id === "chip") state.chip = value;
      else if (id === "kind") state.kind = Number(value);
      else return controls();
      fresh();
    });
    doc.addEventListener("click", (e) => {
      const { chip: other, sizes } = e.target.dataset;
      if (other) { state.chip = other; fresh(); }
      if (sizes) { for (const part of sizes.split(",")) { const [name, n] = part.split("="); state.sizes[name] = BigInt(n); } go(); }
    });
    doc.addEventListener("toggle", (e) => { if (e.target.open) draw(); }, true);
    addEventListener("hashchange", arrive);
    addEventListener("resize", () => { clearTimeout(wait); wait = setTimeout(draw, 80); });
    addEventListener("beforeprint", () => { for (const one of doc.querySelectorAll("details")) one.open = true; });
    arrive();
  };
  return { begin, lower: () => float(decide(state).lower) };
};
if (typeof document !== "undefined") { const page = shown(document, JSON.parse(document.getElementById("data").textContent)); page.begin(); document.page = page; }
