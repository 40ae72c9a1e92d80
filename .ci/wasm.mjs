// Run a Python script on CPython for WebAssembly, with a folder of packages: node wasm.mjs PYODIDE PACKAGES SCRIPT
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [pyodide, packages, script] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: pyodide });
python.FS.mkdirTree("/packages");
python.FS.mount(python.FS.filesystems.NODEFS, { root: packages }, "/packages");
python.runPython(`
import sys
sys.path.insert(0, "/packages")
sys.dont_write_bytecode = True
print("Python", sys.version)
`);
python.runPython(readFileSync(script, "utf8"));
