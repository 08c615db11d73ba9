// Sends a file to the service and shows the report that comes back, in which the threshold
// can be dragged.
"use strict";
(() => {
  const MEDIA = {
    npz: "application/x-npz",
    npy: "application/x-npy",
    parquet: "application/vnd.apache.parquet",
    arrow: "application/vnd.apache.arrow.stream",
    arrows: "application/vnd.apache.arrow.stream",
    json: "application/json",
  };
  const $ = (id) => document.getElementById(id);
  const form = $("form"), drop = $("drop"), frame = $("report"), save = $("save");
  let running = null; // what aborts the request under way

  const say = (text) => ($("status").textContent = text);
  const complain = (text) => {
    $("problem").textContent = text;
    $("problem").hidden = !text;
  };
  const headers = () => ($("token").value ? { Authorization: `Bearer ${$("token").value}` } : {});

  /** What a refusal says; those who need a token or a moment are told so. */
  const reason = async (answer) => {
    const told = await answer.json().then((read) => read.detail, () => answer.statusText);
    if (answer.status === 401) {
      $("more").open = true;
      $("token").focus();
      return "This service wants a token; enter it below.";
    }
    if (answer.status === 503) return `The service is busy. Try again in ${answer.headers.get("Retry-After")} s.`;
    return told;
  };

  const listModels = async () => {
    const answer = await fetch("v1/models", { headers: headers() });
    if (!answer.ok) return;
    const models = await answer.json();
    $("model").replaceChildren(...models.map(({ name }) => new Option(name, name)));
    $("model-row").hidden = models.length < 2;
    $("more").open ||= models.length > 1;
  };

  const ask = async () => {
    const file = $("file").files[0];
    if (!file) return complain("Choose a file first.");
    const media = MEDIA[file.name.split(".").pop().toLowerCase()];
    if (!media) return complain(`${file.name}: expected .${Object.keys(MEDIA).join(", .")}`);
    if (!form.reportValidity()) return;
    const query = new URLSearchParams({ [$("rate").value]: $("percent").value / 100 });
    if ($("model").value) query.set("model", $("model").value);
    if ($("classes").value) query.set("n_classes", $("classes").value);
    running?.abort();
    const mine = (running = new AbortController());
    complain("");
    say(`Looking at ${file.name} …`);
    try {
      const answer = await fetch(`v1/report?${query}`, {
        method: "POST",
        headers: { ...headers(), "Content-Type": media },
        body: file,
        signal: mine.signal,
      });
      if (!answer.ok) throw new Error(await reason(answer));
      show(await answer.text());
      say(`Report on ${file.name}: drag the line in the chart, or move the target above.`);
    } catch (error) {
      if (mine.signal.aborted) return; // a later question has taken its place
      say("");
      complain(error instanceof TypeError ? "The service cannot be reached." : error.message);
    }
  };

  const show = (html) => {
    frame.srcdoc = html;
    frame.hidden = false;
    URL.revokeObjectURL(save.href);
    save.href = URL.createObjectURL(new Blob([html], { type: "text/html" }));
    save.hidden = false;
  };

  // The report is part of this page: as tall as it is, without margins or colours of its own.
  frame.addEventListener("load", () => {
    const inside = frame.contentDocument;
    const theme = inside.getElementById("theme");
    if (!theme) return; // still empty
    theme.hidden = true;
    inside.body.style.padding = 0;
    const fit = () => (frame.style.height = `${inside.body.offsetHeight + 8}px`);
    new ResizeObserver(fit).observe(inside.body);
  });

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  $("file").addEventListener("change", () => {
    frame.hidden = save.hidden = true; // that report was on another file
    ask();
  });
  for (const type of ["dragenter", "dragover"])
    drop.addEventListener(type, () => drop.classList.add("over"));
  for (const type of ["dragleave", "drop"])
    drop.addEventListener(type, () => drop.classList.remove("over"));

  // The slider and the number are one target; once there is a report, moving it asks again.
  $("target").addEventListener("input", () => ($("percent").value = $("target").value));
  $("percent").addEventListener("input", () => ($("target").value = $("percent").value));
  for (const id of ["target", "percent", "rate", "model", "classes"])
    $(id).addEventListener("change", () => frame.hidden || ask());
  $("token").addEventListener("change", listModels);
  listModels();
})();
