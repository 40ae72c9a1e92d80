// CPython for WebAssembly with symroof. The solver is fetched when Python imports it.
import { loadPyodide } from "./runtime/pyodide.mjs";

const runtime = new URL("./runtime/", self.location.href).href;
const tell = (state) => self.postMessage({ state });

const SETUP = `
import importlib.abc, io, sys, zipfile

PLACE = "/packages"
sys.path.insert(0, PLACE)
sys.dont_write_bytecode = True


class Later(importlib.abc.MetaPathFinder):
    """The solver, unpacked when it is imported for the first time."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "z3":
            sys.meta_path.remove(self)
            for wheel in later:
                zipfile.ZipFile(io.BytesIO(bytes(fetched(wheel)))).extractall(PLACE)
            importlib.invalidate_caches()
        return None


sys.meta_path.insert(0, Later())


def answer(operation, chip, at, lang):
    import symroof as sr

    try:
        return sr.page(operation, on=chip, at=at.strip() or None).to_html(lang), ""
    except sr.SymroofError as error:
        return "", str(error)
`;

// A file at once: imports cannot wait.
const fetched = (name) => {
  tell("Loading the solver, 7 MB …");
  const asked = new XMLHttpRequest();
  asked.open("GET", runtime + name, false);
  asked.responseType = "arraybuffer";
  asked.send();
  if (asked.status !== 200) throw new Error(`${name}: ${asked.status}`);
  tell("Deriving …");
  return new Uint8Array(asked.response);
};

const ready = (async () => {
  const about = await (await fetch(runtime + "packages.json")).json();
  tell(`Loading Python and symroof, ${Math.round(about.bytes / 1e6) - 7} MB …`);
  const [python, ...wheels] = await Promise.all([
    loadPyodide({ indexURL: runtime }),
    ...about.wheels.map(async (name) => (await fetch(runtime + name)).arrayBuffer()),
  ]);
  for (const wheel of wheels) python.unpackArchive(wheel, "zip", { extractDir: "/packages" });
  python.globals.set("later", python.toPy(about.later));
  python.globals.set("fetched", fetched);
  python.runPython(SETUP);
  return python;
})();
// An error before the first question is told by the answer to it.
ready.catch(() => 0);

self.onmessage = async ({ data: { number, operation, chip, at, lang } }) => {
  let html = "", error = "";
  try {
    const python = await ready;
    tell("Deriving …");
    const ask = python.globals.get("answer");
    const found = ask(operation, chip, at, lang);
    [html, error] = found.toJs();
    found.destroy();
    ask.destroy();
  } catch (fault) {
    error = String(fault && fault.message || fault).trim().split("\n").pop();
  }
  self.postMessage({ number, html, error });
};
