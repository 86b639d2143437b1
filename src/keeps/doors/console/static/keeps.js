// What pages do beyond links and forms: copying, a slider of days, an import piece by piece. Everything works without
// it but copying.

// On a phone the menu is a strip: it begins at the current page.
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// A file that is dropped onto a form is put into its field.
for (const type of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(type, (event) => {
    const form = event.target.closest?.("form[data-drop]");
    if (!form) return;
    event.preventDefault();
    form.classList.toggle("over", type === "dragover");
    if (type === "drop" && event.dataTransfer.files.length) {
      form.elements.file.files = event.dataTransfer.files;
      form.elements.file.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = "Copied";
});

document.addEventListener("input", (event) => {
  const slider = event.target.closest("[data-days]");
  if (!slider) return;
  const moment = new Date(Date.now() - slider.value * 86_400_000);
  slider.form.elements[slider.dataset.days].value = moment.toISOString().slice(0, 19).replace("T", " ");
});

document.addEventListener("change", (event) => {
  const slider = event.target.closest("[data-days]");
  if (slider) slider.form.requestSubmit();
});

// A file of any size in pieces of whole lines, one after the other: each is a short request, and one sees how far it is.
const PIECE = 500_000;

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-pieces]");
  if (!form) return;
  event.preventDefault();
  const [file, dry, bar, said] = ["file", "dry_run"].map((name) => form.elements[name]).concat(
    form.querySelector("progress"), form.querySelector("output"));
  const sum = { stored: 0, unchanged: 0, failed: 0, lines: 0, errors: [] };
  const tell = (text) => { said.textContent = text; };
  const button = form.querySelector("button");
  button.disabled = true;
  bar.hidden = false;
  bar.max = file.files[0].size || 1;
  try {
    for (let start = 0; start < file.files[0].size;) {
      const piece = await wholeLines(file.files[0], start);
      const body = new FormData();
      body.set("file", piece, "piece.jsonl");
      body.set("first", sum.lines);
      if (dry.checked) body.set("dry_run", "1");
      const answer = await fetch(form.action, { method: "POST", body, headers: { accept: "application/json" } });
      if (answer.status === 429) {  // others have their turn
        await new Promise((done) => setTimeout(done, 1000 * (answer.headers.get("retry-after") || 1)));
        continue;
      }
      const told = await answer.json();
      if (!answer.ok) throw new Error(told.detail || answer.statusText);
      for (const name of ["stored", "unchanged", "failed", "lines"]) sum[name] += told[name];
      sum.errors.push(...told.errors.slice(0, 20 - sum.errors.length));
      start += piece.size;
      bar.value = start;
      tell(summary(sum, dry.checked));
    }
    if (!sum.lines) tell("The file is empty.");
  } catch (error) {
    tell(`${sum.lines ? `${summary(sum, dry.checked)}\n` : ""}Stopped: ${error.message}. You can import the same file again.`);
  }
  button.disabled = false;
});

async function wholeLines(file, start) {
  let size = PIECE;
  for (;;) {
    const piece = file.slice(start, start + size);
    if (start + size >= file.size) return piece;
    const bytes = new Uint8Array(await piece.arrayBuffer());
    const end = bytes.lastIndexOf(10);
    if (end >= 0) return file.slice(start, start + end + 1);
    size *= 2;
  }
}

function summary(sum, dry) {
  const stored = dry ? `${sum.stored} would be stored` : `${sum.stored} stored`;
  return [`${stored}, ${sum.unchanged} unchanged, ${sum.failed} failed`, ...sum.errors].join("\n");
}
