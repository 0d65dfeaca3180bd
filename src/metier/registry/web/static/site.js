// Everything here only adds comfort: each page works without it.
"use strict";

// Copy buttons are hidden until there is something that can copy.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy).textContent.trim();
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

// "/" goes to the search box from anywhere but a field.
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    const box = document.querySelector("input[type=search]");
    if (box) { event.preventDefault(); box.focus(); box.select(); }
  }
});

// Results follow every choice by themselves, so their button has nothing left to do.
for (const button of document.querySelectorAll("[data-only-without-script]")) { button.hidden = true; }
