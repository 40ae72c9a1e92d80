// Checks formulas with KaTeX, strict, and with MathJax 3. Reads lines {"id", "tex", "display"} from stdin.
// Prints a line for each problem: the id, the engine and its message, apart by tabs.
// Exit status: 0 all good, 1 a problem, 2 the engines cannot be loaded.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const modules = resolve(process.env.SYMROOF_NODE_MODULES || join(here, "node_modules"));
const require = createRequire(join(modules, "check.mjs"));

async function engines() {
  const katex = require(join(modules, "katex"));
  const MathJax = await require(join(modules, "mathjax")).init({
    loader: { load: ["input/tex", "output/svg"] },
    tex: {
      packages: { "[-]": ["noundefined", "noerrors"] },
      formatError: (_, error) => { throw error; },
    },
  });
  return {
    KaTeX: async (tex, display) =>
      katex.renderToString(tex, { displayMode: display, strict: "error", throwOnError: true }),
    MathJax: (tex, display) => MathJax.tex2svgPromise(tex, { display }),
  };
}

async function problems(formula, engines) {
  const found = [];
  for (const [name, render] of Object.entries(engines)) {
    try {
      await render(formula.tex, formula.display);
    } catch (error) {
      found.push([formula.id, name, String(error.message || error).replace(/\s+/g, " ")].join("\t"));
    }
  }
  return found;
}

let loaded;
try {
  loaded = await engines();
} catch (error) {
  console.error(`katex and mathjax cannot be loaded from ${modules}: ${error.message.split("\n")[0]}`);
  process.exit(2);
}
const lines = readFileSync(0, "utf8").split("\n").filter((line) => line.trim());
const found = [];
for (const line of lines) found.push(...(await problems(JSON.parse(line), loaded)));
for (const problem of found) console.log(problem);
process.exitCode = found.length ? 1 : 0;
