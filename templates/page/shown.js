// What is shown: everything that is written here was decided above; floats draw, and are read.
const shown = (doc, page) => {
  const { decide, boundOfAxis, float, decimal, whole, mul, turn, wiring, split, uneven, value, add, less, quotient } = engine(page);
  const $ = (id) => doc.getElementById(id), w = page.words, LOG2 = 20, STEP = 8;
  const say = (key, facts = {}) => w[key].replace(/\{(\w+)\}/g, (_, name) => facts[name]);
  const esc = (text) => String(text).replace(/[<>&"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  const nice = (x, digits = 4) => (x === 0 ? "0" : Math.abs(x) >= 1e15 || Math.abs(x) < 1e-4 ? x.toExponential(2).replace(/e\+?/, "e") : String(Number(x.toPrecision(digits))).replace(/^-?\d+/, grouped));
  const scaled = (x, steps, unit) => { const i = Math.max(0, Math.min(steps.length - 1, Math.floor(Math.log10(x) / 3 + 1e-9))); return `${nice(x / 1000 ** i, 3)} ${steps[i]}${unit}`; };
  const rate = (x, unit) => scaled(x, ["", "k", "M", "G", "T", "P", "E"], unit);
  const time = (x) => { const i = x >= 1 ? 0 : Math.min(4, Math.ceil(-Math.log10(x) / 3 - 1e-9)); return x >= 1 ? `${nice(x, 4)} s` : `${nice(x * 1000 ** i, 4)} ${["s", "ms", "µs", "ns", "ps"][i]}`; };
  const percent = (q, digits = 3) => `${nice(100 * float(q), digits)} %`;

  const state = { kind: 0, chip: page.kinds[0].chips.find((one) => !one.e).n, for: page.turned[0] || page.names[0], sizes: {}, figures: {} };
  for (const name of page.names) state.sizes[name] = BigInt(page.start[name]);
  const chips = () => page.kinds[state.kind].chips;
  const axes = new Map(page.axes.map((axis, i) => [axis.n, i]));
  const label = (row) => (row[3] === "math" ? w.compute : row[3] === "vector" ? w.vector : row[3] === "latency" ? w.latency : row[1]);

  // The numbers of chips that a slider of an axis stops at.
  const known = new Map();
  const stops = (name) => {
    const key = `${name} ${state.chip} ${state.kind}`;
    if (known.has(key)) return known.get(key);
    const chip = chips().find((one) => one.n === state.chip), place = axes.get(name), found = [];
    known.set(key, found);
    for (let n = 1n; n <= 1024n; n += n < 64n ? 1n : 16n) if (wiring(chip, place, n) && (n <= 4n || n % 4n === 0n)) found.push(n);
    return found;
  };
  const toSlider = (name, n) => (axes.has(name) ? Math.max(0, stops(name).findLastIndex((stop) => stop <= n)) : Math.round(Math.log2(Number(n)) * STEP));
  const fromSlider = (name, v) => (axes.has(name) ? stops(name)[v] : BigInt(Math.round(2 ** (v / STEP))));

  // Words.
  const ends = (name, spans) => {
    if (spans === null) return say("open");
    if (!spans.length) return say("never_for", { n: name });
    return spans.map(([a, b]) => (a === 1n && b === null ? say("always_for", { n: name }) : b === null ? say("from", { n: name, a: grouped(a) }) : a === 1n ? say("upto", { n: name, b: grouped(b) }) : a === b ? `${name} = ${grouped(a)}` : say("between", { n: name, a: grouped(a), b: grouped(b) }))).join(w.or);
  };
  const verdict = (m) => {
    const rows = m.way.r.filter(([resource]) => m.longest.includes(resource)), [row] = rows;
    const head = rows.length > 1 ? say("both", { names: rows.map(label).join(" = ") }) : say(`by_${row[3]}`, { name: row[1] });
    return { ok: m.longest.includes("math"), text: m.longest.includes("math") ? head : `${head}${w.comma}${say("of_peak", { share: percent(mul(m.math, turn(m.lower))) })}` };
  };
  const joint = (m) => {
    const name = state.for, n = state.sizes[name];
    if (axes.has(name)) return boundOfAxis(m, name).map(({ way, joint: spans, even, of }) => `${w[way]}${w.colon}${ends(name, spans)}${even && spans[spans.length - 1][1] !== even ? w.comma + say("divides", { x: even, names: [...new Set(of)].join(w.comma) }) : ""}`).join(w.semicolon);
    const { joint: spans } = m.bound(name);
    let text = ends(name, spans);
    const edge = spans && spans.length === 1 && spans[0][1] === null && spans[0][0] > 1n ? spans[0][0] : null;
    if (edge !== null) {
      text += w.comma + (n >= edge ? say(n === edge ? "first" : "spare", { x: grouped(n - edge) }) : say("short", { x: grouped(edge - n) }));
      const each = split(state.sizes, name), multiple = ((edge + each - 1n) / each) * each;
      if (multiple !== edge) text += w.comma + say("multiple", { a: grouped(multiple), each: grouped(each) });
    }
    const left = mul(m.lower, turn(m.math));
    if (!m.longest.includes("math")) text += w.semicolon + say("left", { x: nice(float(left), 3) });
    return text;
  };

  // Labels look for a free place beside their mark; a mark of two points nearer than its width is one.
  const frames = new Map();
  const measure = () => { for (const id of ["roof", "over", "terms"]) frames.set(id, [Math.max(280, $(id).clientWidth || 640), $(id).clientHeight || 300]); };
  let pen = null;
  const breadth = (text) => { if (!pen) { pen = doc.createElement("canvas").getContext("2d"); pen.font = '13px system-ui,"Noto Sans","Noto Sans CJK SC",sans-serif'; } return pen.measureText(text).width; };
  const canvas = (svg) => {
    const [width, height] = frames.get(svg.id), taken = [], out = [];
    const free = (box) => box[0] >= 0 && box[2] <= width && box[1] >= 0 && box[3] <= height && !taken.some((t) => box[0] < t[2] + 3 && t[0] < box[2] + 3 && box[1] < t[3] + 2 && t[1] < box[3] + 2);
    const take = (box) => taken.push(box);
    const text = (x, y, t, options = {}) => {
      const wide = breadth(t), places = options.places || [[9, -9], [9, 16], [-9, -9], [-9, 16], [9, -26], [9, 33], [-9, -26], [-9, 33], [9, -43], [9, 50], [-9, -43], [-9, 50], [9, -60], [9, 67], [-9, -60], [-9, 67]];
      for (const [dx, dy] of places) {
        const left = dx < 0 ? x + dx - wide : dx > 0 ? x + dx : x - wide / 2, box = [left, y + dy - 11, left + wide, y + dy + 3];
        if (!free(box)) continue;
        take(box);
        out.push(`<text class="halo ${options.kind || ""}" x="${left.toFixed(1)}" y="${(y + dy).toFixed(1)}"${options.fill ? ` fill="${options.fill}"` : ""}>${esc(t)}</text>`);
        return true;
      }
      return false;
    };
    return { width, height, out, text, take, put: (s) => out.push(s), show: (title) => { svg.setAttribute("viewBox", `0 0 ${width} ${height}`); svg.innerHTML = `<title>${esc(title)}</title>${out.join("")}`; } };
  };
  const ticks = (low, high) => { const found = [], step = Math.max(1, Math.ceil((Math.log10(high) - Math.log10(low)) / 6)); for (let e = Math.ceil(Math.log10(low)); e <= Math.log10(high); e += step) found.push(10 ** e); return found; };
  const tick = (x, high) => (high >= 1e5 ? `10${[...String(Math.round(Math.log10(x)))].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"["0123456789-".indexOf(c)]).join("")}` : nice(x));
  const SHADES = ["var(--ink)", "var(--cool)", "var(--hot)", "#7a5", "#96c"];
  const DASHES = ["", "7 4", "2 3", "9 3 2 3", "1 4"];

  // What the point is pulled by: its intensity, and how much one pixel is.
  let grip = null, pulled = null;
  const pull = (pixels) => {
    const name = state.for, last = Number($(`r-${name}`).max), known = new Map();
    const at = (i) => {
      if (!known.has(i)) { const m = decide({ ...state, sizes: { ...state.sizes, [name]: fromSlider(name, i) } }), r = m.refused ? -1 : m.way.r.findIndex((row) => row[0] === pulled.resource); known.set(i, r < 0 ? 0 : float(m.of(m.way.k.flops)) / (float(m.times[r]) * pulled.width)); }
      return known.get(i);
    };
    const wanted = pulled.x * Math.exp(pixels * pulled.per), rises = at(last) >= at(0);
    let low = 0, high = last;
    while (high - low > 1) { const middle = (low + high) >> 1; if ((at(middle) < wanted) === rises) low = middle; else high = middle; }
    const off = (i) => Math.abs(Math.log(at(i) / wanted));
    if (at(low) !== at(high)) set(name, fromSlider(name, off(low) < off(high) ? low : high));
  };

  const roofline = (m) => {
    const c = canvas($("roof")), L = 66, R = 14, T = 30, B = 44, peak = float(decimal(m.figures.peak) || [1n, 1n]);
    const flops = float(m.of(m.way.k.flops)), top = flops / float(m.math);
    const moving = m.way.r.map((row, i) => ({ row, time: float(m.times[i]), width: float(decimal(m.figures[row[2]] || "1")) })).filter(({ row, time: t }) => (row[3] === "memory" || row[3] === "link") && t > 0);
    const points = moving.map(({ row, time: t, width }) => ({ row, width, x: flops / (t * width), y: Math.min(top, flops / t) }));
    const xs = points.flatMap((p) => [p.x, top / p.width]).filter((x) => x > 0 && isFinite(x));
    const ys = [...points.map((p) => p.y), flops / float(m.lower)];
    if (!xs.length) return c.show("");
    const x0 = Math.min(...xs) / 6, x1 = Math.max(...xs) * 6, y1 = top * 4, y0 = Math.min(...ys, top / 10) / 5;
    const X = (x) => L + ((c.width - L - R) * Math.log(x / x0)) / Math.log(x1 / x0), Y = (y) => T + (c.height - T - B) * (1 - Math.log(y / y0) / Math.log(y1 / y0));
    const floor = c.height - B, right = c.width - R;
    const main = points.find((p) => p.row[3] === "memory") || points[0];
    grip = { x: main.x, per: Math.log(x1 / x0) / (c.width - L - R), resource: main.row[0], width: main.width };
    const leads = points.reduce((p, q) => (q.y < p.y ? q : p), main), ridge = X(Math.min(x1, top / leads.width));
    c.put(`<rect x="${L}" y="${T}" width="${Math.max(0, ridge - L)}" height="${floor - T}" fill="var(--mem)"/><rect x="${ridge}" y="${T}" width="${Math.max(0, right - ridge)}" height="${floor - T}" fill="var(--cmp)"/>`);
    for (const x of ticks(x0, x1)) c.put(`<path d="M${X(x)} ${floor}v5" stroke="currentColor"/><text class="soft" text-anchor="middle" x="${X(x)}" y="${floor + 18}">${tick(x, x1)}</text>`);
    for (const y of ticks(y0, y1)) c.take([0, Y(y) - 8, L, Y(y) + 5]);
    for (const y of ticks(y0, y1)) c.put(`<path d="M${L} ${Y(y)}h-5" stroke="currentColor"/><text class="soft" text-anchor="end" x="${L - 8}" y="${Y(y) + 4}">${rate(y, "")}</text>`);
    c.put(`<path d="M${L} ${T}V${floor}H${right}" fill="none" stroke="currentColor"/><text class="soft" text-anchor="middle" x="${(L + right) / 2}" y="${c.height - 6}">${esc(w.intensity)}</text><text class="soft" x="4" y="14">${esc(w.attained)}</text>`);
    points.forEach((p, i) => {
      const from = Math.max(x0, y0 / p.width), knee = top / p.width, shade = SHADES[i % 5];
      c.put(`<path d="M${X(from)} ${Y(from * p.width)}L${X(Math.min(knee, x1))} ${Y(Math.min(knee, x1) * p.width)}${knee < x1 ? `H${right}` : ""}" fill="none" stroke="${shade}" stroke-width="2" stroke-dasharray="${DASHES[i % 5]}"/>`);
      c.put(`<rect x="${X(p.x) - 5}" y="${Y(p.y) - 5}" width="10" height="10" fill="${shade}"/>`);
      c.take([X(p.x) - 6, Y(p.y) - 6, X(p.x) + 6, Y(p.y) + 6]);
    });
    const got = flops / float(m.lower), k = m.way.r.findIndex((row) => row[3] === "vector");
    if (k > 0 && float(m.times[k]) > float(m.math)) { const y = Y(flops / float(m.times[k])); c.put(`<path d="M${L} ${y}H${right}" stroke="var(--soft)" stroke-dasharray="4 3"/>`); c.text(right, y, w.vector, { places: [[-4, -5], [-4, 14]] }); }
    c.text(right, Y(top), `${w.peak} ${rate(top, "FLOPs/s")}`, { places: [[-2, -8], [-2, -24]] });
    points.forEach((p, i) => c.text(X(p.x), Y(p.y), points.length > 1 ? `${p.row[1]} ${nice(p.x)}` : nice(p.x), { fill: SHADES[i % 5] }));
    points.forEach((p, i) => { const knee = top / p.width; if (knee < x1 && points.findIndex((q) => q.width === p.width) === i) { c.put(`<circle cx="${X(knee)}" cy="${Y(top)}" r="4" fill="var(--paper)" stroke="${SHADES[i % 5]}" stroke-width="2"/>`); c.text(X(knee), Y(top), points.length > 1 ? nice(knee) : `${w.ridge} ${nice(knee)}`, { places: [[0, -10], [0, -26], [0, -42], [-8, -10], [8, -10]], kind: "soft" }); } });
    if (got < top * 0.999) { const x = X(main.x), y = Y(Math.min(main.y, got)); c.put(`<path d="M${x} ${Y(main.y) - 6}V${Y(top) + 3}" stroke="var(--hot)" stroke-dasharray="3 3"/>`); c.text(x, (y + Y(top)) / 2, say("left", { x: nice(top / got, 3) }), { fill: "var(--hot)", places: [[7, 4], [-7, 4], [7, 20], [-7, 20]] }); }
    c.show(`${say("roofline", { chip: m.chip.t })} ${verdict(m).text}`);
  };

  // The share of the peak over the size that is solved for, with the cursor at its place.
  const over = (m) => {
    const c = canvas($("over")), L = 66, R = 14, T = 14, B = 44, name = state.for, k = page.names.indexOf(name), kind = m.kind;
    const here = Number(state.sizes[name]), points = [];
    if (axes.has(name)) {
      for (const n of stops(name)) { const one = decide({ ...state, sizes: { ...state.sizes, [name]: n } }); if (!one.refused) points.push([Number(n), float(mul(one.math, turn(one.lower)))]); }
    } else {
      const most = Math.max(LOG2, Math.log2(here) + 1);
      const trees = m.way.r.map(([resource]) => m.way.q[`T_${resource}`]), sides = trees.map((tree) => (typeof tree === "number" ? quotient(kind.pool[tree], m.values, k).map((side) => side.map(Number)) : null));
      const at = (p, x) => p.reduceRight((s, c) => s * x + c, 0), exactly = (tree, x) => { const values = [...m.values]; values[k] = [BigInt(Math.round(x * 4096)), 4096n]; return float(value(tree, kind, values)); };
      for (let i = 0; i <= 90; i++) { const x = 2 ** ((most * i) / 90), times = trees.map((tree, j) => (sides[j] ? at(sides[j][0], x) / at(sides[j][1], x) : exactly(tree, x))); points.push([x, times[0] / Math.max(...times)]); }
    }
    if (points.length < 2) return c.show("");
    const x1 = points[points.length - 1][0], X = (x) => L + ((c.width - L - R) * Math.log(x)) / Math.log(x1), Y = (y) => T + (c.height - T - B) * (1 - y), floor = c.height - B;
    for (const y of [0, 0.25, 0.5, 0.75, 1]) c.put(`<path d="M${L} ${Y(y)}H${c.width - R}" stroke="var(--line)"/><text class="soft" text-anchor="end" x="${L - 8}" y="${Y(y) + 4}">${y * 100} %</text>`);
    for (const x of ticks(1, x1)) c.put(`<path d="M${X(x)} ${floor}v5" stroke="currentColor"/><text class="soft" text-anchor="middle" x="${X(x)}" y="${floor + 18}">${tick(x, x1)}</text>`);
    c.put(`<text class="soft" text-anchor="middle" x="${(L + c.width - R) / 2}" y="${c.height - 6}">${esc(name)}</text>`);
    c.put(axes.has(name) ? points.map(([x, y]) => `<circle cx="${X(x)}" cy="${Y(y)}" r="3" fill="var(--cool)"/>`).join("") : `<path d="M${points.map(([x, y]) => `${X(x).toFixed(1)} ${Y(y).toFixed(1)}`).join("L")}" fill="none" stroke="var(--cool)" stroke-width="2"/>`);
    const share = float(mul(m.math, turn(m.lower)));
    if (here <= x1) { c.put(`<path d="M${X(here)} ${T}V${floor}" stroke="var(--hot)" stroke-dasharray="3 3"/><rect x="${X(here) - 5}" y="${Y(share) - 5}" width="10" height="10" fill="var(--hot)"/>`); c.text(X(here), Y(share), `${name} = ${grouped(state.sizes[name])}: ${nice(100 * share, 3)} %`); }
    c.show(say("over", { n: name }));
  };

  // What a bar is made of: the terms of 1/intensity where that is a sum over one product, 1/B + 1/D + 1/F; else the times.
  const parts = (m) => {
    const r = m.way.r.findIndex(([, , , kind]) => kind === "memory"), math = m.way.q.T_math, moved = r < 0 ? null : m.way.q[`T_${m.way.r[r][0]}`], pair = (i) => m.kind.pool[i];
    const alone = typeof math === "number" && typeof moved === "number" && pair(math)[0].length === 1 && pair(math)[1].length === 1 && pair(moved)[1].length === 1 && pair(moved)[0].length < 9;
    if (!alone) return m.way.r.map((one, i) => [`${label(one)} ${time(float(m.times[i]))}`, float(m.times[i])]);
    return pair(moved)[0].map((term) => {
      const powers = new Map(), count = ([, ...at], sign) => { for (let i = 0; i < at.length; i += 2) powers.set(at[i], (powers.get(at[i]) || 0) + sign * at[i + 1]); };
      count(term, 1); count(pair(math)[1][0], 1); count(pair(moved)[1][0], -1); count(pair(math)[0][0], -1);
      const side = (sign) => [...powers].filter(([i, e]) => i < page.names.length && e * sign > 0).map(([i, e]) => page.names[i] + (e * sign > 1 ? `^${e * sign}` : "")).join("");
      const low = side(-1), [[a], [b]] = quotient([[term], pair(moved)[0]], m.values, -1), share = float([a, b]);
      return [`${m.way.r[r][1]}: ${side(1) || "1"}${low ? `/${low.length > 1 ? `(${low})` : low}` : ""} ${nice(100 * share, 3)} %`, share];
    });
  };
  const bar = (m) => {
    const each = parts(m), sum = each.reduce((s, [, x]) => s + x, 0), most = Math.max(...each.map(([, x]) => x)), c = canvas($("terms"));
    let x = 0;
    for (const [name, part] of each) {
      const wide = (c.width * part) / sum;
      c.put(`<rect x="${x.toFixed(1)}" y="2" width="${Math.max(0, wide - 2).toFixed(1)}" height="20" fill="${part === most ? "var(--hot)" : "var(--line)"}"/>`);
      if (wide > breadth(name)) c.text(x, 38, name, { places: [[1, 0]] });
      x += wide;
    }
    c.show(each.map(([name]) => name).join(w.comma));
  };

  const holding = (m) => m.of("memory_per_chip") || m.of("memory"), full = (m) => Boolean(holding(m) && m.figures.capacity && less(decimal(m.figures.capacity), holding(m)));
  const tables = (m) => {
    const row = (cells, now) => `<tr${now ? ' class="now"' : ""}>${cells.map((cell, i) => `<td${i ? ' class="n"' : ""}>${cell}</td>`).join("")}</tr>`;
    $("times").innerHTML = m.way.r.map((one, i) => row([esc(label(one)), time(float(m.times[i])), percent(mul(m.times[i], turn(m.lower)))], m.longest.includes(one[0]))).join("") + ["T_steps", "T_upper"].filter((name) => name in m.way.q).map((name) => row([esc(name), time(float(m.of(name))), percent(mul(m.of(name), turn(m.lower)))])).join("");
    const { of } = m, held = holding(m), rows = [];
    rows.push(row([esc(w.flops), rate(float(of(m.way.k.flops)), ""), ""]), row([esc(w.bytes), rate(float(of(m.way.k.bytes)), "B"), ""]));
    if (held && float(held) > 0) rows.push(row([esc(w.memory), rate(float(held), "B"), m.figures.capacity ? percent(mul(held, turn(decimal(m.figures.capacity)))) : ""]));
    if ("tokens_per_second" in m.way.q) rows.push(row([esc(w.tokens), nice(float(of("tokens_per_second")), 4), full(m) ? esc(w.not_held) : ""]));
    for (const name of [...m.way.l, ...m.way.w]) rows.push(row([esc(name), nice(float(of(name)), 4), ""]));
    $("times").innerHTML += rows.join("");
    if (($("ofstatements").hidden = !m.way.g.length) || !$("ofstatements").open) return;
    const groups = m.way.g.map(([name, each]) => {
      const times = m.way.r.map(([resource]) => each.map((one) => of(`T_${resource === "latency" ? "hops" : resource}(${one})`)).filter(Boolean).reduce(add, [0n, 1n]));
      const longest = times.reduce((a, b, i) => (float(b) > float(times[a]) ? i : a), 0);
      return { name, t: times[longest], by: label(m.way.r[longest]) };
    });
    if (groups.length) { const sum = groups.map((g) => g.t).reduce(add); $("statements").innerHTML = groups.map((g) => row([esc(g.name), time(float(g.t) || 1e-30), percent(mul(g.t, turn(sum))), esc(g.by)])).join(""); }
  };
  const chipsTable = () => {
    $("chips").innerHTML = chips().map((one) => {
      if (one.e) return `<tr><td>${esc(one.t)}</td><td colspan="3" class="soft">${esc(one.e)}</td></tr>`;
      const m = decide({ ...state, chip: one.n, figures: {} });
      if (m.refused) return `<tr><td>${esc(one.t)}</td><td colspan="3">${esc(refusal(m))}</td></tr>`;
      const v = verdict(m);
      return `<tr${one.n === state.chip ? ' class="now"' : ""}><td><button class="go" data-chip="${esc(one.n)}">${esc(one.t)}</button></td><td class="${v.ok ? "ok" : "no"}">${esc(v.text)}</td><td class="n">${time(float(m.lower))}</td></tr>`;
    }).join("");
  };
  // Every wired way to write the chips of two axes as a product, the fastest first.
  const splitsTable = (m) => {
    const [one, other] = page.axes.map((axis) => axis.n), n = m.state.sizes[one] * m.state.sizes[other], found = [];
    for (let x = 1n; x <= n && n <= 65536n; x++) if (n % x === 0n) {
      const sizes = { ...state.sizes, [one]: x, [other]: n / x }, at = decide({ ...state, sizes });
      if (!at.refused && wiring(at.chip, 0, x) && wiring(at.chip, 1, n / x)) found.push([x, at]);
    }
    found.sort(([, p], [, q]) => (less(p.lower, q.lower) ? -1 : less(q.lower, p.lower) ? 1 : 0));
    $("splits").innerHTML = found.slice(0, 12).map(([x, at]) => { const v = verdict(at); return `<tr${x === state.sizes[one] ? ' class="now"' : ""}><td><button class="go" data-x="${x}" data-y="${n / x}">${one} = ${grouped(x)}, ${other} = ${grouped(n / x)}</button></td><td class="${v.ok ? "ok" : "no"}">${esc(v.text)}</td><td class="n">${time(float(at.lower))}</td></tr>`; }).join("");
  };
  const refusal = (m) => (m.refused.why === "below" ? say("below", { n: m.refused.axis }) : m.refused.why === "joined" ? say("joined", { most: m.refused.most, chip: m.chip.t }) : say("unwired", { n: m.refused.axis, x: state.sizes[m.refused.axis], least: m.refused.least[0], each: m.refused.least[1] }));
  const figureName = (m, name) => (name === "peak" ? m.chip.p : name === "bandwidth" ? (m.way.r.find((row) => row[2] === "bandwidth") || [])[1] || name : name);

  const draw = () => {
    $("command").hidden = !page.kinds[state.kind].asked;
    const m = decide(state), v = m.refused ? { ok: false, text: refusal(m) } : verdict(m);
    $("verdict").textContent = v.text;
    $("verdict").className = v.ok ? "ok" : "no";
    for (const name of page.names) $(`r-${name}`).setAttribute("aria-valuetext", `${grouped(state.sizes[name])}, ${v.text}`);
    doc.body.classList.toggle("refused", Boolean(m.refused));
    if (m.refused) { $("joint").textContent = ""; later(v.text); return; }
    $("joint").textContent = [joint(m), ...(full(m) ? [w.not_held] : []), ...uneven(m).map(([n, each]) => say("uneven", { n, each: grouped(each) }))].join(w.semicolon);
    roofline(m);
    if (!compact) {
      const solved = (m.way.s[state.for] || {}), ends_ = axes.has(state.for) ? [] : m.bound(state.for).each;
      $("bounds").innerHTML = ends_.map(([resource, spans]) => { const one = m.way.r.find((row) => row[0] === resource), edge = spans && spans.length === 1 && spans[0][1] === null && spans[0][0] > 1n && spans[0][0] < 10n ** 15n ? spans[0][0] : null; return `<li>${esc(say("against", { name: label(one) }) + w.colon)}${esc(ends(state.for, spans))}${edge ? ` <button class="go" data-go="${edge}">${esc(say("go", { n: state.for, a: grouped(edge) }))}</button>` : ""}${resource in solved ? `<div class="scroll">${page.formulas[solved[resource]]}</div>` : ""}</li>`; }).join("");
      over(m); bar(m); tables(m);
      if ($("chips").closest("details").open) chipsTable();
      if ($("splits").closest("details").open) splitsTable(m);
    }
    later(v.text);
    keep();
  };

  // Hands.
  let spoken = "", speaking = 0, keeping = 0, wait = 0;
  const compact = typeof self !== "undefined" && self !== self.top;
  const later = (text) => { clearTimeout(speaking); speaking = setTimeout(() => { if (text !== spoken) $("said").textContent = spoken = text; }, 700); };
  const written = () => { const pairs = page.names.map((name) => [name, state.sizes[name]]); pairs.push(["chip", state.chip], ["for", state.for]); if (state.kind) pairs.push(["kind", state.kind]); for (const [name, x] of Object.entries(state.figures)) pairs.push([name, x]); return `#${pairs.map(([k, x]) => `${encodeURIComponent(k)}=${encodeURIComponent(x)}`).join("&")}`; };
  const keep = () => { clearTimeout(keeping); keeping = setTimeout(() => { try { history.replaceState(null, "", written()); } catch (e) { /* in a frame without an address */ } }, 300); };
  const reading = (hash) => {
    const said = new Map(hash.slice(1).split("&").map((part) => part.split("=").map((x) => { try { return decodeURIComponent(x); } catch (e) { return ""; } })).filter((pair) => pair.length === 2));
    const kind = said.get("kind");
    if (kind !== undefined && /^\d$/.test(kind) && Number(kind) < page.kinds.length) state.kind = Number(kind);
    if (chips().some((one) => one.n === said.get("chip") && !one.e)) state.chip = said.get("chip");
    if (page.names.includes(said.get("for"))) state.for = said.get("for");
    for (const name of page.names) if (said.has(name) && whole(said.get(name)) !== null) state.sizes[name] = whole(said.get(name));
    state.figures = {};
    for (const name of [...page.kinds[state.kind].figures, "capacity"]) if (said.has(name) && decimal(said.get(name))) state.figures[name] = said.get(name);
  };
  const controls = (held) => {
    for (const name of page.names) {
      const range = $(`r-${name}`), box = $(`n-${name}`);
      range.max = axes.has(name) ? stops(name).length - 1 : Math.max(LOG2 * STEP, toSlider(name, state.sizes[name]));
      if (held !== range) range.value = toSlider(name, state.sizes[name]);
      if (held !== box) { box.value = state.sizes[name]; box.classList.remove("wrong"); }
    }
    $("chip").value = state.chip;
    $("kind").value = state.kind;
    for (const one of doc.getElementsByName("for")) one.checked = one.value === state.for;
  };
  const figures = () => {
    const m = decide(state), known = [...m.kind.figures, ...("capacity" in m.chip.f ? ["capacity"] : [])].filter((name) => name in m.chip.f);
    $("figures").querySelector("div").innerHTML = known.map((name) => `<label><span>${esc(name === "capacity" ? w.capacity : figureName(m, name))}</span><input data-figure="${esc(name)}" value="${esc(m.figures[name])}"${name in state.figures ? ' class="given"' : ""}></label>`).join("");
  };
  const go = (held) => { controls(held); draw(); };
  const set = (name, n) => { if (n !== null && n >= 1n) state.sizes[name] = n; };
  const copy = (text) => { const box = $("copied"); box.hidden = false; box.value = text; box.select(); if (typeof navigator !== "undefined" && navigator.clipboard) navigator.clipboard.writeText(text).catch(() => 0); };
  const begin = () => {
    doc.documentElement.classList.remove("still");
    if (compact) doc.documentElement.classList.add("compact");
    $("sizes").insertAdjacentHTML("beforeend", page.names.map((name) => `<label class="size"><b>${esc(name)}</b><input type="range" id="r-${name}" min="0" step="1" aria-label="${esc(say("slider", { n: name }))}"><input id="n-${name}" inputmode="numeric" maxlength="15" aria-label="${esc(name)}"></label>`).join(""));
    $("solve").insertAdjacentHTML("beforeend", [...new Set([...page.turned, ...page.names])].map((name) => `<label><input type="radio" name="for" value="${esc(name)}">${esc(name)}</label>`).join(""));
    $("chip").innerHTML = chips().map((one) => `<option value="${esc(one.n)}"${one.e ? " disabled" : ""}>${esc(one.t)}</option>`).join("");
    $("kind").innerHTML = page.kinds.map((one, i) => `<option value="${i}">${esc(one.t)}</option>`).join("");
    $("kinds").hidden = page.kinds.length < 2;
    $("ofaxes").hidden = page.axes.length !== 2;
    $("derivation").open = false;
    reading(location.hash);
    figures();
    doc.addEventListener("input", (e) => {
      const t = e.target, id = t.id || "", name = id.slice(2);
      if (id.startsWith("r-")) set(name, fromSlider(name, Number(t.value)));
      else if (id.startsWith("n-")) { const n = whole(t.value.trim()); t.classList.toggle("wrong", n === null); if (n === null) return; set(name, n); }
      else if (t.name === "for") state.for = t.value;
      else if (t.dataset.figure) { const ok = decimal(t.value); t.classList.toggle("wrong", !ok); if (!ok) return; const own = chips().find((one) => one.n === state.chip).f[t.dataset.figure]; if (t.value === own) delete state.figures[t.dataset.figure]; else state.figures[t.dataset.figure] = t.value; t.classList.toggle("given", t.value !== own); }
      else return;
      go(t);
    });
    doc.addEventListener("change", (e) => {
      if (e.target.id === "chip") { state.chip = e.target.value; state.figures = {}; figures(); go(); }
      if (e.target.id === "kind") { state.kind = Number(e.target.value); if (!chips().some((one) => one.n === state.chip && !one.e)) state.chip = chips().find((one) => !one.e).n; state.figures = {}; $("chip").innerHTML = chips().map((one) => `<option value="${esc(one.n)}"${one.e ? " disabled" : ""}>${esc(one.t)}</option>`).join(""); figures(); go(); }
      if (e.target.id && e.target.id.startsWith("n-")) controls();
    });
    doc.addEventListener("dblclick", (e) => { const id = e.target.id || "", name = id.slice(2); if (!id.startsWith("r-")) return; let n = 1n; while (n <= state.sizes[name]) n *= 2n; set(name, n); go(); });
    doc.addEventListener("click", (e) => {
      const t = e.target.closest("button");
      if (!t) return;
      if (t.dataset.go) { set(state.for, BigInt(t.dataset.go)); go(); }
      if (t.dataset.chip) { state.chip = t.dataset.chip; state.figures = {}; figures(); go(); }
      if (t.dataset.x) { set(page.axes[0].n, BigInt(t.dataset.x)); set(page.axes[1].n, BigInt(t.dataset.y)); go(); }
      if (t.id === "link") copy(String(location.href).split("#")[0] + written());
      if (t.id === "command") copy(`symroof derive ${page.kinds[state.kind].asked.map((part) => (/^[\w-]+$/.test(part) ? part : `"${part}"`)).join(" ")} --on ${state.chip}${Object.entries(state.figures).map(([k, x]) => ` --given ${k === "bandwidth" ? figureName(decide(state), k) : k}=${x}`).join("")} --for ${state.for} --at ${page.names.map((name) => `${name}=${state.sizes[name]}`).join(",")}`);
    });
    const roof = $("roof");
    roof.addEventListener("pointerdown", (e) => { if (grip) { pulled = { at: e.clientX, ...grip }; roof.setPointerCapture(e.pointerId); } });
    roof.addEventListener("pointermove", (e) => { if (pulled) { pull(e.clientX - pulled.at); go(); } });
    for (const end of ["pointerup", "pointercancel"]) roof.addEventListener(end, () => { pulled = null; });
    doc.addEventListener("toggle", (e) => { if (e.target.open) draw(); }, true);
    addEventListener("hashchange", () => { reading(location.hash); figures(); go(); });
    addEventListener("resize", () => { clearTimeout(wait); wait = setTimeout(() => { measure(); draw(); }, 80); });
    addEventListener("beforeprint", () => { for (const one of doc.querySelectorAll("details")) one.open = true; });
    measure();
    go();
  };
  return { begin, lower: () => float(decide(state).lower) };
};
if (typeof document !== "undefined") { const page = shown(document, JSON.parse(document.getElementById("data").textContent)); page.begin(); document.page = page; }
