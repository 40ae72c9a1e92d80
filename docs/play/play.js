// A worker that derives, started by the first question.
"use strict";
const $ = (id) => document.getElementById(id);
let worker = null, asked = 0, started = 0;

const say = (text) => { $("state").textContent = text; };
const seconds = () => `${((performance.now() - started) / 1000).toFixed(1)} s`;

const heard = (event) => {
  const { state, number, html, error } = event.data;
  if (state) { say(`${state} (${seconds()})`); return; }
  if (number !== asked) return;
  $("derive").disabled = false;
  $("error").hidden = !error;
  $("answer").hidden = Boolean(error);
  if (error) { $("error").textContent = error; say("This cannot be derived as it stands."); return; }
  $("answer").srcdoc = html;
  say(`Derived and proved in ${seconds()}.`);
};

const begin = () => {
  const made = new Worker("worker.js", { type: "module" });
  made.onmessage = heard;
  made.onerror = (event) => {
    event.preventDefault();
    worker = null;
    $("derive").disabled = false;
    say("The playground could not be loaded: this site was built without it, or a connection was lost. The same runs on your machine: pip install symroof.");
  };
  return made;
};

$("asked").addEventListener("submit", (event) => {
  event.preventDefault();
  if (location.protocol === "file:") { say("Opened from disk a browser runs no worker: the playground needs a server, as in python -m http.server."); return; }
  started = performance.now();
  worker = worker || begin();
  $("derive").disabled = true;
  say("Loading …");
  worker.postMessage({ number: ++asked, operation: $("operation").value, chip: $("chip").value, at: $("at").value, lang: $("lang").value });
});
