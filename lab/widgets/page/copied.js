// Puts a text on the clipboard; whether it is there. A page from disk, or in a frame, may be refused the short way.
export async function copied(text) {
  try { await navigator.clipboard.writeText(text); return true; } catch { /* the long way */ }
  const area = document.createElement("textarea"), before = document.activeElement;
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before?.focus();
  return done;
}
