
"use strict";

(() => {
  document.documentElement.classList.add("js");
  const form = document.getElementById("filters");
  const said = document.getElementById("said");
  const items = [...document.querySelectorAll("[data-item]")];
  const groups = [...document.querySelectorAll("[data-group]")];
  const folds = [...document.querySelectorAll(".folded")];
  const texts = new Map();
  const here = () => location.href.split("#")[0];

  // What unfolds below a rule, where a page holds too many of them to make it at once.
  const build = (item) => {
    if (item.dataset.body) item.insertAdjacentHTML("beforeend", item.dataset.body);
    delete item.dataset.body;
  };
  document.addEventListener("toggle", (event) => build(event.target), true);

  // What a search looks at: all but operations, stacks and scripts.
  const textOf = (item) => {
    if (!texts.has(item)) {
      build(item);
      const parts = [...item.querySelectorAll(".rule > summary, dd, th, .unseen")].filter((part) => !part.querySelector("pre"));
      texts.set(item, parts.map((part) => part.textContent).join(" ").toLowerCase());
    }
    return texts.get(item);
  };

  // --- Which items are shown; the form is the state, and the fragment of the address a copy of it ---

  const boxes = () => [...form.querySelectorAll("[type=checkbox]")];

  const choices = () => {
    const chosen = new Map();
    for (const box of boxes()) {
      if (box.checked) chosen.set(box.name, [...(chosen.get(box.name) ?? []), box.value]);
    }
    return chosen;
  };

  const filter = () => {
    const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = [...choices()];
    const filtered = Boolean(words.length || chosen.length);
    let count = 0;
    for (const item of items) {
      const fits =
        chosen.every(([name, values]) => values.includes(item.dataset[name])) &&
        (!words.length || words.every((word) => textOf(item).includes(word)));
      item.hidden = !fits;
      count += fits;
    }
    for (const group of groups) group.hidden = filtered && !group.querySelector("[data-item]:not([hidden])");
    for (const fold of folds) fold.open = filtered;
    const shown = document.getElementById("shown");
    const all = `${items.length} rule${items.length === 1 ? "" : "s"}`;
    shown.textContent = filtered ? `${count} of ${all}` : all;
    form.querySelector("[type=reset]").hidden = !filtered;
    document.body.classList.toggle("filtered", filtered);
  };

  const remember = () => {
    const state = new URLSearchParams();
    if (form.elements.q.value.trim()) state.set("q", form.elements.q.value.trim());
    for (const [name, values] of choices()) state.set(name, values.join(","));
    history.replaceState(null, "", here() + (`${state}` && `#?${state}`));
  };

  const recall = (state) => {
    form.elements.q.value = state.get("q") ?? "";
    for (const box of boxes()) box.checked = (state.get(box.name) ?? "").split(",").includes(box.value);
    filter();
  };

  // --- What the fragment names: a choice of items, or one of them ---

  const named = () => {
    let name = location.hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch {
      // Not encoded, so it stands for itself.
    }
    return name ? document.getElementById(name) ?? document.querySelector(`[data-rule="${CSS.escape(name)}"]`) : null;
  };

  const go = () => {
    document.querySelector(".target")?.classList.remove("target");
    if (location.hash.startsWith("#?") || !location.hash) {
      closeAll();
      if (form) recall(new URLSearchParams(location.hash.slice(2)));
      return;
    }
    const found = named();
    if (!found) return;
    found.classList.add("target");
    const dialog = found.closest("dialog");
    closeAll(dialog);
    if (dialog && !dialog.open) dialog.showModal();
    if (!dialog && form && found.closest("[hidden]")) recall(new URLSearchParams());
    for (let one = found; one; one = one.parentElement.closest("details")) if (one.matches("details")) one.open = true;
    found.querySelector(":scope > .folded")?.setAttribute("open", "");
    // What is scrolled to must not hide behind the form.
    if (form && getComputedStyle(form).position === "sticky") {
      document.documentElement.style.scrollPaddingTop = `${form.offsetHeight + 8}px`;
    }
    if (found !== dialog) found.scrollIntoView();
  };

  // --- The table: what is known of a rule, in a dialog ---

  const closeAll = (but) => {
    for (const dialog of document.querySelectorAll("dialog[open]")) if (dialog !== but) dialog.close();
  };

  document.addEventListener("click", (event) => {
    // A click beside a dialog is one on the dialog itself.
    if (event.target.matches("dialog, .close")) event.target.closest("dialog").close();
  });
  document.addEventListener(
    "close",
    (event) => {
      if (!event.target.contains(named())) return;
      // A link moves the focus to what it leads to, so the dialog does not know where to give it back.
      [...document.querySelectorAll("main a")].find((link) => link.hash === location.hash)?.focus();
      remember();
    },
    true,
  );

  // --- Scripts, copied ---

  const copy = async (button) => {
    const pre = button.parentElement.querySelector("pre");
    try {
      await navigator.clipboard.writeText(pre.textContent);
    } catch {
      const give = (event) => {
        event.clipboardData.setData("text/plain", pre.textContent);
        event.preventDefault();
      };
      document.addEventListener("copy", give, { once: true });
      if (!document.execCommand("copy")) {
        pre.closest("details").open = true;
        getSelection().selectAllChildren(pre);
        said.textContent = "The script is selected; copy it with the keyboard.";
        return;
      }
    }
    button.textContent = "Copied";
    said.textContent = "The script is copied.";
    setTimeout(() => {
      button.textContent = "Copy";
      said.textContent = "";
    }, 2000);
  };

  for (const button of document.querySelectorAll(".copy")) button.hidden = false;
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".copy");
    if (button) copy(button);
  });

  if (form) {
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      filter();
      remember();
    });
    form.addEventListener("reset", () => {
      setTimeout(() => {
        filter();
        remember();
      });
    });
  }
  addEventListener("hashchange", go);
  go();
})();
