// What a page decides, for a test to read: {page, states} come in, and for each state every quantity and every bound go out.
const engine = require(process.argv[2]);
const { page, states } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { decide, boundOfAxis, float, uneven } = engine(page);
const out = (span) => span && span.map((ends) => ends.map((end) => (end === null ? null : String(end))));
const said = (q) => (Array.isArray(q) ? q.map(String) : q);
const found = states.map((given) => {
  const state = { kind: 0, figures: {}, ...given, sizes: Object.fromEntries(Object.entries(given.sizes).map(([name, n]) => [name, BigInt(n)])) };
  const model = decide(state);
  if (model.refused) return { refused: model.refused };
  const quantities = Object.fromEntries(Object.keys(model.way.q).map((name) => [name, said(model.of(name))]));
  const axes = page.axes.map((axis) => axis.n), bounds = {};
  for (const name of page.names.filter((one) => !axes.includes(one))) {
    const { each, joint } = model.bound(name);
    bounds[name] = { each: Object.fromEntries(each.map(([resource, spans]) => [resource, out(spans)])), joint: out(joint) };
  }
  const ofAxes = Object.fromEntries(axes.map((name) => [name, boundOfAxis(model, name).map(({ way, joint, even }) => [way, out(joint), even && String(even)])]));
  return { uneven: uneven(model).map(([name]) => name), quantities, longest: model.longest, bounds, axes: ofAxes, floats: Object.fromEntries(Object.keys(model.way.q).map((name) => [name, float(model.of(name))])) };
});
process.stdout.write(JSON.stringify(found));
