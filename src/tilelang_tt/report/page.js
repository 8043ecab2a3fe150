"use strict";
// Lines that belong together light up together; a click brings their first one into view in the other panes.
const panes = [...document.querySelectorAll(".pane")];
function alike(key) { return document.querySelectorAll(`.pane [data-line="${CSS.escape(key)}"]`); }
function light(key) {
  for (const one of document.querySelectorAll(".on")) one.classList.remove("on");
  if (key) for (const one of alike(key)) one.classList.add("on");
}
for (const pane of panes) {
  pane.addEventListener("mouseover", event => {
    const line = event.target.closest("[data-line]");
    if (line) light(line.dataset.line);
  });
  pane.addEventListener("click", event => {
    const line = event.target.closest("[data-line]");
    if (!line) return;
    light(line.dataset.line);
    for (const other of panes) {
      if (other === pane) continue;
      const found = [...other.querySelectorAll(".on")].find(one => one.offsetParent !== null);
      if (found) found.scrollIntoView({ block: "nearest" });
    }
  });
  const choice = pane.querySelector("select");
  if (choice) choice.addEventListener("change", () => {
    [...pane.querySelectorAll(".text")].forEach((one, number) => { one.hidden = number !== choice.selectedIndex; });
  });
}
