// Checks of a page that is open in a browser. The value is a list of faults, one
// sentence each; an empty list is a good page. OPTIONS is set by the caller:
// {media: "screen" | "print"}.
(() => {
  const faults = [];
  const fault = (what, e) => { if (faults.length < 40) faults.push(what + (e ? ": " + describe(e) : "")); };
  const describe = e => {
    const id = e.id ? "#" + e.id : "", cls = e.getAttribute("class");
    return "<" + e.tagName.toLowerCase() + id + (cls ? "." + cls.split(" ").join(".") : "") + "> " + (e.textContent || "").replace(/\s+/g, " ").trim().slice(0, 60);
  };
  const all = (selector, from) => [...(from || document).querySelectorAll(selector)];
  const shown = e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length > 0;
  const screen = OPTIONS.media === "screen";

  // Everything folded away is part of the page too.
  for (const d of all("details")) d.open = true;

  // Structure.
  if (!document.documentElement.lang) fault("no language");
  if (!document.title) fault("no title");
  if (all("h1").length !== 1) fault(all("h1").length + " h1");
  if (all("main").length !== 1) fault(all("main").length + " main");
  let level = 0;
  for (const h of all("h1,h2,h3,h4,h5,h6")) {
    const n = +h.tagName[1];
    if (n > level + 1) fault("a heading of level " + n + " after one of level " + level, h);
    if (!h.textContent.trim()) fault("an empty heading", h);
    level = n;
  }
  const named = e => e.getAttribute("aria-label") || (e.getAttribute("aria-labelledby") || "").split(" ").every(i => i && document.getElementById(i));
  for (const e of all("nav,section,[role=region]")) if (!named(e)) fault("a landmark without a name", e);
  for (const e of all("header,footer")) if (e.closest("main,section") && e.tagName === "FOOTER") fault("a footer inside the content", e);
  const ids = new Map();
  for (const e of all("[id]")) { if (ids.has(e.id)) fault("an id twice", e); ids.set(e.id, e); }
  for (const t of all("table")) {
    if (!t.caption || !t.caption.textContent.trim()) fault("a table without a caption", t);
    for (const h of all("th", t)) if (!h.scope) fault("a heading of a table without a scope", h);
    const columns = all("thead th", t).length;
    for (const r of all("tbody tr", t)) if (r.cells.length !== columns) fault("a row with " + r.cells.length + " cells of " + columns, r);
  }

  // Pictures have a name and their texts stand apart, inside, and large enough.
  for (const i of all("img")) if (!i.alt) fault("a picture without a text", i);
  for (const svg of all("svg")) {
    if (svg.getAttribute("role") !== "img") fault("a drawing without the role of a picture", svg);
    const title = svg.querySelector(":scope > title");
    if (!(title && title.textContent.trim()) || !named(svg)) fault("a drawing without a name", svg);
    if (!shown(svg)) continue;
    const frame = svg.getBoundingClientRect();
    const boxes = all("text", svg).filter(t => t.textContent.trim()).map(t => ({t, b: t.getBoundingClientRect()}));
    boxes.sort((a, b) => a.b.left - b.b.left);
    boxes.forEach(({t, b}, i) => {
      if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1) fault("a text beyond its drawing", t);
      if (screen && parseFloat(getComputedStyle(t).fontSize) * frame.width / svg.viewBox.baseVal.width < 10.5) fault("a text too small to read", t);
      for (let j = i + 1; j < boxes.length && boxes[j].b.left < b.right; j++) {
        const o = boxes[j].b;
        if (Math.min(b.right, o.right) - Math.max(b.left, o.left) > 1 && Math.min(b.bottom, o.bottom) - Math.max(b.top, o.top) > 2) fault("a text over another, " + boxes[j].t.textContent, t);
      }
      if (t.classList.contains("in")) {
        const bar = t.previousElementSibling;
        const r = bar.getBoundingClientRect();
        if (b.left < r.left - 1 || b.right > r.right + 1) fault("a label longer than its bar", t);
      }
    });
  }

  // Widths: the page never scrolls sideways, and what is wide scrolls by itself.
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    fault("the page is " + root.scrollWidth + " wide on a screen of " + root.clientWidth);
    for (const e of all("body *")) if (shown(e) && !(screen && e.closest(".scroll")) && e.getBoundingClientRect().right > root.clientWidth + 1) { fault("too wide", e); break; }
  }

  // Contrast.
  const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return {r: m[0], g: m[1], b: m[2], a: m.length > 3 ? m[3] : 1}; };
  const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
  const ratio = (a, b) => { const x = light(a), y = light(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const under = e => {
    for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.a === 1) return c; }
    return {r: 255, g: 255, b: 255, a: 1};
  };
  const seen = new Set();
  const judge = (e, fore, back, least) => {
    const n = ratio(fore, back), key = [e.tagName, e.getAttribute("class"), Object.values(fore), Object.values(back)].join();
    if (n < least && !seen.has(key)) { seen.add(key); fault("contrast " + n.toFixed(2), e); }
  };
  for (const e of all("body *")) {
    if (e.closest("svg") || !shown(e) || ![...e.childNodes].some(n => n.nodeType === 3 && n.nodeValue.trim())) continue;
    judge(e, parse(getComputedStyle(e).color), under(e), 4.5);
  }
  for (const svg of all("svg")) {
    if (!shown(svg)) continue;
    const grounds = [under(svg), ...all(".window", svg).map(w => parse(getComputedStyle(w).fill))];
    for (const t of all("text", svg)) {
      const fore = parse(getComputedStyle(t).fill);
      if (t.classList.contains("in")) judge(t, fore, parse(getComputedStyle(t.previousElementSibling).fill), 4.5);
      else for (const g of grounds) judge(t, fore, g, 4.5);
    }
    // Marks and arrows, which carry a meaning without words.
    for (const m of all("path,line:not(.grid)", svg)) {
      const s = getComputedStyle(m), paint = s.stroke !== "none" ? s.stroke : s.fill;
      if (paint !== "none") for (const g of grounds) judge(m, parse(paint), g, 3);
    }
  }

  // What can be used can be reached: without a mouse and without a script.
  if (all("script").length) fault("a script");
  for (const e of all("*")) for (const a of e.attributes) if (/^on/.test(a.name)) fault("a handler " + a.name, e);
  for (const a of all("a")) {
    const href = a.getAttribute("href") || "";
    if (!href.startsWith("#")) fault("a link out of the page, " + href, a);
    else if (!document.getElementById(href.slice(1))) fault("a link to nothing, " + href, a);
    if (!a.textContent.trim()) fault("a link without a text", a);
  }
  for (const e of all("[tabindex]")) {
    if (e.tabIndex > 0) fault("an order of its own", e);
    if (!e.getAttribute("role") || !named(e)) fault("a stop of the keyboard without role and name", e);
  }
  for (const d of all("details")) if (!d.querySelector(":scope > summary")) fault("a fold without a handle", d);
  if (screen) for (const e of all("*")) {
    const s = getComputedStyle(e);
    if (shown(e) && /auto|scroll/.test(s.overflowX) && e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0 && e.tagName !== "PRE") fault("a part that only a mouse can scroll", e);
  }
  return faults;
})()
