// What pages do beyond links and forms: copying, and a slider of days. Everything works without it but these.

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
  slider.form.elements[slider.dataset.days].value = moment.toISOString().slice(0, 19);
});
